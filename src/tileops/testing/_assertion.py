"""Asserting which key a call selects, with the whole explanation where it does not."""

from __future__ import annotations

from tileops.call_spec import CallSpec
from tileops.errors import CallSpecTypeError, UnknownInterfaceError
from tileops.introspect.explanation import (
    Explanation,
    InterfaceAnswer,
    Place,
    explain_request,
    target_answer,
)
from tileops.introspect.suggestion import suggestion
from tileops.ops._observers import tell
from tileops.ops._possible import check_possible
from tileops.ops.op import Op
from tileops.selection import Selection, select

__all__ = ["assert_selects"]


def assert_selects(op: Op | type[Op], interface: str, call: CallSpec, key: str | None) -> None:
    """Assert that a call selects *key*.

    Args:
        op: The op, or its class.
        interface: The interface to ask.
        call: The call; stated device facts are welcome.
        key: The key, or None where no key is to be selected.

    Raises:
        AssertionError: Another key is selected, or none; the message is what ``tileops explain``
            says of the call, and the nearest call that selects *key*.
        UnknownInterfaceError: The op has no such interface.
        CallSpecTypeError: *call* is no call spec of the interface.
        ImpossibleCallError: No op makes such a call.
    """
    __tracebackhide__ = True
    selection = _decision(op, interface, call)
    selected = selection.selected
    found = None if selected is None else selected.key
    if found != key:
        raise AssertionError(_message(op if isinstance(op, type) else type(op), selection, key))


def _decision(op: Op | type[Op], interface: str, call: CallSpec) -> Selection:
    if isinstance(op, Op):
        return op.explain(interface, call)
    table = op.selection_tables().get(interface) if isinstance(interface, str) else None
    if table is None:
        known = ", ".join(op.interfaces) or "none"
        raise UnknownInterfaceError(op=op.__name__, interface=interface, interfaces=known)
    asked = op.interfaces[interface]
    if not asked.takes(call):
        given = type(call).__name__
        raise CallSpecTypeError(
            op=op.__name__, interface=interface, request=asked.request.__name__, given=given
        )
    call = asked.narrow(call)
    check_possible(op.__name__, interface, call)
    return tell(select(table, call.resolved()))


def _message(op: type[Op], selection: Selection, key: str | None) -> str:
    table, selected = selection.table, selection.selected
    found = f"selects {selected.key!r}" if selected else f"is {selection.outcome.value}"
    wanted = "no key" if key is None else repr(key)
    lines = [f"this call of {table.op}.{table.interface} {found}, not {wanted}"]
    keys = [one.key for one in table.candidates]
    if key is not None and key not in keys:
        lines.append(f"there is no such key; the interface has {', '.join(keys) or 'none'}")
    elif key is not None:
        change = suggestion(selection, key)
        if change is not None:
            lines.append(f"nearest call that selects {key!r}: {change}")
    return "\n".join([*lines, "", _explanation(op, selection)])


def _explanation(op: type[Op], selection: Selection) -> str:
    # Tests that pass do not need the command line.
    from tileops.cli._explain_text import explanation_lines
    from tileops.cli._render import plain

    call = selection.call
    assert isinstance(call, CallSpec)
    name = str(call.device) if call.device is not None else "the stated device"
    place = Place(name, call.device, tuple(call.stated_facts().items()))
    answer = _with_conditions(
        explain_request(selection.table, type(call), call.facts(), [place]), type(call)
    )
    target = target_answer(op, None, place.torch_device())
    explanation = Explanation(op.__name__, target, (), False, (answer,))
    text = plain(explanation_lines(explanation, whole=True))
    return text + (selection.command() or "")


def _with_conditions(answer: InterfaceAnswer, spec: type[CallSpec]) -> InterfaceAnswer:
    try:
        from tileops.introspect.detail import detailed
    except ImportError:
        # The conditions of a refusal need the solver; its reason does not.
        return answer
    return detailed(answer, spec)
