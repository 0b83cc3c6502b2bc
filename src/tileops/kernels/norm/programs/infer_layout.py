"""How blocks walk a tensor (n, c, *spatial) once: a value picked without TileLang."""

import math
from dataclasses import dataclass

from tileops.device import DeviceFacts

__all__ = ["InferLayout", "infer_layout"]

_ACCESS = 16
_FIRST_OVERLAP_ARCH = 90

# Threads of a block, and accesses of a thread that are read before the first is written.
_THREADS, _DEPTH = 128, 4

# Accesses of a plane from which on a block stays in one plane, where samples are few.
_PLANE = 96


@dataclass(frozen=True, slots=True)
class InferLayout:
    """How blocks walk samples of channels; the number of samples varies.

    Attributes:
        vector: Elements of one access.
        threads: Threads of one block.
        depth: Accesses of a thread: of one plane, or the same one of several samples.
        beside: Samples that threads of a block walk side by side, where they are short.
        by_planes: Whether a block stays in one plane.
        overlap: Whether the next kernel of the stream may start before this one ends.
    """

    vector: int
    threads: int
    depth: int
    beside: int
    by_planes: bool
    overlap: bool


def infer_layout(
    samples: int, channels: int, spatial: int, itemsize: int, facts: DeviceFacts
) -> InferLayout:
    """Pick the layout of planes of *spatial* elements of *itemsize* bytes."""
    widest = _ACCESS // itemsize
    vector = math.gcd(spatial, widest)
    accesses = spatial // vector
    overlap = (facts.arch or 0) >= _FIRST_OVERLAP_ARCH
    if samples < _DEPTH and vector == widest and accesses >= _PLANE:
        depth = min(_DEPTH, -(-accesses // _THREADS))
        # A plane in equal tiles, rather than full ones and a remainder.
        tiles = -(-accesses // (_THREADS * depth))
        threads = 32 * -(-accesses // (tiles * depth * 32))
        return InferLayout(vector, threads, depth, 1, True, overlap)
    # Accesses divide a sample, if not a plane.
    vector = math.gcd(spatial * channels, widest)
    beside = max(1, _THREADS // (spatial * channels // vector))
    return InferLayout(vector, _THREADS, min(_DEPTH, -(-samples // beside)), beside, False, overlap)
