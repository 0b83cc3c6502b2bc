"""The device options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from tileops.cli._facts import complete_board
from tileops.cli._places import DeviceOptions
from tileops.cli._values import at_least, read_arch

__all__ = ["Arch", "Device", "Gpu", "SmCount", "SmemBudget", "device_options"]

Arch = Annotated[str | None, typer.Option(help="State an architecture: 90 or sm_90.")]
Gpu = Annotated[
    str | None,
    typer.Option(help="State a known board's facts: h200.", autocompletion=complete_board),
]
Device = Annotated[str | None, typer.Option(help="Ask about a device: cpu, cuda:0.")]
SmCount = Annotated[int | None, typer.Option(callback=at_least(1), help="State the number of SMs.")]
SmemBudget = Annotated[
    int | None,
    typer.Option(callback=at_least(1), help="State the bytes of shared memory a block can use."),
]


def device_options(
    arch: str | None,
    gpu: str | None,
    device: str | None,
    sm_count: int | None,
    smem_budget: int | None,
) -> DeviceOptions:
    """Return what the options say.

    Raises:
        UsageFailure: The architecture is none.
    """
    return DeviceOptions(
        None if arch is None else read_arch(arch), gpu, device, sm_count, smem_budget
    )
