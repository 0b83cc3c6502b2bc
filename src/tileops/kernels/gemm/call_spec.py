"""The call spec and the kernel interface of the gemm family."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Annotated, ClassVar

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface

__all__ = ["LARGEST_SIZE", "VECTOR", "GemmCall", "GemmFwdInterface"]

VECTOR = 8
"""Elements of 16 bytes: what one access of a kernel moves."""

LARGEST_SIZE = 2**31 - 1024
"""The largest m, n or k: the end of a tile that holds its last element fits 32 bits."""


@dataclasses.dataclass(frozen=True)
class GemmCall(CallSpec):
    """The facts that select an implementation of a matrix product and build it.

    Attributes:
        m: Rows of the product.
        n: Columns of the product.
        k: Elements that each element of the product is summed over.
        dtype: Of the operands and the product.
        trans_a: Whether the first operand is stored as (k, m) instead of (m, k).
        trans_b: Whether the second operand is stored as (n, k) instead of (k, n).
    """

    m: Annotated[int, Range(1, LARGEST_SIZE)] = 0
    n: Annotated[int, Range(1, LARGEST_SIZE)] = 0
    # A product over nothing is a call too, so 0 does not stand for an absent k.
    k: Annotated[int, Range(0, LARGEST_SIZE)] = -1
    dtype: torch.dtype = torch.float16
    trans_a: bool = False
    trans_b: bool = True

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset({"m", "n", "k", "trans_a", "trans_b"})

    @property
    def a_in_vectors(self) -> bool:
        """Whether every row of the first operand, as stored, is a whole number of vectors."""
        return (self.m if self.trans_a else self.k) % VECTOR == 0

    @property
    def b_in_vectors(self) -> bool:
        """Whether every row of the second operand, as stored, is a whole number of vectors."""
        return (self.k if self.trans_b else self.n) % VECTOR == 0

    def impossible(self) -> str | None:
        """The product has elements, of a dtype the op accepts and a size that it serves."""
        if self.m < 1 or self.m > LARGEST_SIZE:
            return f"m must be 1 to {LARGEST_SIZE}, got {self.m}"
        if self.n < 1 or self.n > LARGEST_SIZE:
            return f"n must be 1 to {LARGEST_SIZE}, got {self.n}"
        if self.k < 0 or self.k > LARGEST_SIZE:
            return f"k must be 0 to {LARGEST_SIZE}, got {self.k}"
        if self.dtype not in (torch.float16, torch.bfloat16):
            return f"dtype must be float16 or bfloat16, got {self.dtype}"
        return None


class GemmFwdInterface(KernelInterface):
    """The product of two matrices, accumulated in float32 and rounded once."""

    request = GemmCall

    @abstractmethod
    def forward(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Multiply *a* by *b*; the same inputs give the same bits every time.

        The inputs are contiguous on ``call.device`` and their data starts at a multiple of
        16 bytes; they may be the same tensor. NaN and infinities spread as in the sum of products
        in float32, and a sum beyond ``call.dtype`` becomes an infinity.

        Args:
            a: Shape (m, k), or (k, m) with ``call.trans_a``, in ``call.dtype``, not empty.
            b: Shape (k, n), or (n, k) with ``call.trans_b``, in ``call.dtype``, not empty.
            out: Shape (m, n) in ``call.dtype``, with any strides and address, written whole; it
                shares no memory with an input. None to allocate.

        Returns:
            *out*, or a new contiguous tensor of shape (m, n) in ``call.dtype``.
        """
