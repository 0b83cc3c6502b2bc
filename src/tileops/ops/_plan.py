"""Plans: the functions that later calls of the same kind run, and how calls are told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tileops.ops._signature import BoundCall, empty_outputs

__all__ = ["Plan", "empty_plan", "fingerprint", "plan_for", "prepared"]

ALIGNMENT = 16
"""Bytes that the data of every tensor handed to a kernel starts at a multiple of."""

Plan = Callable[..., Any]


def fingerprint(
    inputs: Sequence[Any], buffers: Mapping[str, Any], execution: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """Return everything about a call that a check, a call spec or a plan reads.

    Two calls with equal fingerprints run the same plan. None means that something is no tensor
    or cannot be hashed, which only the slow path can explain.
    """
    try:
        key = (
            torch.is_grad_enabled(),
            *[_facts(one) for one in inputs],
            *[(name, _facts(one)) for name, one in buffers.items()],
            *[(name, type(value), value) for name, value in execution.items()],
        )
        hash(key)
    except (AttributeError, TypeError, RuntimeError):
        return None
    return key


def _facts(tensor: Any) -> tuple[Any, ...] | None:
    if tensor is None:
        return None
    return (
        type(tensor),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor.device,
        tensor.data_ptr() % ALIGNMENT,
        tensor.requires_grad,
    )


def prepared(tensor: torch.Tensor) -> torch.Tensor:
    """Return *tensor*, or a copy where it is not contiguous or its data is not aligned."""
    dense = tensor.contiguous()
    return dense if dense.data_ptr() % ALIGNMENT == 0 else dense.clone()


def plan_for(call: BoundCall, run: Plan, inputs: Sequence[torch.Tensor | None]) -> Plan:
    """Wrap *run* into the plan of calls like *call*.

    The inputs that need it are copied first; a written one never is, and what is contiguous and
    aligned now is so in every call with the same fingerprint. Outputs that are a written input
    given back are added to what *run* returns.

    Args:
        call: The call.
        run: Takes prepared inputs in order, buffers and execution arguments by keyword.
        inputs: The inputs of the call.
    """
    copied = [
        place
        for place, (name, tensor) in enumerate(zip(call.inputs, inputs, strict=True))
        if tensor is not None and name not in call.written and prepared(tensor) is not tensor
    ]
    if copied:
        run = _on_copies(run, copied)
    return _giving_back(call, run) if call.aliases else run


def empty_plan(call: BoundCall) -> Plan:
    """Return the plan of a call that writes no element: its outputs, as the signature says."""

    def construct(*inputs: Any, **keywords: Any) -> Any:
        outputs = empty_outputs(call, inputs, keywords)
        return outputs[0] if len(outputs) == 1 else outputs

    return construct


def _on_copies(run: Plan, places: Sequence[int]) -> Plan:
    def run_on_copies(*inputs: Any, **keywords: Any) -> Any:
        arguments = list(inputs)
        for place in places:
            arguments[place] = prepared(arguments[place])
        return run(*arguments, **keywords)

    return run_on_copies


def _giving_back(call: BoundCall, run: Plan) -> Plan:
    names = list(call.inputs)
    sources = [
        names.index(call.aliases[name]) if name in call.aliases else None for name in call.outputs
    ]

    def run_and_give_back(*inputs: Any, **keywords: Any) -> Any:
        results = run(*inputs, **keywords)
        new = iter(results if isinstance(results, tuple) else (results,))
        outputs = tuple(next(new) if place is None else inputs[place] for place in sources)
        return outputs[0] if len(outputs) == 1 else outputs

    return run_and_give_back
