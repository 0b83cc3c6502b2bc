"""What the formulas add to an explanation: conditions of refusals, and changes that would help."""

from __future__ import annotations

from dataclasses import replace

from tileops.call_spec import CallSpec
from tileops.introspect.conditions import Condition, conditions
from tileops.introspect.explanation import Group, InterfaceAnswer
from tileops.introspect.formula import Machine
from tileops.introspect.symbolic.exploration import Explored, explore
from tileops.introspect.why_not import why_not
from tileops.selection import Stage

__all__ = ["detailed"]

_ENGINE = "tileops/selection/"


def detailed(
    answer: InterfaceAnswer, spec: type[CallSpec], key: str | None = None
) -> InterfaceAnswer:
    """Add the conditions of every refusal, and why *key* is not selected.

    Args:
        answer: The answer so far.
        spec: The interface's call spec.
        key: The key asked about; one of the interface's.
    """
    calls = [group.call for group in answer.groups]
    machines = tuple(machine_of(call) for call in calls if call.device_type is not None)
    explored = explore(answer.table, spec, machines)
    return replace(answer, groups=tuple(_detailed(explored, one, key) for one in answer.groups))


def machine_of(call: CallSpec) -> Machine:
    """Return the machine that a call runs on."""
    facts = call.device_facts()
    return Machine(call.device_type or "", facts.arch, facts.sm_count, facts.smem_budget)


def _detailed(explored: Explored, group: Group, key: str | None) -> Group:
    if group.call.device_type is None:
        return group
    try:
        values = explored.form.values(group.call)
    except OverflowError:
        # Formulas are about exact numbers, and an infinite fact has none.
        return group
    found = {
        v.key: tuple(one for one in conditions(explored, v.key, values) if _is_own(one))
        for v in group.selection.verdicts
        if v.stage is Stage.REFUSED
    }
    asked = None if key is None else why_not(explored, values, key)
    return replace(group, conditions=found, why_not=asked)


def _is_own(condition: Condition) -> bool:
    """Whether the implementation asks it, and not the engine, which asks about availability."""
    return not condition.place.startswith(_ENGINE)
