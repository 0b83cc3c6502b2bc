"""Gradients of ops: what is kept of a call for the backward pass, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

__all__ = ["Gradient", "recorded"]

Tensors = Sequence[torch.Tensor | None]


@dataclass(frozen=True)
class Gradient:
    """How the gradients of an op's inputs follow from that of its first output.

    No gradient flows from the further outputs.

    Attributes:
        inputs: The names of the inputs that a gradient flows to.
        keep: Returns what the backward pass needs, given the inputs and the outputs of a call.
        backward: Returns a gradient for every name of *inputs*, or None, given that of the first
            output and what was kept. It is not differentiated itself.
    """

    inputs: tuple[str, ...]
    keep: Callable[[Tensors, Tensors], Tensors]
    backward: Callable[[torch.Tensor, Tensors], Tensors]


class _Recorded(torch.autograd.Function):
    """A call as one function of autograd."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Gradient, names: Sequence[str], run: Callable[..., Any], *inputs: Any
    ) -> Any:
        results = run(*inputs)
        outputs = results if isinstance(results, tuple) else (results,)
        ctx.gradient, ctx.names, ctx.count = gradient, names, len(inputs)
        ctx.save_for_backward(*gradient.keep(inputs, outputs))
        ctx.mark_non_differentiable(*outputs[1:])
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor, *_: Any) -> Any:
        found = ctx.gradient.backward(grad_output, ctx.saved_tensors)
        gradients = dict(zip(ctx.gradient.inputs, found, strict=True))
        needed = zip(ctx.names, ctx.needs_input_grad[3:], strict=False)
        given = [gradients.get(name) if wanted else None for name, wanted in needed]
        return (None, None, None, *given, *[None] * (ctx.count - len(given)))


def recorded(
    gradient: Gradient, names: Sequence[str], run: Callable[..., Any]
) -> Callable[..., Any]:
    """Return what runs *run* and lets autograd know how to differentiate it.

    Args:
        gradient: The gradients of the op.
        names: The names of the first arguments of *run*, the op's inputs.
        run: Returns the op's output, or a tuple of them.
    """
    apply: Callable[..., Any] = _Recorded.apply
    return lambda *inputs: apply(gradient, names, run, *inputs)
