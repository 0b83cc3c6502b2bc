"""Turning what serves a call into the function that later calls of the same kind run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["ALIGNMENT", "fingerprint", "prepared", "with_prepared_inputs"]

ALIGNMENT = 16
"""Bytes that the data of every tensor handed to a kernel starts at a multiple of."""

Run = Callable[..., Any]


def fingerprint(tensors: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return everything about the inputs that a check, a call spec or a plan reads.

    Two calls with equal fingerprints run the same plan. None means that an input is no tensor,
    which only the slow path can explain.
    """
    try:
        return (
            torch.is_grad_enabled(),
            *[
                None
                if t is None
                else (
                    type(t),
                    t.shape,
                    t.stride(),
                    t.dtype,
                    t.device,
                    t.data_ptr() % ALIGNMENT,
                    t.requires_grad,
                )
                for t in tensors
            ],
        )
    except (AttributeError, TypeError, RuntimeError):
        return None


def prepared(tensor: torch.Tensor) -> torch.Tensor:
    """Return *tensor*, or a copy where it is not contiguous or its data is not aligned."""
    dense = tensor.contiguous()
    return dense if dense.data_ptr() % ALIGNMENT == 0 else dense.clone()


def with_prepared_inputs(run: Run, inputs: Sequence[Any], written: Sequence[bool]) -> Run:
    """Wrap *run* so that the inputs that need it are copied first; written ones never are.

    The wrapper is made for inputs laid out like *inputs*: what is contiguous and aligned now is
    so in every call with the same fingerprint.
    """
    copied = [
        place
        for place, (tensor, is_written) in enumerate(zip(inputs, written, strict=True))
        if tensor is not None and not is_written and prepared(tensor) is not tensor
    ]
    if not copied:
        return run

    def run_on_copies(*tensors: Any, **keywords: Any) -> Any:
        arguments = list(tensors)
        for place in copied:
            arguments[place] = prepared(arguments[place])
        return run(*arguments, **keywords)

    return run_on_copies
