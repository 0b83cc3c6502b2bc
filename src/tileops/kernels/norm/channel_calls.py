"""The call specs of the ops that normalize channels: the same facts, and which calls there are."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.norm._accepted import unaccepted
from tileops.kernels.norm.programs.channel_planes import side_by_side

__all__ = [
    "BatchNormBwdCall",
    "BatchNormCall",
    "BatchNormInferCall",
    "BatchNormTrainCall",
    "InstanceNormCall",
    "InstanceNormInferCall",
    "InstanceNormTrainCall",
]

LONGEST_CHANNEL = 2**31 - 2**12
"""The most elements of a channel: 32 bits count them, and the end of the last step beyond."""


@dataclasses.dataclass(frozen=True)
class BatchNormCall(CallSpec):  # tileops: ignore[contract-placement] -- call_spec exports it
    """The facts that select an implementation normalizing channels and build it.

    The six interfaces of batch normalization, its gradients and instance normalization take it;
    each narrows it to the calls that there are. Data is shaped ``(n, c, *spatial dims)``.

    Attributes:
        n: Batch elements.
        c: Channels.
        spatial: Elements of a plane, the product of the spatial dims; 1 without such dims.
        dtype: Of the data, the scales, the shifts and their gradients; statistics are float32.
        eps: What is added to the variance before its root is taken.
        momentum: How far running statistics move towards those of the batch, 1 for all the way.
        has_weight: Whether channels are scaled.
        has_bias: Whether channels are shifted.
        has_running_stats: Whether running statistics are given; inference needs them, and so does
            instance normalization that moves them.
    """

    n: Annotated[int, Range(1, 2**31 - 1)] = 0
    c: Annotated[int, Range(1, 2**31 - 1)] = 0
    spatial: Annotated[int, Range(1, 2**31 - 1)] = 1
    dtype: torch.dtype = torch.float16
    eps: Annotated[float, Range(0.0)] = 1e-5
    momentum: float = 0.1
    has_weight: bool = True
    has_bias: bool = True
    has_running_stats: bool = True

    def impossible(self) -> str | None:
        """There is data, of a size and in a dtype the ops accept."""
        for name, count in (("n", self.n), ("c", self.c), ("spatial", self.spatial)):
            if count < 1:
                return f"{name} must be at least 1, got {count}"
        if self.n * self.spatial > LONGEST_CHANNEL:
            return f"n * spatial must be at most {LONGEST_CHANNEL}, got {self.n * self.spatial}"
        return unaccepted(self.eps, self.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return 4 if self.dtype == torch.float32 else 2

    @property
    def short(self) -> bool:
        """Whether planes alone waste accesses, so that neighbouring ones go together."""
        return side_by_side(self.spatial, self.itemsize)

    def _too_large_a_sample(self) -> str | None:
        size = self.c * self.spatial
        return None if size < 2**33 else f"c * spatial must be less than 2**33, got {size}"

    def _too_many_planes(self) -> str | None:
        planes = self.n * self.c
        return None if planes < 2**31 else f"n * c must be less than 2**31, got {planes}"


@dataclasses.dataclass(frozen=True)
class BatchNormTrainCall(BatchNormCall):
    """Batch normalization by the statistics of the batch."""

    def impossible(self) -> str | None:
        """A channel of one element has no statistics to normalize by."""
        if self.n * self.spatial == 1:
            return "n * spatial must be more than 1 in training, got 1"
        return super().impossible() or self._too_large_a_sample()


@dataclasses.dataclass(frozen=True)
class BatchNormInferCall(BatchNormCall):
    """Batch normalization by running statistics."""

    def impossible(self) -> str | None:
        """There are statistics to normalize by."""
        if not self.has_running_stats:
            return "has_running_stats must be true in inference"
        return super().impossible() or self._too_large_a_sample()


@dataclasses.dataclass(frozen=True)
class BatchNormBwdCall(BatchNormCall):
    """The gradients of batch normalization by the statistics of the batch."""

    def impossible(self) -> str | None:
        """Samples are of a size that the op accepts."""
        return super().impossible() or self._too_large_a_sample()


@dataclasses.dataclass(frozen=True)
class InstanceNormCall(BatchNormCall):
    """Instance normalization by the planes' own statistics; running ones play no part."""

    def impossible(self) -> str | None:
        """A plane of one element has no statistics to normalize by."""
        if self.spatial == 1:
            return "spatial must be more than 1 where statistics are taken, got 1"
        return super().impossible() or self._too_many_planes()


@dataclasses.dataclass(frozen=True)
class InstanceNormTrainCall(BatchNormCall):
    """Instance normalization by the planes' own statistics, which move running ones."""

    def impossible(self) -> str | None:
        """There are running statistics, and statistics to move them by."""
        if self.spatial == 1:
            return "spatial must be more than 1 where statistics are taken, got 1"
        if not self.has_running_stats:
            return "has_running_stats must be true, for they are moved"
        return super().impossible() or self._too_many_planes()


@dataclasses.dataclass(frozen=True)
class InstanceNormInferCall(BatchNormCall):
    """Instance normalization by running statistics."""

    def impossible(self) -> str | None:
        """There are statistics to normalize by."""
        if not self.has_running_stats:
            return "has_running_stats must be true in inference"
        return super().impossible() or self._too_many_planes()
