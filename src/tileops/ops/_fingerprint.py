"""Fingerprints: everything about a call that a check, a call spec or a plan reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

__all__ = ["Fingerprint", "fingerprint", "form_of"]

Facts = tuple[Any, ...] | None

Fingerprint = tuple[Any, tuple[Facts, ...], tuple[tuple[str, Facts], ...], Any]
"""The modes in force, the facts of the inputs, those of the buffers, the execution arguments."""

_dispatch_keys: Any = torch._C._dispatch_keys
_modes_in_force: Any = torch._C._len_torch_dispatch_stack


def fingerprint(
    inputs: Sequence[Any], buffers: Mapping[str, Any], execution: Mapping[str, Any]
) -> Fingerprint | None:
    """Return the fingerprint of a call; calls with equal ones run the same plan.

    None means that something is no tensor or cannot be hashed, which only the slow path can
    explain. Where the data lies is no part of it: what a plan runs looks at the address itself.
    """
    try:
        key = (
            (torch.is_grad_enabled(), _modes_in_force()),
            tuple([_facts(one) for one in inputs]),
            tuple([(name, _facts(one)) for name, one in buffers.items()]) if buffers else (),
            tuple([(name, _typed(one)) for name, one in execution.items()]) if execution else (),
        )
        hash(key)
    except (AttributeError, TypeError, RuntimeError):
        return None
    return key


def form_of(key: Fingerprint, inputs: Sequence[Any], buffers: Mapping[str, Any]) -> Any:
    """Return what a call has in common with others that differ from it in sizes alone.

    Args:
        key: The fingerprint of the call.
        inputs: Its inputs.
        buffers: Its buffers by keyword.
    """
    context, facts, named, execution = key
    return (
        context,
        tuple([_sizeless(known, one) for known, one in zip(facts, inputs, strict=True)]),
        tuple([(name, _sizeless(known, buffers[name])) for name, known in named]) if named else (),
        execution,
    )


def _facts(tensor: Any) -> Facts:
    if tensor is None:
        return None
    return (
        type(tensor),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor.device,
        tensor.requires_grad,
        # Says of a view that its values are negated or conjugated, and of wrappers what they wrap.
        _dispatch_keys(tensor).raw_repr(),
    )


def _sizeless(facts: Facts, tensor: Any) -> Facts:
    if facts is None:
        return None
    kind, shape, _, dtype, device, grad, keys = facts
    return kind, len(shape), dtype, device, grad, keys, tensor.is_contiguous()


def _typed(value: Any) -> Any:
    """Tell apart values that are equal and of different types, such as 1 and True."""
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_typed, value))
    return type(value), value
