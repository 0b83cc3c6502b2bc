"""The rule `register-in-function`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._backends import backends, called_on_import, located
from tileops.lint._case import Invalid, Valid
from tileops.lint._registrations import registrations
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project

_PROJECT = '[project.entry-points."tileops.backends"]\nacme = "tileops_acme"\n'
_HEAD = (
    "from tileops.backend import Kernel, register_kernel_type\n\n\n"
    "class AcmeNorm(Kernel): ...\n\n\n"
)
_CALL = 'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
_SAID = (
    "importing tileops_acme does not call %s, so register_kernel_type never runs; register at the "
    "top of the module"
)


class RegisterInFunction(Rule):
    """A backend registers its implementations when its module is imported.

    The modules meant are those the entry points of the group ``tileops.backends`` name, and the
    modules inside them. A function that the import calls registers just as well.

    Why:
        Nothing but the import happens when a backend is loaded: a registration in a function that
        nobody calls never runs.

    Limits:
        Methods and decorated functions are unknown, and tests may register where they like.
    """

    id = "register-in-function"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "at the top",
            {"pyproject.toml": _PROJECT, "src/tileops_acme/__init__.py": _HEAD + _CALL},
        ),
        Valid(
            "a function the import calls",
            {
                "pyproject.toml": _PROJECT,
                "src/tileops_acme/__init__.py": (
                    "from tileops_acme.norm import register_all\n\nregister_all()\n"
                ),
                "src/tileops_acme/norm.py": (
                    f"{_HEAD}def _norm():\n    {_CALL}\n\ndef register_all():\n    _norm()\n"
                ),
            },
        ),
        Valid(
            "no backend",
            {
                "pyproject.toml": _PROJECT,
                "src/tileops_acme/__init__.py": _HEAD + _CALL,
                "tests/test_acme.py": _HEAD + f"def test_again():\n    {_CALL}",
            },
        ),
        Valid(
            "suppressed",
            {
                "pyproject.toml": _PROJECT,
                "src/tileops_acme/__init__.py": (
                    f"{_HEAD}def enable():\n    {_CALL.rstrip()}"
                    "  # tileops: ignore[register-in-function] -- opt-in\n"
                ),
            },
        ),
    )
    INVALID = (
        Invalid(
            "a function nobody calls",
            {
                "pyproject.toml": _PROJECT,
                "src/tileops_acme/__init__.py": (
                    f"{_HEAD}def register():\n    [|{_CALL.rstrip()}|]\n"
                ),
            },
            _SAID % "register",
        ),
        Invalid(
            "in a module of the package",
            {
                "backend/pyproject.toml": _PROJECT,
                "backend/tileops_acme/__init__.py": "from . import norm\n",
                "backend/tileops_acme/norm.py": (
                    f"{_HEAD}def register_norm():\n    [|{_CALL.rstrip()}|]\n"
                ),
            },
            _SAID % "register_norm",
        ),
        Invalid(
            "a package of one module, called by no import",
            {
                "pyproject.toml": _PROJECT,
                "tileops_acme.py": (
                    f"{_HEAD}def register():\n    [|{_CALL.rstrip()}|]\n\n\n"
                    "def main():\n    register()\n"
                ),
            },
            _SAID % "register",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registrations in functions that importing the backend does not call."""
        for path, point in backends(project):
            modules = located(project, path, point.module)
            run = {id(one.facts) for one in called_on_import(project, modules)}
            names = {module.name for module in modules}
            for module, site in registrations(project, "register_kernel_type"):
                function = module.functions.get(site.function)
                if module.name not in names or site.owner or function is None:
                    continue
                if id(function) not in run and not function.decorators:
                    message = (
                        f"importing {point.module} does not call {site.function}, so "
                        "register_kernel_type never runs; register at the top of the module"
                    )
                    yield self.report(module, site.call.span, message, symbol=site.function)
