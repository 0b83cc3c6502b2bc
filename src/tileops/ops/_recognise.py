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
    return _of_given(check, tuple(one is not None for one in inputs))


# A loop over the inputs costs as much as the check, so the frequent patterns are written out.
_WRITTEN_OUT: dict[tuple[bool, ...], Callable[[Recognise], Recognise]] = {
    (True,): lambda check: lambda a: check(a) and not a.data_ptr() & _MISALIGNED,
    (True, True): lambda check: (
        lambda a, b: check(a, b) and not (a.data_ptr() | b.data_ptr()) & _MISALIGNED
    ),
    (True, True, True): lambda check: (
        lambda a, b, c: (
            check(a, b, c) and not (a.data_ptr() | b.data_ptr() | c.data_ptr()) & _MISALIGNED
        )
    ),
    (True, True, True, True): lambda check: (
        lambda a, b, c, d: (
            check(a, b, c, d)
            and not (a.data_ptr() | b.data_ptr() | c.data_ptr() | d.data_ptr()) & _MISALIGNED
        )
    ),
    (True, False): lambda check: (
        lambda a, b: b is None and check(a) and not a.data_ptr() & _MISALIGNED
    ),
    (True, False, False): lambda check: (
        lambda a, b, c: b is None and c is None and check(a) and not a.data_ptr() & _MISALIGNED
    ),
}


def _of_given(check: Recognise, given: tuple[bool, ...]) -> Recognise:
    """Apply *check* to the inputs given; the others must be absent."""
    written_out = _WRITTEN_OUT.get(given)
    if written_out is not None:
        return written_out(check)

    def recognise(*inputs: Any) -> bool:
        if tuple(one is not None for one in inputs) != given:
            return False
        tensors = [one for one in inputs if one is not None]
        return check(*tensors) and not any(one.data_ptr() & _MISALIGNED for one in tensors)

    return recognise
