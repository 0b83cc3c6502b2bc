"""The rule `refusal-reason-compared`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import ClassFacts, FunctionFacts, Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_TESTS = ("count", "endswith", "find", "index", "startswith")
_BASE = """\
class Base(Kernel):
    @classmethod
    def refusal(cls, call):
        return 'serves no rope' if call.rope else None

"""
_CLASS = _BASE + "class AKernel(Base):\n    @classmethod\n    def refusal(cls, call):\n"


def _message(text: str, method: str = "refusal") -> str:
    return (
        f"AKernel.{method} decides by the wording of a reason, {text}, so rewording it changes "
        "what is served; test the fact of the call that the reason is about"
    )


class RefusalReasonCompared(BodyRule):
    """No decision depends on the wording of a refusal's reason.

    Flagged are comparisons of what ``refusal`` returned with a string, ``in``, and methods such as
    ``startswith`` with one. Asking whether it is None is fine.

    Why:
        A reason is prose for people and is reworded freely. A class that lifts one limit of its
        base by recognising the sentence serves other calls after the next edit of that sentence.

    Limits:
        A reason is known where it comes from a call of ``refusal``, directly or through a local
        that is bound once.
    """

    id = "refusal-reason-compared"
    severity = Severity.WARNING
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION, Kind.OP})

    VALID = (
        Valid(
            "asking whether there is one",
            _CLASS + "        reason = super().refusal(call)\n"
            "        if reason is not None and reason != '':\n            return reason\n"
            "        return None if call.n else 'serves n'\n",
        ),
        Valid(
            "other strings",
            _CLASS + "        if call.layout == 'nt' or call.name.startswith('a'):\n"
            "            return 'serves other layouts'\n        return super().refusal(call)\n",
        ),
        Valid(
            "a test function",
            _BASE + "def test_reason(call):\n    assert Base.refusal(call) == 'serves no rope'\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        base = super().refusal(call)\n"
            "        # Known.\n"
            "        if base == 'serves no rope':  # tileops: ignore[refusal-reason-compared]\n"
            "            return None\n        return base\n",
        ),
    )
    INVALID = (
        Invalid(
            "a local",
            _CLASS + "        base = super().refusal(call)\n"
            "        if base is not None and [|base != 'serves no rope'|]:\n"
            "            return base\n        return None\n",
            _message("base != 'serves no rope'"),
        ),
        Invalid(
            "part of it, and a method",
            _CLASS + "        base = Base.refusal(call) or ''\n"
            "        if [|'rope' in base|] or [|base.startswith('serves')|]:\n"
            "            return None\n        return base\n",
            (_message("'rope' in base"), _message("base.startswith('serves')")),
        ),
        Invalid(
            "directly, in another method",
            "class BKernel(Kernel): ...\n\n"
            "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
            "        if [|BKernel.refusal(call) == 'serves n'|]:\n"
            "            return cls.wide(call)\n"
            "        return call, cls\n",
            _message("BKernel.refusal(call) == 'serves n'", "entry_for"),
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Say whether a method is a ``refusal`` or calls one."""
        if method is None:
            return False
        asks = any(name.endswith(".refusal") for name in method.calls)
        return asks or method.name == "refusal"

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what tests the wording of a reason."""
        import libcst as cst

        from tileops.lint._syntax import bindings
        from tileops.lint._wording import brief

        if not any(_asks(node) for node in body.of(cst.Call)):
            return
        bound = bindings(body.function)
        once = {name: values[0] for name, values in bound.items() if len(values) == 1}
        reasons = {name for name, value in once.items() if value and _is_reason(value)}
        for node in body.nodes:
            if _tests_wording(node, reasons):
                yield body.note(self.id, node, text=brief(node))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel or an op."""
        symbol = f"{owner.name}.{note.method}"
        message = (
            f"{symbol} decides by the wording of a reason, {note.data['text']}, so rewording it "
            "changes what is served; test the fact of the call that the reason is about"
        )
        yield self.report(owner.module, note.span, message, symbol=symbol)


def _asks(node: "cst.CSTNode") -> bool:
    import libcst as cst

    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="refusal"))):
            return True
    return False


def _is_reason(node: "cst.BaseExpression", names: "set[str] | None" = None) -> bool:
    """Say whether an expression is what a ``refusal`` returned, or that or a blank."""
    import libcst as cst

    match node:
        case cst.Name(value=name):
            return name in (names or ())
        case cst.BooleanOperation(left=left, operator=cst.Or()):
            return _is_reason(left, names)
        case cst.NamedExpr(value=value):
            return _is_reason(value, names)
    return _asks(node)


def _tests_wording(node: "cst.CSTNode", reasons: set[str]) -> bool:
    import libcst as cst

    match node:
        case cst.Comparison():
            sides = [node.left, *(target.comparator for target in node.comparisons)]
            worded = any(_is_wording(side) for side in sides)
            return worded and any(_is_reason(side, reasons) for side in sides)
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=method)), args=[first]):
            return method in _TESTS and _is_wording(first.value) and _is_reason(value, reasons)
    return False


def _is_wording(node: "cst.BaseExpression") -> bool:
    """Say whether an expression is a string that is not empty, or a display of strings."""
    import libcst as cst

    match node:
        case cst.SimpleString():
            return bool(node.raw_value)
        case (
            cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements)
        ):
            return bool(elements) and all(_is_wording(element.value) for element in elements)
    return isinstance(node, cst.FormattedString | cst.ConcatenatedString)
