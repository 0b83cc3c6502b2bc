"""Plans: the functions that later calls of the same kind run, and how calls are told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileops.ops._recognise import ALIGNMENT, Recognise
from tileops.ops._signature import BoundCall, empty_outputs

__all__ = [
    "Plan",
    "Run",
    "empty_run",
    "fingerprint",
    "prepared",
    "returned",
    "with_copies",
    "with_outputs",
]

Run = Callable[..., Any]


@dataclass(slots=True)
class Plan:
    """What calls of one kind run.

    Attributes:
        run: Takes the inputs in order, buffers and execution arguments by keyword.
        found: How often the plan was found by its fingerprint.
        recognise: Recognises such calls without a fingerprint; made when calls repeat.
    """

    run: Run
    found: int = 0
    recognise: Recognise | None = None


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


def with_copies(call: BoundCall, run: Run, inputs: Sequence[torch.Tensor | None]) -> Run:
    """Return *run* with the inputs copied first that need it; a written one never is.

    What is contiguous and aligned now is so in every call with the same fingerprint.

    Args:
        call: The call.
        run: Takes prepared inputs in order, buffers and execution arguments by keyword.
        inputs: The inputs of the call.
    """
    places = [
        place
        for place, (name, tensor) in enumerate(zip(call.inputs, inputs, strict=False))
        if tensor is not None and name not in call.written and prepared(tensor) is not tensor
    ]
    return _on_copies(run, places) if places else run


def with_outputs(call: BoundCall, run: Run, results: Any) -> Run:
    """Return *run* with its results in the form that the op returns them.

    An output that is a written input given back is added.

    Args:
        call: The call.
        run: Runs calls like it.
        results: What it returned the first time, checked.
    """
    if call.aliases:
        return _giving_back(call, run)
    if isinstance(results, list):
        return lambda *inputs, **keywords: tuple(run(*inputs, **keywords))
    return run


def returned(outputs: Sequence[torch.Tensor]) -> Any:
    """Return outputs as an op does: nothing, the only one, or a tuple."""
    if len(outputs) == 1:
        return outputs[0]
    return tuple(outputs) or None


def empty_run(call: BoundCall, check: Callable[[], None]) -> Run:
    """Return what a call that writes no element runs: its outputs, as the signature says.

    Args:
        call: The call.
        check: Raises when the call cannot be served; run every time.
    """

    def construct(*inputs: Any, **keywords: Any) -> Any:
        check()
        return returned(empty_outputs(call, inputs, keywords))

    return construct


def _on_copies(run: Run, places: Sequence[int]) -> Run:
    def run_on_copies(*inputs: Any, **keywords: Any) -> Any:
        arguments = list(inputs)
        for place in places:
            arguments[place] = prepared(arguments[place])
        return run(*arguments, **keywords)

    return run_on_copies


def _giving_back(call: BoundCall, run: Run) -> Run:
    names = list(call.inputs)
    sources = [
        names.index(call.aliases[name]) if name in call.aliases else None for name in call.outputs
    ]

    def run_and_give_back(*inputs: Any, **keywords: Any) -> Any:
        results = run(*inputs, **keywords)
        new = iter(results if isinstance(results, tuple | list) else (results,))
        return returned([next(new) if place is None else inputs[place] for place in sources])

    return run_and_give_back
