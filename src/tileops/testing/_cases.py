"""Test cases on both sides of every boundary of an op's selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tileops.call_spec import CallSpec, spell
from tileops.introspect.boundaries import boundaries, outcome_name
from tileops.introspect.symbolic.exploration import Witness, explore
from tileops.ops.op import Op

__all__ = ["SelectionCase", "selection_cases"]


@dataclass(frozen=True)
class SelectionCase:
    """A call beside a boundary. What it should select is for the test to know.

    Attributes:
        op: The op class.
        interface: The interface to ask.
        call: The call, its device facts stated.
        fact: The fact whose next step changes the outcome.
        beside: The value of that fact on the other side.
    """

    op: type[Op]
    interface: str
    call: CallSpec
    fact: str
    beside: Any


def selection_cases(
    op: type[Op], *, interface: str | None = None, argument: str = "case"
) -> pytest.MarkDecorator:
    """Parametrise a test over the calls on both sides of every boundary of an op.

    A boundary is one step of one fact, of a number by one or from a choice to another, across
    which the outcome changes; for every fact and two outcomes the plainest one is taken.

    Args:
        op: The op class.
        interface: One of its kernel interfaces; all of them by default.
        argument: The name of the test's argument, which gets a `SelectionCase`.

    Raises:
        ValueError: The op has no such interface.

    Example:
        >>> @selection_cases(GemmFwdOp)
        ... def test_gemm_boundaries(case):
        ...     assert_selects(case.op, case.interface, case.call, expected_key(case.call))
    """
    if interface is not None and interface not in op.interfaces:
        known = ", ".join(op.interfaces) or "none"
        raise ValueError(f"{op.__name__} has no kernel interface {interface!r}; it has {known}")
    chosen = [interface] if interface is not None else list(op.interfaces)
    cases = [case for name in chosen for case in _cases(op, name)]
    return pytest.mark.parametrize(argument, cases)


def _cases(op: type[Op], interface: str) -> Iterator[Any]:
    explored = explore(op.selection_tables()[interface], op.interfaces[interface].calls())
    seen: set[Any] = set()
    for one in boundaries(explored).found:
        for here, there in ((one.before, one.after), (one.after, one.before)):
            facts = frozenset(here.values.items())
            if facts not in seen:
                seen.add(facts)
                call = explored.form.call(here.values)
                beside = explored.form.decode(one.fact, there.values[one.fact])
                case = SelectionCase(op, interface, call, one.fact, beside)
                yield pytest.param(case, id=_name(case, here, there))


def _name(case: SelectionCase, here: Witness, there: Witness) -> str:
    value = spell(case.call.facts()[case.fact])
    across = f"{outcome_name(here.selection)}-beside-{outcome_name(there.selection)}"
    return f"{case.interface}-{case.fact}-{value}-{across}"
