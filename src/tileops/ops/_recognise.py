"""Telling in well under a microsecond that a call is like the one before it.

torch's compiled-graph guards compare the exact type, dispatch keys (with the modes in force),
dtype, device, requires_grad, shape and strides of several tensors in one C++ call; the interpreter
needs five times as long to collect the same facts. Where a torch build lacks them nothing is
recognised here, and every call is found by its fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["ALIGNMENT", "Recognise", "nothing", "recogniser"]

ALIGNMENT = 16
"""Bytes that the data of every tensor handed to a kernel starts at a multiple of."""

_MISALIGNED = ALIGNMENT - 1

Recognise = Callable[..., bool]

_guards: Any = getattr(torch._C, "_dynamo", None)
_TensorGuards: Any = getattr(getattr(_guards, "guards", None), "TensorGuards", None)


def nothing(*inputs: Any) -> bool:
    """Recognise no call."""
    return False


def recogniser(inputs: Sequence[torch.Tensor | None]) -> Recognise:
    """Return a function that says whether other inputs are like *inputs*.

    Like means the same presence and, for every tensor, everything listed above and data that
    starts at a multiple of `ALIGNMENT` bytes. Calls with gradients, whose meaning depends on the
    grad mode, and with data that is not aligned are left to the fingerprint.
    """
    tensors = [one for one in inputs if one is not None]
    plain = all(not one.requires_grad and one.data_ptr() % ALIGNMENT == 0 for one in tensors)
    if _TensorGuards is None or not plain:
        return nothing
    check = _TensorGuards(
        *tensors,
        dynamic_dims_sizes=[list(one.shape) for one in tensors],
        dynamic_dims_strides=[list(one.stride()) for one in tensors],
    ).check
    return _of_given(check, [one is not None for one in inputs])


def _of_given(check: Callable[..., bool], given: list[bool]) -> Recognise:
    """Apply *check* to the inputs given; the others must be absent.

    The frequent arities are written out: a loop costs as much as the check itself.
    """
    if given == [True]:
        return lambda a: check(a) and not a.data_ptr() & _MISALIGNED
    if given == [True, True]:
        return lambda a, b: check(a, b) and not (a.data_ptr() | b.data_ptr()) & _MISALIGNED
    if given == [True, True, True]:
        return lambda a, b, c: (
            check(a, b, c) and not (a.data_ptr() | b.data_ptr() | c.data_ptr()) & _MISALIGNED
        )
    if given == [True, False]:
        return lambda a, b: b is None and check(a) and not a.data_ptr() & _MISALIGNED
    if given == [True, False, False]:
        return lambda a, b, c: (
            b is None and c is None and check(a) and not a.data_ptr() & _MISALIGNED
        )

    def recognise(*inputs: Any) -> bool:
        tensors = [one for one in inputs if one is not None]
        if [one is not None for one in inputs] != given or not check(*tensors):
            return False
        return not any(one.data_ptr() & _MISALIGNED for one in tensors)

    return recognise
