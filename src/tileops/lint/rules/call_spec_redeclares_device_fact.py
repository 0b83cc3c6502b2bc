"""The rule `call-spec-redeclares-device-fact`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import device_facts, is_class_variable
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Attribute
from tileops.lint.index import ClassNode, Kind, Project

_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
_MESSAGE = (
    "GemmCall declares %s, which CallSpec already gives every call and derives from its device; "
    "delete the field"
)


class CallSpecRedeclaresDeviceFact(Rule):
    """A call spec does not declare ``device`` or the facts that follow from it.

    ``CallSpec`` has them; which they are is read off its own body.

    Why:
        The new field hides the one that is read off the device: its default becomes the fact of
        every call that does not state it, and it takes part in equality.

    Limits:
        Properties and methods of that name are not judged. The fix deletes the field, with which
        a default of its own is lost.
    """

    id = "call-spec-redeclares-device-fact"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid("own facts", _SPEC + "    m: int = 0\n    device_count: int = 1\n"),
        Valid(
            "a variable of the class",
            "from typing import ClassVar\n\n" + _SPEC + "    arch: ClassVar[int] = 90\n",
        ),
        Valid("no call spec", "@dataclass(frozen=True)\nclass Tile:\n    arch: int = 90\n"),
        Valid(
            "suppressed",
            _SPEC
            + "    arch: int = 90  # tileops: ignore[call-spec-redeclares-device-fact] -- why\n",
        ),
    )
    INVALID = (
        Invalid(
            "an architecture",
            _SPEC + "    m: int = 0\n    [|arch|]: int = 90  # Hopper\n    n: int = 0\n",
            _MESSAGE % "arch",
            fixed=_SPEC + "    m: int = 0\n    n: int = 0\n",
        ),
        Invalid(
            "between other fields",
            _SPEC + "    m: int = 0\n    [|arch|]: int = 90\n    n: int = 0\n",
            _MESSAGE % "arch",
            fixed=_SPEC + "    m: int = 0\n    n: int = 0\n",
        ),
        Invalid(
            "over several lines, in a derived spec of another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"
                ),
                "src/tileops/kernels/gemm/wide.py": (
                    "from dataclasses import dataclass, field\n\n"
                    "from tileops.kernels.gemm.call_spec import GemmCall as Base\n\n\n"
                    "@dataclass(frozen=True)\nclass WideCall(Base):\n"
                    '    """Wide products."""\n\n'
                    "    [|sm_count|]: int = field(\n        default=132,\n    )\n"
                ),
            },
            _MESSAGE.replace("GemmCall", "WideCall") % "sm_count",
            fixed={
                "src/tileops/kernels/gemm/wide.py": (
                    "from dataclasses import dataclass, field\n\n"
                    "from tileops.kernels.gemm.call_spec import GemmCall as Base\n\n\n"
                    "@dataclass(frozen=True)\nclass WideCall(Base):\n"
                    '    """Wide products."""\n\n'
                ),
            },
        ),
        Invalid(
            "the only statement, and one that shares its line",
            _SPEC + "    [|device|]: str = 'cuda'\n\n"
            "@dataclass(frozen=True)\nclass NormCall(CallSpec):\n"
            "    n: int = 0; [|smem_budget|]: int = 0\n",
            (_MESSAGE % "device", _MESSAGE.replace("GemmCall", "NormCall") % "smem_budget"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report fields named like one of ``CallSpec``."""
        names = frozenset(device_facts(project))
        for spec in project.of_kind(Kind.CALL_SPEC):
            for attribute in spec.facts.attributes:
                if attribute.name not in names or is_class_variable(
                    project, spec.module, attribute
                ):
                    continue
                message = (
                    f"{spec.name} declares {attribute.name}, which CallSpec already gives every "
                    "call and derives from its device; delete the field"
                )
                yield self.report(
                    spec.module,
                    attribute.name_span,
                    message,
                    symbol=f"{spec.name}.{attribute.name}",
                    repair=_repair(spec, attribute),
                )


def _repair(spec: ClassNode, attribute: Attribute) -> Repair | None:
    """Return the deletion, unless the class would be left empty."""
    others = [a for a in spec.facts.attributes if a is not attribute]
    if not (others or spec.facts.methods or spec.facts.docstring is not None):
        return None
    build = partial(_edit, spec, attribute)
    return Repair(Applicability.UNSAFE, f"delete {attribute.name}", build)


def _edit(spec: ClassNode, attribute: Attribute, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import delete_lines

    source = sources[spec.module.path]
    where = source.range(attribute.span)
    before = source.line(where.line)[: where.column - 1]
    after = source.line(where.end_line)[where.end_column - 1 :].strip()
    if not before.strip() and (not after or after.startswith("#")):
        yield delete_lines(source, where.line, where.end_line)
