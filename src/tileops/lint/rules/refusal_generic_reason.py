"""The rule `refusal-generic-reason`."""

import re
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

_SUBJECT = r"(?:this |the |such (?:a )?)?(?:call|input|shape|case|configuration|problem|request)s?"
_PLACEHOLDER = re.compile(
    r"(?:it |this |this kernel |this implementation |kernel )?"
    rf"(?:(?:does not|doesn't|cannot|can't|will not) (?:serve|support|handle|run|apply)"
    rf"(?: to)?(?: {_SUBJECT})?"
    rf"|(?:{_SUBJECT} (?:is )?)?(?:is )?"
    r"(?:not (?:served|supported|applicable|implemented|available|allowed)|unsupported|refused"
    rf"|rejected)(?: {_SUBJECT})?"
    r"|no|none|n/?a|todo|reason|error|invalid|invalid (?:call|input|shape))"
)
_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"


def _message(text: str) -> str:
    return (
        f"AKernel.refusal gives {text} as its reason, which says nothing of the call; say what is "
        'served, as in "serves rows of at most 256"'
    )


class RefusalGenericReason(BodyRule):
    """The reason of a refusal says which limit the call is beyond.

    Phrases that would fit any refusal, such as "not supported", are flagged.

    Why:
        Where nothing serves a call, the error lists the reason of every implementation. One that
        says what is served tells the caller what to change.

    Limits:
        Only a fixed set of phrases is known, and only as the whole reason.
    """

    id = "refusal-generic-reason"
    severity = Severity.PEDANTIC
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "what is served",
            _CLASS + "        return None if call.n <= 256 else 'serves rows of at most 256'\n",
        ),
        Valid(
            "a phrase with the offending value",
            _CLASS + "        if call.k:\n            return f'not supported: k of {call.k}'\n"
            "        return 'does not serve n above 4'\n",
        ),
        Valid("no reason", _CLASS + "        return super().refusal(call) or None\n"),
        Valid(
            "suppressed",
            _CLASS + "        return 'unsupported'  # tileops: ignore[refusal-generic-reason]\n",
        ),
    )
    INVALID = (
        Invalid(
            "an arm",
            _CLASS + "        return None if call.n == 1 else [|'does not serve this call'|]\n",
            _message("'does not serve this call'"),
        ),
        Invalid(
            "with a capital and a full stop",
            _CLASS + "        if call.n:\n            return [|'Not supported.'|]\n"
            "        return super().refusal(call) or [|'Unsupported shape'|]\n",
            (_message("'Not supported.'"), _message("'Unsupported shape'")),
        ),
        Invalid(
            "a local",
            _CLASS + "        reason = [|'TODO'|]\n        return reason if call.n else None\n",
            _message("'TODO'"),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the returned strings that are a placeholder."""
        import libcst as cst

        from tileops.lint._syntax import bindings, returns

        texts = [node for node in body.of(cst.SimpleString) if _is_placeholder(node)]
        if not texts:
            return
        bound = bindings(body.function)
        for node in returns(body.function):
            for value in _reasons(node.value, bound):
                if any(value is text for text in texts):
                    yield body.note(self.id, value, text=value.value)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        message = (
            f"{owner.name}.refusal gives {note.data['text']} as its reason, which says nothing of "
            'the call; say what is served, as in "serves rows of at most 256"'
        )
        symbol = f"{owner.name}.refusal"
        yield self.report(owner.module, note.span, message, symbol=symbol)


def _is_placeholder(node: "cst.SimpleString") -> bool:
    text = node.raw_value.strip().rstrip(".! ").lower()
    return bool(_PLACEHOLDER.fullmatch(text))


def _reasons(
    node: "cst.BaseExpression | None", bound: "dict[str, list[cst.BaseExpression | None]]"
) -> Iterator["cst.SimpleString"]:
    """Yield the strings an expression can stand for, through arms and locals bound once."""
    import libcst as cst

    match node:
        case cst.SimpleString():
            yield node
        case cst.IfExp(body=left, orelse=right) | cst.BooleanOperation(left=left, right=right):
            yield from _reasons(left, bound)
            yield from _reasons(right, bound)
        case cst.Name(value=name) if len(bound.get(name, [])) == 1:
            value = bound[name][0]
            if not isinstance(value, cst.Name):
                yield from _reasons(value, {})
