"""The plans of one op: found by recognising a call, by its fingerprint, or by its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tileops.ops._bounded import Bounded
from tileops.ops._fingerprint import fingerprint, form_of
from tileops.ops._first_call import first_call
from tileops.ops._form import Form
from tileops.ops._plan import Plan, Run
from tileops.ops._recognise import modes, recogniser, repeated

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["Plans"]

PLANS = 1024
"""Plans that an op keeps at least, the last used ones; a plan holds one to three kilobytes."""

FORMS = 128
"""Forms that an op keeps at least; sizes are no part of them, so there are few."""

SHAPES = 256
"""Shapes of the first input, at least, whose calls are recognised without collecting facts."""

KINDS = 8
"""Kinds of calls with one such shape that it recognises: the check of each costs a little."""


FIRST = 4
"""Forms, the first that are made, whose calls are told without collecting facts."""


class Plans:
    """What an op instance knows of its calls, dropped as a whole to be forgotten."""

    def __init__(self) -> None:
        self._by_shape: Bounded[Any, tuple[Plan, ...]] = Bounded(SHAPES)
        self._by_key: Bounded[Any, Plan] = Bounded(PLANS)
        self._forms: Bounded[Any, Form] = Bounded(FORMS)
        self._first: tuple[Form, ...] = ()

    def recognise(self, inputs: tuple[Any, ...]) -> Plan | None:
        """Return the plan of a call that is like one of those that repeat."""
        count = len(inputs)
        try:
            plans = self._by_shape.get(inputs[0].shape)
        except (AttributeError, IndexError, RuntimeError, TypeError):
            # No tensor, one without a shape, or one whose sizes are symbols.
            return None
        for plan in plans or ():
            if plan.count == count and plan.recognise is not None and plan.recognise(*inputs):
                return plan
        return None

    def remember(self, plan: Plan, inputs: tuple[Any, ...]) -> None:
        """Recognise calls of a plan from now on, in place of the kind that was added first."""
        if inputs[0] is None or repeated(inputs):
            return
        # One made in another state of torch, such as autocast or inference mode, is stale.
        if plan.recognise is None or not plan.recognise(*inputs):
            plan.recognise = recogniser(inputs)
        shape = inputs[0].shape
        others = [one for one in self._by_shape.get(shape) or () if one is not plan]
        self._by_shape[shape] = (plan, *others[: KINDS - 1])

    def run(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        buffers: Mapping[str, Any],
        execution: Mapping[str, Any],
    ) -> tuple[Any, Plan | None]:
        """Run a call that is not recognised; return the plan too where it was found."""
        form, key = self._key(inputs, buffers, execution)
        if key is None:
            return first_call(op, inputs, buffers, execution)[0], None
        plan = self._by_key.get(key)
        if plan is None:
            result, run = self._new(op, form, key, inputs, buffers, execution)
            if form is None:
                # It may be known by now.
                _, key = self._key(inputs, buffers, execution)
            self._by_key[key] = Plan(run, len(inputs))
            return result, None
        plan.found += 1
        return plan.run(*inputs, **buffers, **execution), plan

    def _new(
        self,
        op: Op,
        form: Form | None,
        key: Any,
        inputs: tuple[Any, ...],
        buffers: Mapping[str, Any],
        execution: Mapping[str, Any],
    ) -> tuple[Any, Run]:
        sizeless = None
        if form is None:
            sizeless = form_of(key, inputs, buffers)
            form = self._forms.get(sizeless)
        served = None if form is None else form.run(op, inputs, buffers, execution)
        if served is not None:
            return served
        result, run, call = first_call(op, inputs, buffers, execution)
        if form is None:
            new = Form.of(op, call, inputs, buffers)
            if new is not None:
                self._forms[sizeless] = new
                self._first = (*self._first, new)[:FIRST]
        return result, run

    def _key(
        self, inputs: tuple[Any, ...], buffers: Mapping[str, Any], execution: Mapping[str, Any]
    ) -> tuple[Form | None, Any]:
        """Return the form of a call where it is soon told, and what its plan is kept by."""
        if not (buffers or execution or modes()):
            for form in self._first:
                if form.takes(inputs):
                    sizes = [None if one is None else (one.shape, one.stride()) for one in inputs]
                    return form, (form, tuple(sizes))
        return None, fingerprint(inputs, buffers, execution)

    def __len__(self) -> int:
        return len(self._by_key)
