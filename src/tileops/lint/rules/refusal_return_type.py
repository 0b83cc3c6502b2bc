"""The rule `refusal-return-type`."""

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

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"


def _message(text: str) -> str:
    return (
        f"AKernel.refusal can return {text}; whatever is not None refuses the call and is shown as "
        "the reason; return None to serve it, or a sentence that says what is served"
    )


class RefusalReturnType(BodyRule):
    """``refusal`` returns None or a sentence, never a truth value.

    True, False, numbers, empty strings, displays and bare comparisons are flagged, also as an arm
    of a conditional expression or of ``and`` and ``or``.

    Why:
        Selection asks whether the result is None. ``False`` and ``""`` refuse the call just as True
        does, without a reason, so a condition returned by mistake refuses every call.

    Limits:
        What a call or a name stands for is not known, except for a local that is bound once.
    """

    id = "refusal-return-type"
    severity = Severity.ERROR
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "None, a string and an f-string",
            _CLASS + "        if call.n > 4:\n            return 'serves n of at most 4'\n"
            "        if call.k > 4:\n            return f'serves k of at most 4, not {call.k}'\n"
            "        return None\n",
        ),
        Valid(
            "calls, names and alternatives",
            _CLASS + "        reason = cls.too_wide(call)\n"
            "        if reason:\n            return reason\n"
            "        return cls.too_long(call) or super().refusal(call)\n",
        ),
        Valid(
            "a comparison that only decides",
            _CLASS + "        return None if call.n > 4 else 'serves n above 4'\n",
        ),
        Valid(
            "comparisons inside a local function",
            _CLASS + "        fits = lambda n: n < 4\n"
            "        return None if fits(call.n) else 'serves n below 4'\n",
        ),
        Valid(
            "suppressed",
            _CLASS
            + "        return ''  # tileops: ignore[refusal-return-type] -- nothing to say\n",
        ),
    )
    INVALID = (
        Invalid(
            "truth values",
            _CLASS + "        if call.n > 4:\n            return [|True|]\n"
            "        return [|False|]\n",
            (_message("True"), _message("False")),
        ),
        Invalid(
            "a condition",
            _CLASS + "        return [|call.n > 4|]\n",
            _message("call.n > 4"),
        ),
        Invalid(
            "the empty string, a number and a tuple",
            _CLASS + "        if call.n == 1:\n            return [|''|]\n"
            "        if call.n == 2:\n            return [|0|]\n"
            "        return [|(None, 'serves n of 1')|]\n",
            (_message("''"), _message("0"), _message("(None, 'serves n of 1')")),
        ),
        Invalid(
            "arms",
            _CLASS + "        if call.k:\n"
            "            return None if call.n else [|not call.m|]\n"
            "        if call.m:\n            return [|call.n > 4|] and 'serves n of at most 4'\n"
            "        return [|call.n < 1|] or super().refusal(call)\n",
            (_message("not call.m"), _message("call.n > 4"), _message("call.n < 1")),
        ),
        Invalid(
            "a local",
            _CLASS + "        served = call.n < 4 and call.k < 4\n        return [|served|]\n",
            _message("served"),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the values that certainly are neither None nor a sentence."""
        import libcst as cst

        from tileops.lint._syntax import bindings, returns
        from tileops.lint._wording import brief

        bound: dict[str, list[cst.BaseExpression | None]] | None = None
        for node in returns(body.function):
            value = node.value
            if isinstance(value, cst.Name) and value.value not in _TRUTHS:
                bound = bindings(body.function) if bound is None else bound
                values = bound.get(value.value, [])
                if len(values) == 1 and values[0] is not None and any(_wrong(values[0])):
                    yield body.note(self.id, value, text=value.value)
            elif value is not None:
                for wrong in _wrong(value):
                    yield body.note(self.id, wrong, text=brief(wrong))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        message = (
            f"{owner.name}.refusal can return {note.data['text']}; whatever is not None refuses "
            "the call and is shown as the reason; return None to serve it, or a sentence that says "
            "what is served"
        )
        yield self.report(owner.module, note.span, message, symbol=f"{owner.name}.refusal")


_TRUTHS = ("True", "False")


def _wrong(node: "cst.BaseExpression") -> Iterator["cst.BaseExpression"]:
    """Yield the values an expression can take that are no reason."""
    import libcst as cst

    match node:
        case cst.IfExp(body=body, orelse=orelse):
            yield from _wrong(body)
            yield from _wrong(orelse)
        case cst.BooleanOperation(left=left, right=right):
            # A literal on the left is either passed over or makes the right side unreachable.
            conditions = (cst.Comparison, cst.UnaryOperation)
            yield from (wrong for wrong in _wrong(left) if isinstance(wrong, conditions))
            yield from _wrong(right)
        case cst.NamedExpr(value=value):
            yield from _wrong(value)
        case cst.Name(value=name) if name in _TRUTHS:
            yield node
        case cst.SimpleString() if not node.raw_value:
            yield node
        case cst.Comparison() | cst.UnaryOperation(operator=cst.Not()):
            yield node
        case cst.Integer() | cst.Float() | cst.Tuple() | cst.List() | cst.Dict() | cst.Set():
            yield node
