"""The rule `call-spec-field-without-default`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import (
    annotation_of,
    dataclass_decorator,
    origin_of,
    own_fields,
    states_default,
)
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Attribute, Value
from tileops.lint.index import ClassNode, Kind, Project

_ZEROS = {
    "builtins.bool": "False",
    "builtins.float": "0.0",
    "builtins.int": "0",
    "builtins.str": '""',
}
_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
_MESSAGE = (
    "GemmCall.%s has no default but follows the fields of CallSpec, which have one, "
    "so importing the class raises; state a default"
)


class CallSpecFieldWithoutDefault(Rule):
    """Every field of a call spec has a default.

    The fields a spec inherits from ``CallSpec`` have defaults, so a positional field without one
    cannot follow them.

    Why:
        ``dataclass`` raises ``TypeError`` while the module is imported.

    Limits:
        Keyword-only fields are fine. Classes whose decorator cannot be resolved are not judged.
        The fix states the zero of ``int``, ``float``, ``bool`` and ``str`` and None where the
        annotation allows it; other types have no evident default. A default that no call can have
        should lie outside the fact's range.
    """

    id = "call-spec-field-without-default"
    severity = Severity.ERROR
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "defaults",
            _SPEC + "    m: int = 0\n    n: int = dataclasses.field(default=0)\n",
        ),
        Valid(
            "keyword-only",
            "@dataclass(frozen=True, kw_only=True)\nclass GemmCall(CallSpec):\n    m: int\n\n"
            "@dataclass(frozen=True)\nclass NormCall(CallSpec):\n"
            "    _: dataclasses.KW_ONLY\n    n: int\n\n"
            "@dataclass(frozen=True)\nclass DropCall(CallSpec):\n"
            "    n: int = dataclasses.field(kw_only=True)\n",
        ),
        Valid(
            "no field",
            "from typing import ClassVar\n\n" + _SPEC + "    known: ClassVar[int]\n",
        ),
        Valid(
            "a decorator of the project",
            "from acme import spec\n\n@spec\nclass GemmCall(CallSpec):\n    m: int\n",
        ),
        Valid(
            "suppressed",
            _SPEC + "    m: int  # tileops: ignore[call-spec-field-without-default] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "ints and strings",
            _SPEC + "    [|m|]: int  # rows\n    n: int = 1\n    [|mode|]: str\n",
            (_MESSAGE % "m", _MESSAGE % "mode"),
            fixed=_SPEC + '    m: int = 0  # rows\n    n: int = 1\n    mode: str = ""\n',
        ),
        Invalid(
            "None is a value",
            _SPEC + "    [|eps|]: float | None\n",
            _MESSAGE % "eps",
            fixed=_SPEC + "    eps: float | None = None\n",
        ),
        Invalid(
            "no evident default",
            _SPEC + "    [|dtype|]: torch.dtype\n    [|k|]: int = dataclasses.field(repr=False)\n",
            (_MESSAGE % "dtype", _MESSAGE % "k"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report positional fields that state no default."""
        for spec in project.of_kind(Kind.CALL_SPEC):
            if not _is_positional(project, spec):
                continue
            sentinel = _sentinel(project, spec)
            for attribute in own_fields(project, spec):
                if states_default(project, spec.module, attribute) or sentinel < attribute.span:
                    continue
                message = (
                    f"{spec.name}.{attribute.name} has no default but follows the fields of "
                    "CallSpec, which have one, so importing the class raises; state a default"
                )
                yield self.report(
                    spec.module,
                    attribute.name_span,
                    message,
                    symbol=f"{spec.name}.{attribute.name}",
                    repair=_repair(project, spec, attribute),
                )


def _is_positional(project: Project, spec: ClassNode) -> bool:
    """Say whether the class is certainly a dataclass with positional fields."""
    decorator = dataclass_decorator(project, spec)
    if decorator is None:
        return False
    return decorator.kind != "call" or {"kw_only", "**"}.isdisjoint(decorator.names)


def _sentinel(project: Project, spec: ClassNode) -> tuple[int, int, int, int]:
    """Return where ``KW_ONLY`` stands, or a place behind everything."""
    for attribute in spec.facts.attributes:
        annotation = annotation_of(attribute)
        if annotation and origin_of(project, spec.module, annotation) == "dataclasses.KW_ONLY":
            return attribute.span
    return (spec.facts.span[2] + 1, 0, spec.facts.span[2] + 1, 0)


def _repair(project: Project, spec: ClassNode, attribute: Attribute) -> Repair | None:
    annotation = annotation_of(attribute)
    default = _zero(project, spec, annotation) if annotation is not None else ""
    if not default or attribute.value is not None:
        return None
    build = partial(_edit, spec, attribute, default)
    return Repair(Applicability.UNSAFE, f"state the default {default}", build)


def _zero(project: Project, spec: ClassNode, annotation: Value) -> str:
    """Return the default that is evident from an annotation, or ""."""
    if annotation.kind == "binary" and any(side.kind == "none" for side in annotation.items):
        return "None"
    origin = origin_of(project, spec.module, annotation)
    if origin == "typing.Annotated" and annotation.kind == "subscript":
        inner = annotation.items[1]
        return _zero(project, spec, inner.items[0]) if inner.kind == "tuple" else ""
    return "None" if origin == "typing.Optional" else _ZEROS.get(origin, "")


def _edit(spec: ClassNode, attribute: Attribute, default: str, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import replace

    end = attribute.span[2:]
    yield replace(sources[spec.module.path], (*end, *end), f" = {default}")
