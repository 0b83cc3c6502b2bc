"""The rule `call-spec-not-frozen`."""

from collections.abc import Iterator

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import DATACLASS, dataclass_decorator, freezes
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Value
from tileops.lint.index import ClassNode, Kind, Project


class CallSpecNotFrozen(Rule):
    """A call spec is decorated with ``@dataclass(frozen=True)``.

    Every subclass of ``CallSpec`` states the decorator itself, under whatever name it imports it;
    further arguments such as ``slots=True`` are free.

    Why:
        The spec of a call is a key of the dispatch cache. A class that is not decorated has none
        of its own fields, and one that is not frozen cannot be hashed.

    Limits:
        A decorator that is not the standard one may well apply it, so classes with such a
        decorator are not judged.
    """

    id = "call-spec-not-frozen"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("frozen", "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"),
        Valid(
            "frozen with more",
            "@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)\n"
            "class GemmCall(CallSpec):\n    m: int = 0\n",
        ),
        Valid(
            "an aliased module",
            "import dataclasses as dc\n\n"
            "@dc.dataclass(slots=True, frozen=True)\nclass GemmCall(CallSpec): ...\n",
        ),
        Valid(
            "a decorator of the project",
            "from acme import spec\n\n@spec\nclass GemmCall(CallSpec):\n    m: int = 0\n",
        ),
        Valid("no call spec", "@dataclass\nclass Tile:\n    m: int = 0\n"),
        Valid(
            "suppressed",
            "class GemmCall(CallSpec):  # tileops: ignore[call-spec-not-frozen] -- shown\n"
            "    m: int = 0\n",
        ),
    )
    INVALID = (
        Invalid(
            "not decorated",
            "class [|GemmCall|](CallSpec):\n    m: int = 0\n",
            "call spec GemmCall is not a frozen dataclass, so a dispatch cache cannot hold it",
            fixed="@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n",
        ),
        Invalid(
            "decorated without arguments",
            "@dataclass  # facts of one call\nclass [|GemmCall|](CallSpec):\n    m: int = 0\n",
            "call spec GemmCall is not a frozen dataclass, so a dispatch cache cannot hold it",
            fixed="@dataclass(frozen=True)  # facts of one call\n"
            "class GemmCall(CallSpec):\n    m: int = 0\n",
        ),
        Invalid(
            "other arguments",
            "@dataclasses.dataclass(\n    slots=True,  # small\n)\n"
            "class [|GemmCall|](CallSpec): ...\n",
            "call spec GemmCall is not a frozen dataclass, so a dispatch cache cannot hold it",
            fixed="@dataclasses.dataclass(\n    frozen=True, slots=True,  # small\n)\n"
            "class GemmCall(CallSpec): ...\n",
        ),
        Invalid(
            "frozen switched off",
            "@dataclass(frozen=False)\nclass [|GemmCall|](CallSpec): ...\n",
            "call spec GemmCall is not a frozen dataclass, so a dispatch cache cannot hold it",
            fixed="@dataclass(frozen=True)\nclass GemmCall(CallSpec): ...\n",
        ),
        Invalid(
            "an inherited spec, without the import",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"
                ),
                "src/tileops/kernels/gemm/wide.py": (
                    '"""Wide products."""\n\nfrom __future__ import annotations\n\n'
                    "from tileops.kernels.gemm.call_spec import GemmCall\n\n\n"
                    "class [|WideCall|](GemmCall):\n    n: int = 0\n"
                ),
            },
            "call spec WideCall is not a frozen dataclass, so a dispatch cache cannot hold it",
            fixed={
                "src/tileops/kernels/gemm/wide.py": (
                    '"""Wide products."""\n\nfrom __future__ import annotations\n\n'
                    "import dataclasses\n"
                    "from tileops.kernels.gemm.call_spec import GemmCall\n\n\n"
                    "@dataclasses.dataclass(frozen=True)\nclass WideCall(GemmCall):\n"
                    "    n: int = 0\n"
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report call specs whose decorators are known and do not freeze them."""
        for spec in project.of_kind(Kind.CALL_SPEC):
            if freezes(project, spec) is False:
                message = (
                    f"call spec {spec.name} is not a frozen dataclass, "
                    "so a dispatch cache cannot hold it"
                )
                repair = self._repair(project, spec)
                span = spec.facts.name_span
                yield self.report(spec.module, span, message, symbol=spec.name, repair=repair)

    def _repair(self, project: Project, spec: ClassNode) -> Repair:
        decorator = dataclass_decorator(project, spec)
        title = "decorate it" if decorator is None else "add frozen=True"

        def build(sources: Sources) -> Iterator[Edit]:
            if decorator is None:
                return _decorate(spec, sources)
            return _freeze(spec, decorator, sources)

        return Repair(Applicability.SAFE, title, build)


def _freeze(spec: ClassNode, decorator: Value, sources: Sources) -> Iterator[Edit]:
    """Add ``frozen=True`` to the decorator, or put it in place of ``frozen=False``."""
    import libcst as cst

    from tileops.lint._edits import rewrite

    frozen = cst.Arg(
        cst.Name("True"),
        keyword=cst.Name("frozen"),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call):
            return cst.Call(node, [frozen])
        kept = [
            a.with_changes(value=frozen.value) if a.keyword and a.keyword.value == "frozen" else a
            for a in node.args
        ]
        return node.with_changes(args=kept if "frozen" in decorator.names else [frozen, *kept])

    return rewrite(sources[spec.module.path], decorator.span, change)


def _decorate(spec: ClassNode, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import decorate

    source, line = sources[spec.module.path], spec.facts.name_span[0]
    return decorate(source, spec.module.facts, line, DATACLASS, "(frozen=True)")
