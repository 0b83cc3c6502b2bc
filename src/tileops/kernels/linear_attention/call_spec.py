"""The call spec and the kernel interface of gated linear attention."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface

__all__ = ["GLACall", "GLAFwdInterface"]

_LARGEST = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class GLACall(CallSpec):
    """The facts that select an implementation of gated linear attention and build it.

    The state is float32 whatever ``dtype`` is.

    Attributes:
        batch: Batch elements.
        seq_len: Steps of a sequence; without any, the state stays as it is.
        heads: Heads of a batch element, each with a state of its own.
        dim_k: Elements of a query, a key and a gate.
        dim_v: Elements of a value and an output.
        dtype: Of all tensors but the states.
        scale: What the output is multiplied by.
        has_initial_state: Whether a state is given to start from; otherwise it is zeros.
    """

    batch: Annotated[int, Range(1, _LARGEST)] = 0
    seq_len: Annotated[int, Range(0, _LARGEST)] = -1
    heads: Annotated[int, Range(1, _LARGEST)] = 0
    dim_k: Annotated[int, Range(1, _LARGEST)] = 0
    dim_v: Annotated[int, Range(1, _LARGEST)] = 0
    dtype: torch.dtype = torch.bfloat16
    scale: float = 1.0
    has_initial_state: bool = False

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset({"dim_k", "dim_v"})
    DERIVED: ClassVar[Mapping[str, str]] = {"scale": "dim_k ** -0.5"}

    @classmethod
    def derived(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The scale is that of an op constructed without one."""
        return {"scale": given["dim_k"] ** -0.5} if given.get("dim_k", 0) > 0 else {}

    @property
    def sequences(self) -> int:
        """The states that are carried, one for every head of every batch element."""
        return self.batch * self.heads

    def impossible(self) -> str | None:
        """Sizes are positive, but for the length, and the data has 16 bits."""
        sizes = {
            "batch": self.batch,
            "heads": self.heads,
            "dim_k": self.dim_k,
            "dim_v": self.dim_v,
        }
        for name, size in sizes.items():
            if size < 1:
                return f"{name} must be at least 1, got {size}"
        if self.seq_len < 0:
            return f"seq_len must not be negative, got {self.seq_len}"
        if self.dtype not in (torch.float16, torch.bfloat16):
            return f"dtype must be float16 or bfloat16, got {self.dtype}"
        return None


class GLAFwdInterface(KernelInterface):
    """Gated linear attention over a sequence, from an initial state to a final one."""

    request = GLACall

    @abstractmethod
    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Carry the state through every step and read it with the step's query.

        For every head, from ``S_0``, the initial state, and for ``t = 1 .. seq_len``:
        ``S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T`` and ``o_t = scale * q_t^T S_t``. Every tensor
        is contiguous on ``call.device`` and its data starts at a multiple of 16 bytes; nothing is
        written in place. The result where a gate is positive is undefined, and so is the output
        where, in float16, a state is beyond the dtype.

        Args:
            q: Queries of shape ``(batch, seq_len, heads, dim_k)`` in ``call.dtype``.
            k: Keys shaped like *q*, in ``call.dtype``.
            v: Values of shape ``(batch, seq_len, heads, dim_v)`` in ``call.dtype``.
            g: Logarithms of the gates, shaped like *q*, in ``call.dtype``; none is positive, and
                minus infinity forgets.
            initial_state: The state before the first step, of shape
                ``(batch, heads, dim_k, dim_v)`` in float32; None exactly where
                ``call.has_initial_state`` is false, and means zeros.

        Returns:
            The outputs of shape ``(batch, seq_len, heads, dim_v)`` in ``call.dtype``, and the
            state after the last step of shape ``(batch, heads, dim_k, dim_v)`` in float32, two
            new tensors. Without a step the final state is the initial one.
        """
