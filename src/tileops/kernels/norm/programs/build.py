"""From a row norm's program to the function that launches it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tileops.device import DeviceFacts
from tileops.kernels.compile import OWN_BARRIERS, bare_function
from tileops.kernels.norm.programs.row_layout import RowLayout, RowTensors, row_layout

if TYPE_CHECKING:
    import torch

__all__ = ["build_rows", "layout_on"]


def layout_on(facts: DeviceFacts, n: int, dtype: "torch.dtype", tensors: RowTensors) -> RowLayout:
    """Pick the layout of rows of *n* elements of a torch dtype on a device of these facts."""
    return row_layout(n, dtype.itemsize, facts.arch, facts.smem_budget, tensors)


def build_rows(
    program: Callable[..., Any],
    tensors: RowTensors,
    n: int,
    eps: float,
    dtype: "torch.dtype",
    facts: DeviceFacts,
) -> Callable[..., None]:
    """Compile ``program(n, eps, name of dtype, layout)`` for a device of these facts."""
    name = str(dtype).removeprefix("torch.")
    rows = program(n, eps, name, layout_on(facts, n, dtype, tensors))
    return bare_function(rows, facts.arch, OWN_BARRIERS)
