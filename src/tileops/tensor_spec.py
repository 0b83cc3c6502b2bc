"""TensorSpec: what a kernel is built from, and what a call is explained from, without a tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

__all__ = ["TensorSpec"]


@dataclass(frozen=True)
class TensorSpec:
    """The description of a tensor.

    Attributes:
        shape: The sizes, outermost first.
        dtype: The dtype.
        device: The device; a text such as ``"cuda:0"`` is converted.
        stride: The strides in elements, or None where they are not known: such a description
            stands for a contiguous tensor.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    stride: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "device", torch.device(self.device))
        if self.stride is not None:
            object.__setattr__(self, "stride", tuple(self.stride))

    @classmethod
    def of(cls, tensor: torch.Tensor | TensorSpec) -> TensorSpec:
        """Return the description of a tensor; a description is returned as it is."""
        if isinstance(tensor, TensorSpec):
            return tensor
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device, tensor.stride())

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.numel * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another, as ``Tensor.is_contiguous`` means it."""
        if self.stride is None or self.numel == 0:
            return True
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.stride), strict=True):
            # The stride of a dim of size one is never used.
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        return f"{name}{list(self.shape)} on {self.device}"
