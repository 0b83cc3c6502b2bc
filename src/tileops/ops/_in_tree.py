"""What calls of a kind run on in-tree and registered kernels, recorded for autograd where asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tileops.backend import BUILTIN
from tileops.errors import ForwardOnlyError
from tileops.kernels.alignment import like
from tileops.kernels.kernel import Kernel
from tileops.ops._gradient import recorded
from tileops.ops._plan import Run

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["in_tree"]


def in_tree(op: Op, inputs: tuple[Any, ...]) -> tuple[Run, tuple[Kernel, ...]]:
    """Return what calls with inputs like these run, and the kernels that it runs.

    Raises:
        SelectionError: No kernel is selected.
        ForwardOnlyError: An input requires a gradient that the op does not give.
    """
    wanted = []
    if torch.is_grad_enabled():
        named = zip(op.input_names, inputs, strict=False)
        wanted = [name for name, one in named if one is not None and one.requires_grad]
    if not wanted:
        kernels = op.kernels_for(inputs)
        return op.bind(kernels, *inputs), kernels
    gradient = op.gradient(op.params, BUILTIN)
    flowing = () if gradient is None else gradient.inputs
    for name in wanted:
        if gradient is None or name not in flowing:
            raise ForwardOnlyError(op=type(op).__name__, tensor=name)
    assert gradient is not None
    kernels = op.kernels_for(inputs)
    run = op.bind(kernels, *inputs)
    return like(run, recorded(gradient, op.input_names, run)), kernels
