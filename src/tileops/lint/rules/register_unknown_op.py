"""The rule `register-unknown-op`."""

import difflib
from collections.abc import Iterator
from functools import cache, partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._registrations import argument, registrations
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Site, Value
from tileops.lint.index import Kind, Module, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class AcmeNorm(Kernel, NormFwdInterface): ...


class NormFwdOp(Op):
    interfaces = {"norm": NormFwdInterface}


"""
_CALLS = ("register_kernel_type", "register_kernel_builder")


class RegisterUnknownOp(Rule):
    """A kernel or builder is registered for an op there is.

    The first argument of ``register_kernel_type``, and ``op`` of ``register_kernel_builder``, is
    the class name of an op of the project, of the installed library or of its manifest.

    Why:
        Registering for any other name raises, and all registrations of the backend are undone.

    Limits:
        Computed names are unknown, and so are names of classes whose bases cannot be resolved.
        Calls expected to raise are left alone. The fix picks the most similar name.
    """

    id = "register-unknown-op"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid("an op", _HEAD + 'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'),
        Valid("an op of the manifest", 'register_kernel_type("LayerNormFwdOp", "acme", Acme)\n'),
        Valid("a computed name", _HEAD + "register_kernel_type(name(), 'acme', AcmeNorm)\n"),
        Valid(
            "a class of unknown kind",
            "from acme import Base\n\n\nclass AcmeOp(Base): ...\n\n\n"
            'register_kernel_type("AcmeOp", "acme", Kernel)\n',
        ),
        Valid(
            "expected to raise",
            "def test_unknown():\n    with pytest.raises(BackendError, match='no op'):\n"
            "        register_kernel_type('NoSuchOp', 'acme', Kernel)\n",
        ),
        Valid(
            "suppressed",
            _HEAD
            + 'register_kernel_type("PlannedOp", "acme", AcmeNorm)'
            + "  # tileops: ignore[register-unknown-op] -- planned\n",
        ),
    )
    INVALID = (
        Invalid(
            "misspelt",
            _HEAD + 'register_kernel_type([|"NormFwdOpp"|], "acme", AcmeNorm)\n',
            'register_kernel_type names "NormFwdOpp", which is no op, so the backend is not '
            'loaded; did you mean "NormFwdOp"?',
            fixed=_HEAD + 'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n',
        ),
        Invalid(
            "nothing like it",
            _HEAD + "register_kernel_type(op=[|'Zyx'|], key='acme', kernel_type=AcmeNorm)\n",
            'register_kernel_type names "Zyx", which is no op, so the backend is not loaded; '
            "name the class of an op",
        ),
        Invalid(
            "a builder, name in a constant of another module",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.ops.op import Op\n\n\nclass NormFwdOp(Op): ...\n"
                ),
                "tileops_acme/names.py": "OP = 'NormBwdOp'\n",
                "tileops_acme/__init__.py": (
                    "from tileops.backend import register_kernel_builder\n\n"
                    "from .names import OP\n\n"
                    "register_kernel_builder(op=[|OP|], target='acme', build_kernel=print)\n"
                ),
            },
            'register_kernel_builder names "NormBwdOp", which is no op, so the backend is not '
            'loaded; did you mean "NormFwdOp"?',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registrations for names that are certainly no op."""
        sites = [(m, site, what) for what in _CALLS for m, site in registrations(project, what)]
        if not sites:
            return
        ops = {node.name for node in project.known_classes if node.kind is Kind.OP}
        perhaps = _perhaps(project)
        for module, site, what in sites:
            stated = argument(site, "op")
            name = None if stated is None else project.evaluate(module, stated).value.text
            if stated is None or name is None or name in ops or site.raises or name in perhaps:
                continue
            if name not in _manifest():
                yield self._report(module, site, stated, what, name, ops)

    def _report(
        self, module: Module, site: Site, stated: Value, what: str, name: str, ops: set[str]
    ) -> Report:
        near = difflib.get_close_matches(name, sorted(ops | _manifest()), n=1)
        hint = f'did you mean "{near[0]}"?' if near else "name the class of an op"
        message = f'{what} names "{name}", which is no op, so the backend is not loaded; {hint}'
        repair = None
        if near and stated.kind == "str":
            build = partial(_edit, module, stated, near[0])
            repair = Repair(Applicability.UNSAFE, f'write "{near[0]}"', build)
        return self.report(module, stated.span, message, symbol=site.function, repair=repair)


def _perhaps(project: Project) -> set[str]:
    """Return the names of classes that may be ops: of unknown bases, or inside functions."""
    found = {node.name for node in project.known_classes if node.kind is Kind.UNKNOWN}
    for module in project.own_modules:
        inner = (c for c in module.facts.classes if c.scope not in ("module", "conditional"))
        found.update(facts.name for facts in inner)
    return found


@cache
def _manifest() -> set[str]:
    """Return the ops of the installed manifest; a registration may precede the op's class."""
    from tileops.manifest import op_names

    return set(op_names())


def _edit(module: Module, stated: Value, near: str, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import requote

    return requote(sources[module.path], stated.span, near)
