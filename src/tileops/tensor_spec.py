"""TensorSpec: what a kernel is built from, and what a call is explained from, without a tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import torch

from tileops.errors import TensorSpecError
from tileops.errors.wording import shown

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
        """Check what is described.

        Raises:
            TensorSpecError: No tensor is like that.
        """
        object.__setattr__(self, "shape", _counts("shape", self.shape))
        object.__setattr__(self, "device", _device(self.device))
        if not isinstance(self.dtype, torch.dtype):
            raise TensorSpecError(
                member="dtype", requirement="be a torch.dtype", given=shown(self.dtype)
            )
        if self.stride is None:
            return
        object.__setattr__(self, "stride", _counts("stride", self.stride))
        if len(self.stride) != len(self.shape):
            raise TensorSpecError(
                member="stride",
                requirement=f"have one stride per dim of {self.shape}",
                given=str(self.stride),
            )

    @classmethod
    def of(cls, tensor: torch.Tensor | TensorSpec) -> TensorSpec:
        """Return the description of a tensor; a description is returned as it is."""
        if isinstance(tensor, TensorSpec):
            return tensor
        return cls(tensor.shape, tensor.dtype, tensor.device, tensor.stride())

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


def _counts(member: str, values: Any) -> tuple[int, ...]:
    """Return sizes or strides as a tuple; symbolic ones, of a traced tensor, stay as they are."""
    if not isinstance(values, tuple | list):
        raise TensorSpecError(
            member=member, requirement="be a tuple of integers", given=shown(values)
        )
    return tuple(_count(member, value) for value in values)


def _count(member: str, value: Any) -> int:
    if isinstance(value, torch.SymInt):
        return cast(int, value)
    if type(value) is bool or not isinstance(value, Integral):
        raise TensorSpecError(member=member, requirement="hold integers", given=shown(value))
    count = int(value)
    if not 0 <= count < 2**63:
        requirement = "hold counts of 0 or more, below 2**63"
        raise TensorSpecError(member=member, requirement=requirement, given=shown(count))
    return count


def _device(device: Any) -> torch.device:
    try:
        made = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise _no_device(device) from error
    # torch keeps the lowest bits of an index that is too large.
    if isinstance(device, str) and ":" in device and str(made) != device:
        raise _no_device(device)
    return made


def _no_device(device: Any) -> TensorSpecError:
    return TensorSpecError(
        member="device", requirement="be a torch.device or its name", given=shown(device)
    )
