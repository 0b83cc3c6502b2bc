"""The rule `entry-point-module-missing`."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from tileops.findings import Severity
from tileops.lint._backends import backends, called_on_import, imported_with, located
from tileops.lint._case import Invalid, Valid
from tileops.lint._registrations import PARAMETERS
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import EntryPoint
from tileops.lint.index import Module, Project

_PROJECT = '[project]\nname = "acme"\n\n[project.entry-points."tileops.backends"]\nacme = %s\n'
_REGISTERS = (
    "from tileops.backend import register_detector\n\n"
    'register_detector(target="acme", detect=lambda device: device.type == "acme")\n'
)


class EntryPointModuleMissing(Rule):
    """An entry point ``tileops.backends`` names a module that registers something.

    The module, or what it imports, calls one of the ``register_`` functions of
    ``tileops.backend``.

    Why:
        The module is imported when the first op is constructed. Where it does not exist the
        backend fails to load with a warning; where it registers nothing, nothing happens at all.

    Limits:
        A ``pyproject.toml`` without Python files below it is left alone, since its modules may be
        compiled. Where the module imports packages that are not at hand, it may register
        through them.
    """

    id = "entry-point-module-missing"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "a module that registers",
            {"pyproject.toml": _PROJECT % '"tileops_acme"', "src/tileops_acme.py": _REGISTERS},
        ),
        Valid(
            "through an import and a function",
            {
                "acme/pyproject.toml": _PROJECT % '"tileops_acme:backend"',
                "acme/tileops_acme/__init__.py": "from ._norm import register\n\nregister()\n",
                "acme/tileops_acme/_norm.py": (
                    "from tileops.backend import register_detector\n\n\n"
                    "def register():\n    register_detector('acme', print)\n"
                ),
            },
        ),
        Valid(
            "a package that is not at hand",
            {
                "pyproject.toml": _PROJECT % '"tileops_acme"',
                "tileops_acme.py": "import acme_core.registrations\n",
            },
        ),
        Valid("no Python files", {"acme/pyproject.toml": _PROJECT % '"tileops_acme"'}),
        Valid(
            "a module without an __init__ above it",
            {
                "pyproject.toml": _PROJECT % '"acme.tileops"',
                "src/acme/tileops.py": _REGISTERS,
            },
        ),
        Valid(
            "suppressed",
            {
                "pyproject.toml": _PROJECT
                % '"tileops_acme"  # tileops: ignore[entry-point-module-missing] -- generated',
                "setup.py": "",
            },
        ),
    )
    INVALID = (
        Invalid(
            "no such module",
            {
                "pyproject.toml": _PROJECT % '[|"tileops_amce"|]',
                "src/tileops_acme/__init__.py": _REGISTERS,
            },
            "entry point acme names tileops_amce, which is no module of this project, so the "
            "backend does not load; name the module that registers",
        ),
        Invalid(
            "nothing is registered",
            {
                "pyproject.toml": _PROJECT % "[|'tileops_acme'|]",
                "src/tileops_acme/__init__.py": "from tileops.backend import Kernel\n",
            },
            "importing tileops_acme registers nothing, so entry point acme has no effect; "
            "register there, or import the module that does",
        ),
        Invalid(
            "a module that is not imported registers",
            {
                "backend/pyproject.toml": _PROJECT % '[|"tileops_acme"|]',
                "backend/src/tileops_acme/__init__.py": '"""The backend."""\n',
                "backend/src/tileops_acme/_norm.py": _REGISTERS,
            },
            "importing tileops_acme registers nothing, so entry point acme has no effect; "
            "tileops_acme._norm registers: import it there",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the entry points whose module is missing or certainly registers nothing."""
        registering: set[str] | None = None
        for path, point in backends(project):
            modules = located(project, path, point.module)
            if not modules:
                if _has_python(project, path):
                    yield self._report(project, path, point, _missing(point))
                continue
            if registering is None:
                registering = {m.name for m, _ in project.sites(*PARAMETERS)}
            reached = imported_with(project, modules[0])
            if reached is None or registering.intersection(module.name for module in reached):
                continue
            called = called_on_import(project, reached)
            if registering.intersection(one.module.name for one in called):
                continue
            beside = next((m for m in modules if m.name in registering), None)
            yield self._report(project, path, point, _idle(point, beside))

    def _report(self, project: Project, path: str, point: EntryPoint, message: str) -> Report:
        where = Module(PurePosixPath(path).name, path, project.files[path])
        return self.report(where, point.span, message, symbol=point.name)


def _has_python(project: Project, path: str) -> bool:
    folder = PurePosixPath(path).parent
    return any(folder in PurePosixPath(m.path).parents for m in project.own_modules)


def _missing(point: EntryPoint) -> str:
    return (
        f"entry point {point.name} names {point.module}, which is no module of this project, so "
        "the backend does not load; name the module that registers"
    )


def _idle(point: EntryPoint, beside: Module | None) -> str:
    remedy = "register there, or import the module that does"
    if beside is not None:
        remedy = f"{beside.name} registers: import it there"
    return (
        f"importing {point.module} registers nothing, so entry point {point.name} has no effect; "
        f"{remedy}"
    )
