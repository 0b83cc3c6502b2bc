"""Telling in well under a microsecond that a call is like an earlier one.

torch's compiled-graph guards compare the exact type, dispatch keys, dtype, device, requires_grad,
shape and strides of several tensors in one C++ call; the interpreter needs five times as long to
collect the same facts. Where a torch build lacks them nothing is recognised here, and every call
is found by its fingerprint.

The guards overlook that a tracer's dispatch mode is on or a level of forward-mode differentiation
open. So ``__call__`` of an op asks for these after it has recognised a call, in its own frame: a
function around the guards would cost a third of what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["Recognise", "modes", "nothing", "recogniser"]

Recognise = Callable[..., bool]

_guards: Any = getattr(torch._C, "_dynamo", None)
_TensorGuards: Any = getattr(getattr(_guards, "guards", None), "TensorGuards", None)


modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
"""Count the dispatch modes that are on in this thread."""


def nothing(*inputs: Any) -> bool:
    """Recognise no call."""
    return False


def recogniser(inputs: Sequence[torch.Tensor | None]) -> Recognise:
    """Return a function that says whether other inputs are like *inputs*.

    Like means the same presence, for every tensor everything listed above, and the same grad mode
    where an input requires a gradient. Anything may be passed in the place of a tensor.
    """
    tensors = [one for one in inputs if one is not None]
    if _TensorGuards is None or not tensors:
        return nothing
    check: Recognise = _TensorGuards(
        *tensors,
        dynamic_dims_sizes=[list(one.shape) for one in tensors],
        dynamic_dims_strides=[list(one.stride()) for one in tensors],
    ).check
    recognise = _of_given(check, tuple(one is not None for one in inputs))
    if any(one.requires_grad for one in tensors):
        return _in_grad_mode(recognise, torch.is_grad_enabled())
    return recognise


# A loop over the inputs costs as much as the check, so the frequent patterns are written out.
_WRITTEN_OUT: dict[tuple[bool, ...], Callable[[Recognise], Recognise]] = {
    (True, False): lambda check: lambda a, b: b is None and check(a),
    (True, False, False): lambda check: lambda a, b, c: b is None and c is None and check(a),
    (True, True, False): lambda check: lambda a, b, c: c is None and check(a, b),
}


def _of_given(check: Recognise, given: tuple[bool, ...]) -> Recognise:
    """Apply *check* to the inputs given; the others must be absent."""
    if all(given):
        # The method itself: a function around it would cost a third of what it does.
        return check
    if given in _WRITTEN_OUT:
        return _WRITTEN_OUT[given](check)

    def recognise(*inputs: Any) -> bool:
        if any((one is not None) is not known for one, known in zip(inputs, given, strict=True)):
            return False
        return check(*[one for one in inputs if one is not None])

    return recognise


def _in_grad_mode(recognise: Recognise, enabled: bool) -> Recognise:
    grad_enabled = torch.is_grad_enabled
    return lambda *inputs: grad_enabled() is enabled and recognise(*inputs)
