"""Sets of random inputs, enough of them that no launch finds its own in the caches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import torch

from harness.case import Case
from tileops.tensor_spec import TensorSpec

__all__ = ["Fill", "Inputs", "NotEnoughMemoryError", "input_sets", "normal", "sets_for"]

Fill = Callable[[torch.Tensor, torch.Generator], None]
"""Fills a float32 tensor in place with values that are typical of one input."""

Inputs = tuple[torch.Tensor | None, ...]

ALIGNMENT = 256
"""Bytes that every tensor starts at a multiple of, as one from torch's allocator does."""

TEMPORARIES = 8
"""Sets of outputs left free for what a peer allocates on the way, float32 copies above all."""

SHARE = 0.8
"""Of the free memory, what a case may use."""

CHUNK = 2**26
"""Elements that are drawn at once, in float32."""


class NotEnoughMemoryError(MemoryError):
    """Not even one set of inputs and outputs fits the board.

    Attributes:
        case: The case.
        needed: Bytes it needs.
        free: Bytes it may use.
    """

    def __init__(self, case: str, needed: int, free: int) -> None:
        self.case, self.needed, self.free = case, needed, free
        super().__init__(
            f"{case} needs {needed / 2**30:.1f} GiB with room for temporaries, and "
            f"{free / 2**30:.1f} GiB may be used; choose a board with more memory"
        )


def sets_for(case: Case, free: int, cold_bytes: int, most: int) -> int:
    """Return how many sets of inputs and outputs a case rotates over.

    Args:
        case: The case.
        free: Free bytes of the device.
        cold_bytes: Bytes that lie between two uses of one set, if memory allows.
        most: Sets beyond this number are never reached.

    Raises:
        NotEnoughMemoryError: One set does not fit.
    """
    usable = int(free * SHARE)
    one = case.input_bytes + case.output_bytes
    reserve = TEMPORARIES * case.output_bytes
    fitting = (usable - reserve) // max(one, 1)
    if fitting < 1:
        raise NotEnoughMemoryError(case.name, one + reserve, usable)
    wanted = max(2, math.ceil(cold_bytes / max(one, 1)))
    return min(wanted, most, fitting)


def input_sets(
    case: Case, sets: int, seed: int, fills: Mapping[str, Fill] | None = None
) -> tuple[Inputs, ...]:
    """Draw the inputs of a case, the same for the same seed.

    Args:
        case: The case.
        sets: How many sets.
        seed: Of the generators, one per device.
        fills: By input name, how to draw it; normal values where not stated.
    """
    fills = fills or {}
    generators: dict[torch.device, torch.Generator] = {}
    columns: list[list[torch.Tensor | None]] = []
    for name, spec in case.call.inputs.items():
        if spec is None:
            columns.append([None] * sets)
            continue
        generator = generators.setdefault(
            spec.device, torch.Generator(spec.device).manual_seed(seed)
        )
        columns.append([*_draw(spec, sets, fills.get(name, normal), generator)])
    return tuple(zip(*columns, strict=True))


def normal(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Fill with normal values of mean 0 and deviation 1."""
    tensor.normal_(generator=generator)


def _draw(
    spec: TensorSpec, sets: int, fill: Fill, generator: torch.Generator
) -> list[torch.Tensor]:
    """Return views of one arena: thousands of small tensors would take longer than the timing."""
    step = math.ceil(spec.nbytes / ALIGNMENT) * ALIGNMENT // spec.dtype.itemsize
    arena = torch.empty(sets * step, dtype=spec.dtype, device=spec.device)
    for start, end in pairwise([*range(0, len(arena), CHUNK), len(arena)]):
        drawn = torch.empty(end - start, dtype=torch.float32, device=spec.device)
        fill(drawn, generator)
        arena[start:end] = drawn.to(spec.dtype)
    numel = spec.numel
    return [arena[i * step : i * step + numel].view(spec.shape) for i in range(sets)]
