"""Whether tensors share an element, by where they begin and how they are strided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

__all__ = ["Extent", "overlaps_itself", "share"]

STEPS = 10_000
"""Steps to look for a shared element; tensors that take more count as sharing one."""

Term = tuple[int, int, int]
"""A stride, and the least and the greatest number of steps."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The bytes that a tensor reaches, relative to where it begins.

    Attributes:
        length: From the first byte to the last, both included.
        dims: The stride in bytes and the steps of every dim that moves, elements' bytes included.
        dense: Whether it is known that every byte of the length is the tensor's.
    """

    length: int
    dims: tuple[tuple[int, int], ...]
    dense: bool

    @classmethod
    def whole(cls, length: int) -> Extent:
        """Return what a contiguous tensor of so many bytes reaches."""
        return cls(length, ((1, length - 1),), dense=True)

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Extent:
        """Return what a tensor that is not empty reaches."""
        if tensor.is_contiguous():
            return cls.whole(tensor.nbytes)
        width = tensor.itemsize
        dims = [
            (stride * width, size - 1)
            for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
            if size > 1 and stride
        ]
        length = width + sum(stride * steps for stride, steps in dims)
        return cls(length, (*dims, (1, width - 1)), dense=False)


def share(one: Extent, other: Extent, distance: int) -> bool:
    """Return whether two tensors share a byte.

    Args:
        one: The first.
        other: The second.
        distance: How many bytes behind the first the second begins.
    """
    if not -other.length < distance < one.length:
        return False
    if one.dense and other.dense:
        return True
    reach: dict[int, tuple[int, int]] = {}
    for stride, steps in one.dims:
        low, high = reach.get(stride, (0, 0))
        reach[stride] = low, high + steps
    for stride, steps in other.dims:
        low, high = reach.get(stride, (0, 0))
        reach[stride] = low - steps, high
    terms = [(stride, low, high) for stride, (low, high) in reach.items()]
    return _Search().reaches(distance, sorted(terms, reverse=True))


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Return whether several elements of a tensor that is not empty lie in one place."""
    if tensor.is_contiguous():
        return False
    pairs = zip(tensor.stride(), tensor.shape, strict=True)
    dims = sorted((stride, size - 1) for stride, size in pairs if size > 1)
    if dims and dims[0][0] == 0:
        return True
    length = 1
    for stride, steps in dims:
        if stride < length:
            break
        length += stride * steps
    else:
        return False
    # Two elements in one place differ by steps that add up to nothing, some dim's the first.
    terms = [(stride, -steps, steps) for stride, steps in reversed(dims)]
    search = _Search()
    return any(
        search.reaches(0, [(stride, 1, steps), *terms[place:]])
        for place, (stride, _, steps) in enumerate(terms, 1)
    )


class _Search:
    """A search for steps that lead somewhere, which is given up when it takes too long."""

    def __init__(self) -> None:
        self.left = STEPS

    def reaches(self, distance: int, terms: Sequence[Term]) -> bool:
        """Return whether steps of the terms, of falling strides, may add up to a distance."""
        self.left -= 1
        if self.left < 0:
            return True
        if not terms:
            return distance == 0
        (stride, low, high), *rest = terms
        nearest = sum(one * least for one, least, _ in rest)
        furthest = sum(one * most for one, _, most in rest)
        first = max(low, -((furthest - distance) // stride))
        last = min(high, (distance - nearest) // stride)
        return any(
            self.reaches(distance - stride * steps, rest) for steps in range(first, last + 1)
        )
