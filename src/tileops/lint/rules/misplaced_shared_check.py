"""The rule `misplaced-shared-check`."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_FEWEST_FACTS = 3
_SPEC = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    m: int = 0
    n: int = 0
    k: int = 0

class GemmFwdInterface(KernelInterface):
    request = GemmCall

"""


def _kernel(name: str, body: str) -> str:
    head = f"class {name}(Kernel, GemmFwdInterface):\n    @classmethod\n"
    return f"{head}    def refusal(cls, call):\n{body}\n"


_TEST = "call.m % 8 == 0 and call.n % 8 == 0 and call.k % 16 == 0"
_SAME = _kernel("TiledKernel", f"        return None if {_TEST} else 'serves tiles'\n")


def _message(here: str, there: str) -> str:
    return (
        f"{here}.refusal tests the same condition over k, m and n as {there}.refusal, and the two "
        "can drift apart; state it once, as a property of GemmCall"
    )


class MisplacedSharedCheck(BodyRule):
    """A condition over three or more facts stands in one place.

    Flagged is a condition of several terms that two implementations with a common call spec test
    alike in ``refusal``. Formatting and the name of the parameter do not matter.

    Why:
        It describes the call rather than the class. As a property of the call spec, or a class
        method of a common base, it has a name and is changed once.

    Limits:
        Conditions over fewer facts, and those whose terms stand in another order, are not compared.
    """

    id = "misplaced-shared-check"
    severity = Severity.PEDANTIC
    cross_file = True
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "a property of the spec",
            _SPEC.replace("    k: int = 0\n", "    k: int = 0\n\n    tiled: bool = False\n")
            + _kernel("AKernel", "        return None if call.tiled else 'serves tiles'\n")
            + _kernel("BKernel", "        return None if call.tiled else 'serves tiles'\n"),
        ),
        Valid(
            "two facts",
            _SPEC
            + _kernel("AKernel", "        return 'n' if call.m > 1 and call.n > 1 else None\n")
            + _kernel("BKernel", "        return 'n' if call.m > 1 and call.n > 1 else None\n"),
        ),
        Valid(
            "other limits",
            _SPEC + _SAME + _SAME.replace("16", "32").replace("TiledKernel", "WideKernel"),
        ),
        Valid(
            "unrelated specs",
            _SPEC
            + _SAME
            + (_SPEC + _SAME).replace("Gemm", "Norm").replace("TiledKernel", "WideKernel"),
        ),
        Valid(
            "suppressed",
            _SPEC
            + _SAME.replace("tiles'\n", "tiles'  # tileops: ignore[misplaced-shared-check]\n")
            + _SAME.replace(
                "tiles'\n", "tiles'  # tileops: ignore[misplaced-shared-check]\n"
            ).replace("TiledKernel", "WideKernel"),
        ),
    )
    INVALID = (
        Invalid(
            "two classes",
            _SPEC
            + _SAME.replace(_TEST, f"[|{_TEST}|]")
            + _SAME.replace(_TEST, f"[|{_TEST}|]").replace("TiledKernel", "WideKernel"),
            (_message("TiledKernel", "WideKernel"), _message("WideKernel", "TiledKernel")),
        ),
        Invalid(
            "negated and spread over lines, under another name",
            _SPEC
            + _SAME.replace(_TEST, f"[|{_TEST}|]")
            + "class WideKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, spec):\n"
            "        if not [|(\n            spec.m % 8 == 0  # rows\n"
            "            and spec.n % 8 == 0 and (spec.k % 16 == 0)\n        )|]:\n"
            "            return 'serves tiles'\n        return super().refusal(spec)\n",
            (_message("TiledKernel", "WideKernel"), _message("WideKernel", "TiledKernel")),
        ),
        Invalid(
            "in other files",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n" + _SPEC
                ),
                "src/tileops/kernels/gemm/a.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n\n\n"
                    + _SAME.replace(_TEST, f"[|{_TEST}|]")
                ),
                "src/tileops/kernels/gemm/b.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n\n\n"
                    + _SAME.replace(_TEST, f"[|{_TEST}|]").replace("TiledKernel", "WideKernel")
                ),
            },
            (_message("TiledKernel", "WideKernel"), _message("WideKernel", "TiledKernel")),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the conditions of several terms over enough facts, as normalised text."""
        import libcst as cst

        from tileops.lint._syntax import parameter, walk

        call = parameter(body.function, 1)
        taken: set[int] = set()
        for node in body.of(cst.BooleanOperation):
            if id(node) in taken:
                continue
            inner = walk(node)
            taken.update(id(part) for part in inner)
            facts = {fact for part in inner if (fact := _fact(part, call))}
            if len(facts) >= _FEWEST_FACTS:
                text = _normalised(node, call)
                yield body.note(self.id, node, text=text, facts=sorted(facts))

    def check(self, project: Project) -> Iterator[Report]:
        """Report each condition that stands in another class with a common call spec as well."""
        same: dict[str, list[tuple[ClassNode, Note]]] = defaultdict(list)
        for owner, note in project.notes(self.id):
            if owner.kind in self.kinds:
                same[note.data["text"]].append((owner, note))
        for places in same.values():
            for owner, note in places:
                for other, _ in places:
                    shared = _shared_spec(project, owner, other) if other is not owner else None
                    if shared is not None:
                        yield self._report(owner, other, note, shared)
                        break

    def _report(self, owner: ClassNode, other: ClassNode, note: Note, spec: ClassNode) -> Report:
        *most, last = note.data["facts"]
        message = (
            f"{owner.name}.refusal tests the same condition over {', '.join(most)} and {last} as "
            f"{other.name}.refusal, and the two can drift apart; state it once, as a property of "
            f"{spec.name}"
        )
        symbol = f"{owner.name}.refusal"
        return self.report(owner.module, note.span, message, symbol=symbol)


def _fact(node: "cst.CSTNode", call: str) -> str:
    """Return the fact of the call an expression reads, or ""."""
    import libcst as cst

    match node:
        case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=fact)) if name == call:
            return fact
    return ""


def _normalised(node: "cst.CSTNode", call: str) -> str:
    """Return a condition without its formatting, the call under one name."""
    from tileops.lint._syntax import code

    tree = ast.parse(f"({code(node)})", mode="eval")
    for name in ast.walk(tree):
        if isinstance(name, ast.Name) and name.id == call:
            name.id = "call"
    return ast.unparse(tree)


def _shared_spec(project: Project, one: ClassNode, other: ClassNode) -> ClassNode | None:
    """Return the most special call spec that both classes are asked with."""
    theirs = {spec for found in _specs(project, other) for spec in found}
    shared = (spec for found in _specs(project, one) for spec in found if spec in theirs)
    return next(shared, None)


def _specs(project: Project, node: ClassNode) -> Iterator[list[ClassNode]]:
    for interface in project.interfaces_of(node):
        request = project.request(interface)
        if request is not None:
            yield [spec for spec in request.mro if spec.kind is Kind.CALL_SPEC]
