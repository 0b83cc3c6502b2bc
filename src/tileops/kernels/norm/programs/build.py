"""From a row norm's program to the function that launches it."""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.compile import bare_function
from tileops.kernels.norm.programs.row_layout import RowLayout, RowTensors, row_layout

__all__ = ["build_rows", "layout_on"]


def layout_on(facts: DeviceFacts, n, dtype, tensors: RowTensors) -> RowLayout:
    """Pick the layout of rows of *n* elements of a torch dtype on a device of these facts."""
    return row_layout(n, dtype.itemsize, facts.arch, facts.smem_budget, tensors)


def build_rows(
    program, tensors: RowTensors, n, eps, dtype, facts: DeviceFacts
) -> Callable[..., None]:
    """Compile ``program(n, eps, name of dtype, layout)`` for a device of these facts."""
    name = str(dtype).removeprefix("torch.")
    return bare_function(program(n, eps, name, layout_on(facts, n, dtype, tensors)), facts.arch)
