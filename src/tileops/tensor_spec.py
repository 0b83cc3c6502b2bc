"""TensorSpec: what an op knows of a tensor without its contents."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["TensorSpec"]


@dataclass(frozen=True)
class TensorSpec:
    """The description of a tensor.

    Attributes:
        shape: Its shape.
        dtype: Its dtype.
        device: Where it lies.
        stride: Its strides in elements; None stands for contiguous.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    stride: tuple[int, ...] | None = None

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorSpec:
        """Describe a tensor."""
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device, tuple(tensor.stride()))

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.shape)
