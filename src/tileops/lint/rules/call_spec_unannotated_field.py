"""The rule `call-spec-unannotated-field`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Attribute, Value
from tileops.lint.index import ClassNode, Kind, Project

_LITERALS = frozenset({"bool", "float", "int", "none", "str", "tuple", "list", "set", "dict"})
_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"
_MESSAGE = (
    "GemmCall.%s has no annotation, so it is an attribute of the class and no fact of the call; "
    "annotate it, with ClassVar if it is meant to be shared"
)


class CallSpecUnannotatedField(Rule):
    """A value in the body of a call spec is annotated.

    ``dataclass`` makes fields of annotated names only; a value that all calls share is annotated
    ``ClassVar``.

    Why:
        ``trans_b = False`` looks like a field and is none: every call has the same value, the
        constructor does not take it, and two calls that differ in it would share one kernel.

    Limits:
        Names in capitals and names with a leading underscore are taken for constants. Values that
        are neither literals nor dtypes are not judged. The fix annotates bools, ints, floats and
        strings.
    """

    id = "call-spec-unannotated-field"
    severity = Severity.ERROR
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("annotated", _SPEC + "    trans_b: bool = False\n"),
        Valid(
            "constants, properties and shared values",
            "from typing import ClassVar\n\n" + _SPEC + "    __slots__ = ()\n    WIDEST = 4096\n"
            "    _limit = 4\n    archs: ClassVar[int] = 90\n"
            "    @property\n    def rows(self): return self.m\n"
            "    lines = rows\n    size = property(lambda self: self.m)\n",
        ),
        Valid("no call spec", "class Tile:\n    m = 0\n"),
        Valid(
            "suppressed",
            _SPEC
            + "    trans_b = False  # tileops: ignore[call-spec-unannotated-field] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "literals",
            _SPEC + "    [|trans_b|] = False  # second operand\n    [|n|] = -1\n"
            "    [|eps|]=1e-5\n    [|mode|] = 'rows'\n",
            (_MESSAGE % "trans_b", _MESSAGE % "n", _MESSAGE % "eps", _MESSAGE % "mode"),
            fixed=_SPEC + "    trans_b: bool = False  # second operand\n    n: int = -1\n"
            "    eps: float=1e-5\n    mode: str = 'rows'\n",
        ),
        Invalid("a dtype", _SPEC + "    [|dtype|] = torch.float16\n", _MESSAGE % "dtype"),
        Invalid(
            "no evident type",
            _SPEC + "    [|window|] = None\n    [|shape|] = ()\n"
            "    [|k|] = dataclasses.field(default=0)\n",
            (_MESSAGE % "window", _MESSAGE % "shape", _MESSAGE % "k"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report values of call spec bodies that look like fields."""
        for spec in project.of_kind(Kind.CALL_SPEC):
            for attribute in spec.facts.attributes:
                if attribute.annotation is None and _looks_like_field(project, spec, attribute):
                    message = (
                        f"{spec.name}.{attribute.name} has no annotation, so it is an attribute of "
                        "the class and no fact of the call; annotate it, with ClassVar if it is "
                        "meant to be shared"
                    )
                    yield self.report(
                        spec.module,
                        attribute.name_span,
                        message,
                        symbol=f"{spec.name}.{attribute.name}",
                        repair=_repair(spec, attribute),
                    )


def _looks_like_field(project: Project, spec: ClassNode, attribute: Attribute) -> bool:
    value: Value | None = attribute.value
    if value is None or attribute.name.startswith("_") or attribute.name.isupper():
        return False
    if value.kind == "call":
        return project.imported(spec.module, value.items[0]) == "dataclasses.field"
    return value.kind in _LITERALS or project.imported(spec.module, value).startswith("torch.")


def _repair(spec: ClassNode, attribute: Attribute) -> Repair | None:
    value = attribute.value
    if value is None or value.kind not in ("bool", "float", "int", "str"):
        return None
    # Behind the first of several targets an annotation would be a syntax error.
    if attribute.name_span[:2] != attribute.span[:2]:
        return None
    build = partial(_edit, spec, attribute, value.kind)
    return Repair(Applicability.SAFE, f"annotate it with {value.kind}", build)


def _edit(spec: ClassNode, attribute: Attribute, kind: str, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import replace

    source = sources[spec.module.path]
    text = source.slice((*attribute.name_span[2:], *attribute.value.span[:2]))  # type: ignore[union-attr]
    if text.count("=") == 1:
        end = attribute.name_span[2:]
        yield replace(source, (*end, *end), f": {kind}")
