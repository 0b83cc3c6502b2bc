"""The rule `redundant-declaration`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._members import delete_statement, inherited, inherited_value
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint._string_sets import string_set
from tileops.lint.facts import Attribute, Note, Span, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface):
"""
_SETS = ("devices", "preferred_over")
_PLAIN = ("general", "supported_archs")


class RedundantDeclaration(BodyRule):
    """An implementation states nothing that it inherits anyway.

    ``general``, ``preferred_over``, ``devices`` and ``supported_archs`` with the value they would
    have without the statement, and overrides of ``refusal`` and ``entry_for`` that only return
    ``super()``'s answer.

    Why:
        A reader takes every declaration for a difference from the default.

    Limits:
        Values are compared where both are literal. ``general = False`` below a general base is a
        difference, and required. Overrides with a docstring or a comment are left alone.
    """

    id = "redundant-declaration"
    severity = Severity.PEDANTIC
    cross_file = True
    fixes = (Applicability.SAFE,)
    methods = frozenset({"refusal", "entry_for"})
    kinds = frozenset({Kind.IMPLEMENTATION, Kind.KERNEL})

    VALID = (
        Valid("differences", _HEAD + "    general = True\n    supported_archs = [90]\n"),
        Valid(
            "not general, unlike its base",
            _HEAD + "    general = True\n\n\n"
            "class LongKernel(NormKernel):\n    general: bool = False\n",
        ),
        Valid(
            "an unknown base",
            "from acme import Base\n\n\nclass AcmeNorm(Base, Kernel):\n    general = False\n",
        ),
        Valid(
            "an override that adds something",
            _HEAD + "    @classmethod\n    def refusal(cls, call):\n"
            "        if call.n > 4:\n            return 'serves 4'\n"
            "        return super().refusal(call)\n",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "    general = False  # tileops: ignore[redundant-declaration] -- for the docs\n",
        ),
    )
    INVALID = (
        Invalid(
            "the default of general",
            _HEAD + "    [|general|] = False\n    supported_archs = [90]\n",
            "NormKernel states general = False, which it inherits from Kernel; leave it out",
            fixed=_HEAD + "    supported_archs = [90]\n",
        ),
        Invalid(
            "every default",
            _HEAD + '    """Any width."""\n\n'
            "    [|general|]: bool = False\n"
            "    [|preferred_over|] = frozenset()\n"
            '    [|devices|] = frozenset({"cuda"})\n'
            "    [|supported_archs|] = None\n",
            (
                "NormKernel states general = False, which it inherits from Kernel; leave it out",
                "NormKernel states preferred_over = frozenset(), which it inherits from Kernel; "
                "leave it out",
                'NormKernel states devices = frozenset({"cuda"}), which it inherits from Kernel; '
                "leave it out",
                "NormKernel states supported_archs = None, which it inherits from Kernel; leave it "
                "out",
            ),
            fixed=_HEAD + '    """Any width."""\n\n',
        ),
        Invalid(
            "all there is",
            _HEAD + "    [|general|] = False\n    [|supported_archs|] = None\n",
            (
                "NormKernel states general = False, which it inherits from Kernel; leave it out",
                "NormKernel states supported_archs = None, which it inherits from Kernel; leave it "
                "out",
            ),
            fixed=_HEAD + "    pass\n",
        ),
        Invalid(
            "an override that returns super",
            _HEAD + "    supported_archs = [90]\n\n"
            "    @classmethod\n    def [|refusal|](cls, call):\n"
            "        return super().refusal(call)\n",
            "NormKernel.refusal only returns what it inherits; leave it out",
            fixed=_HEAD + "    supported_archs = [90]\n\n",
        ),
        Invalid(
            "restated from a base in another file, alone in its class",
            {
                "src/tileops/kernels/base.py": (
                    "from tileops.backend import Kernel\n\n\n"
                    'class Base(Kernel):\n    preferred_over = frozenset({"a", "b"})\n'
                ),
                "src/tileops/kernels/norm.py": (
                    "from tileops.kernels.base import Base\n\n\n"
                    "class NormKernel(Base):\n"
                    '    [|preferred_over|] = frozenset({"b", "a"})\n'
                ),
            },
            'NormKernel states preferred_over = frozenset({"b", "a"}), which it inherits from '
            "Base; leave it out",
            fixed={
                "src/tileops/kernels/norm.py": (
                    "from tileops.kernels.base import Base\n\n\nclass NormKernel(Base):\n    pass\n"
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report attributes, then overrides, that change nothing."""
        for node in project.of_kind(*self.kinds):
            for name in (*_PLAIN, *_SETS):
                attribute = node.facts.attribute(name)
                if attribute is None or attribute.value is None:
                    continue
                if len([a for a in node.facts.attributes if a.name == name]) > 1:
                    continue
                shown = _same(project, node, attribute, attribute.value)
                owner = inherited(node, name).owner
                if shown and owner is not None:
                    message = (
                        f"{node.name} states {name} = {shown}, which it inherits from "
                        f"{owner.name}; leave it out"
                    )
                    yield self._report(node, attribute.name_span, attribute.span, message)
        yield from super().check(project)

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note a method whose whole body is ``return super().method(same arguments)``."""
        import libcst as cst

        from tileops.lint._syntax import code

        function = body.function
        if function is None or body.method is None:
            return
        match function.body:
            case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Return(value=value)])]):
                names = [param.name for param in body.method.params[1:]]
                wanted = f"super().{body.method.name}({', '.join(names)})"
                plain = all(param.kind == "positional" for param in body.method.params)
                same = value is not None and plain and code(value) == wanted
                if same and "#" not in code(function):
                    yield body.note(self.id, body.method.name_span, method=body.method.name)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report an override that returns what the class inherits."""
        name = note.data["method"]
        method = owner.facts.method(name)
        if method is not None and inherited(owner, name).known:
            message = f"{owner.name}.{name} only returns what it inherits; leave it out"
            yield self._report(owner, note.span, method.span, message)

    def _report(self, node: ClassNode, where: Span, whole: Span, message: str) -> Report:
        build = partial(_delete, node, whole)
        repair = Repair(Applicability.SAFE, "leave it out", build)
        return self.report(node.module, where, message, symbol=node.name, repair=repair)


def _same(project: Project, node: ClassNode, attribute: Attribute, value: Value) -> str:
    """Return an attribute's value as text when it certainly equals the inherited one, or ""."""
    above = inherited_value(project, node, attribute.name)
    if above is None:
        return ""
    if attribute.name in _SETS:
        mine = string_set(project, node.module, value)
        other = string_set(project, above.module, above.value)
        if mine is None or other is None or mine.form is not other.form:
            return ""
        known = mine.strings is not None and other.strings is not None
        return mine.meant if known and set(mine.strings or ()) == set(other.strings or ()) else ""
    own = project.evaluate(node.module, value).value
    if own.kind not in ("bool", "none") or (own.kind, own.data) != (
        above.value.kind,
        above.value.data,
    ):
        return ""
    return str(own.data)


def _delete(node: ClassNode, whole: Span, sources: Sources) -> Iterator[Edit]:
    return delete_statement(sources[node.module.path], node.facts, whole)
