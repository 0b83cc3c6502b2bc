"""The live op instances by number, which is how a traced graph names them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileops.errors import DroppedOpError
from tileops.ops._signature import CallChecks

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["Identity", "checks_of", "enlist", "instance", "living", "shared"]

# Dynamo never lets the integers 0 and 1 vary, and would compile once more for an op that had them.
_numbers: Iterator[int] = itertools.count(2)
_live: weakref.WeakValueDictionary[int, Op] = weakref.WeakValueDictionary()
_checks: weakref.WeakValueDictionary[tuple[type, str], CallChecks] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Identity:
    """How a traced graph names an op instance.

    Attributes:
        number: The instance's number in this process.
        params: The op's parameters as text. Instances of a class that agree in it share their
            checks, so a graph traced for one holds for the others.
        inputs: The names of the inputs in order.
        buffers: The keywords of the output buffers.
    """

    number: int
    params: str
    inputs: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()


def shared(kind: type[Op], checks: CallChecks) -> CallChecks:
    """Return the checks of the first living op of this class and these parameters."""
    return _checks.setdefault((kind, _text(checks)), checks)


def enlist(op: Op) -> Identity:
    """Number an op; it is remembered for as long as it lives."""
    number = next(_numbers)
    _live[number] = op
    if op.checks is None:
        return Identity(number, "")
    buffers = tuple(decl.name for decl in op.checks.signature.buffers)
    return Identity(number, _text(op.checks), op.input_names, buffers)


def instance(kind: type[Op], number: int, params: str) -> Op:
    """Return the op that a graph names.

    Raises:
        DroppedOpError: It is gone, or the graph comes from another process.
    """
    op = _live.get(number)
    if op is None or type(op) is not kind or op.identity.params != params:
        raise DroppedOpError(op=kind.__name__, number=number, params=params or "no parameters")
    return op


def living(kind: type[Op], params: str) -> Op:
    """Return a living op of this class with these parameters, whichever.

    Raises:
        DroppedOpError: There is none.
    """
    # Other threads may construct ops meanwhile: the references are copied in one step.
    for reference in _live.valuerefs():
        op = reference()
        if type(op) is kind and op.identity.params == params:
            return op
    raise DroppedOpError(op=kind.__name__, number="any", params=params or "no parameters")


def checks_of(kind: type[Op], params: str) -> CallChecks:
    """Return the checks that the living ops of this class and these parameters share.

    Raises:
        DroppedOpError: There is none.
    """
    checks = _checks.get((kind, params))
    if checks is None:
        raise DroppedOpError(op=kind.__name__, number="any", params=params or "no parameters")
    return checks


def _text(checks: CallChecks) -> str:
    params: dict[str, Any] = dict(checks.params)
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
