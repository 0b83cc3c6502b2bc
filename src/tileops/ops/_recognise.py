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
from functools import lru_cache
from typing import Any

import torch

__all__ = ["Recognise", "modes", "nothing", "recogniser", "repeated"]

Recognise = Callable[..., bool]

_guards: Any = getattr(torch._C, "_dynamo", None)
_TensorGuards: Any = getattr(getattr(_guards, "guards", None), "TensorGuards", None)


modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
"""Count the dispatch modes that are on in this thread."""


def nothing(*inputs: Any) -> bool:
    """Recognise no call."""
    return False


def recogniser(inputs: Sequence[torch.Tensor | None], *, sizes: bool = True) -> Recognise:
    """Return a function that says whether other inputs are like *inputs*.

    Like means the same presence, for every tensor everything listed above, and the same grad mode
    where an input requires a gradient. Anything may be passed in the place of a tensor.

    Args:
        inputs: The inputs.
        sizes: Whether sizes and strides are compared, or only how many there are.
    """
    tensors = [one for one in inputs if one is not None]
    if _TensorGuards is None or not tensors:
        return nothing
    check: Recognise = _TensorGuards(
        *tensors,
        dynamic_dims_sizes=[[*one.shape] if sizes else [None] * one.ndim for one in tensors],
        dynamic_dims_strides=[[*one.stride()] if sizes else [None] * one.ndim for one in tensors],
    ).check
    given = tuple(one is not None for one in inputs)
    recognise = _written_out(given)(check)
    if any(one.requires_grad for one in tensors):
        return _in_grad_mode(recognise, torch.is_grad_enabled())
    return recognise


def repeated(inputs: Sequence[Any]) -> bool:
    """Whether a tensor is passed twice: torch's guards recognise no such call."""
    given = [id(one) for one in inputs if one is not None]
    return len(set(given)) < len(given)


@lru_cache(maxsize=256)
def _written_out(given: tuple[bool, ...]) -> Callable[[Recognise], Recognise]:
    """Return what applies a check to the inputs given, and tells that the others are absent.

    A loop over the inputs costs as much as the check, so the conditions are written out.

    Args:
        given: Per input, whether it is given.
    """
    names = [f"x{place}" for place in range(len(given))]
    passed = [name for name, there in zip(names, given, strict=True) if there]
    absent = [name for name in names if name not in passed]
    # The check ends the process over a nested tensor of torch's first kind, which has no type of
    # its own, or is a parameter, and has no sizes and strides to compare.
    conditions = [f"{name} is None" for name in absent]
    conditions += [f"not {name}.is_nested" for name in passed]
    source = f"""
def make(check):
    def recognise({", ".join(names)}):
        try:
            return {" and ".join([*conditions, f"check({', '.join(passed)})"])}
        except AttributeError:
            # Something else than a tensor.
            return False
    return recognise
"""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    make: Callable[[Recognise], Recognise] = namespace["make"]
    return make


def _in_grad_mode(recognise: Recognise, enabled: bool) -> Recognise:
    grad_enabled = torch.is_grad_enabled
    return lambda *inputs: grad_enabled() is enabled and recognise(*inputs)
