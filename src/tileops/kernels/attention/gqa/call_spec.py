"""The call spec and the kernel interface of grouped-query attention."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface

__all__ = ["AttentionCall", "GQADenseFwdInterface"]


@dataclasses.dataclass(frozen=True)
class AttentionCall(CallSpec):
    """The facts that select an implementation of attention and build it.

    Attributes:
        dtype: Of queries, keys and values.
        batch: Sequences.
        heads: Query heads.
        heads_kv: Heads of keys and values; each serves ``heads // heads_kv`` query heads.
        dim: Elements of a head.
        seqlen_q: Queries of a sequence.
        seqlen_kv: Keys of a sequence.
        is_causal: Whether a query sees only the keys up to its own position, the last query
            standing at the last key.
        sm_scale: What scores are multiplied by; None means ``dim ** -0.5``.
        softcap: The bound of ``softcap * tanh(score / softcap)``; 0 for no bound, which the op
            calls None.
        is_fp8: Whether queries, keys and values are float8_e4m3fn, with descaling factors.
        fuse_rope: Whether positions are rotated into queries and keys on the way. No in-tree op
            asks for it; an op of a backend may.
        window: Whether a query sees only keys near its own position. No in-tree op asks for it;
            an op of a backend may.
        out_dtype: Of the output; None means that of 16-bit queries, and bfloat16 for fp8 ones.
    """

    dtype: torch.dtype = torch.float16
    batch: Annotated[int, Range(1, 2**31 - 1)] = 1
    heads: Annotated[int, Range(1, 2**16)] = 32
    heads_kv: Annotated[int, Range(1, 2**16)] = 4
    dim: Annotated[int, Range(1, 2**16)] = 128
    seqlen_q: Annotated[int, Range(1, 2**31 - 1)] = 1
    seqlen_kv: Annotated[int, Range(1, 2**31 - 1)] = 0
    is_causal: bool = False
    sm_scale: float | None = None
    softcap: Annotated[float, Range(0.0)] = 0.0
    is_fp8: bool = False
    fuse_rope: bool = False
    window: bool = False
    out_dtype: torch.dtype | None = None

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset({"dim"})
    DERIVED: ClassVar[Mapping[str, str]] = {"is_fp8": "whether dtype is float8_e4m3fn"}

    @classmethod
    def derived(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The dtype says whether it is fp8, and fp8 says the dtype."""
        if "dtype" in given:
            return {"is_fp8": given["dtype"] == torch.float8_e4m3fn}
        return {"dtype": torch.float8_e4m3fn} if given.get("is_fp8") else {}

    def impossible(self) -> str | None:
        """Heads are shared evenly, dtypes agree, and every query sees a key."""
        if self.heads_kv < 1 or self.heads % self.heads_kv != 0:
            return f"heads must be a multiple of heads_kv, got {self.heads} and {self.heads_kv}"
        if self.dtype not in (torch.float16, torch.bfloat16, torch.float8_e4m3fn):
            return f"dtype must be float16, bfloat16 or float8_e4m3fn, got {self.dtype}"
        if self.is_fp8 != (self.dtype == torch.float8_e4m3fn):
            return f"is_fp8 must say whether dtype is float8_e4m3fn, got {self.is_fp8}"
        if self.out_dtype not in (None, torch.float16, torch.bfloat16):
            return f"out_dtype must be float16 or bfloat16, got {self.out_dtype}"
        if self.is_causal and self.seqlen_q > self.seqlen_kv:
            return f"causal queries must not outnumber keys, got seqlen_q {self.seqlen_q}"
        return None

    @property
    def dense_decode_region(self) -> bool:
        """Whether each sequence has one query, over 16-bit keys and values.

        The one query stands at the last key, so causal or not is the same.
        """
        return self.seqlen_q == 1 and not self.is_fp8

    @property
    def softmax_scale(self) -> float:
        """What scores are multiplied by."""
        return self.dim**-0.5 if self.sm_scale is None else self.sm_scale

    @property
    def result_dtype(self) -> torch.dtype:
        """The output's dtype; that of 16-bit queries, and bfloat16 for fp8 ones, if unstated."""
        if self.out_dtype is not None:
            return self.out_dtype
        return torch.bfloat16 if self.is_fp8 else self.dtype


class GQADenseFwdInterface(KernelInterface):
    """Attention of ``call.heads`` query heads over ``call.heads_kv`` heads of dense keys."""

    request = AttentionCall

    @abstractmethod
    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_scale: torch.Tensor | None,
        k_scale: torch.Tensor | None,
        v_scale: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return ``softmax(cap(q @ k.T * scale)) @ v`` for every head; nothing is written in place.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes. Query head ``h`` reads head ``h // (call.heads // call.heads_kv)`` of keys and
        values. ``scale`` is ``call.softmax_scale``; ``cap(x)`` is ``x``, or
        ``call.softcap * tanh(x / call.softcap)`` where that is not 0. With ``call.is_causal``
        query ``i`` sees the keys up to ``i + call.seqlen_kv - call.seqlen_q``. Scores, softmax
        and sums are taken in float32. Memory outside the tensors is not read into a result. A
        query that sees NaN in a key or value, or only scores of minus infinity, becomes NaN; what
        NaN or infinity in a value does to a query that does not see it is undefined.

        Args:
            q: ``(call.batch, call.seqlen_q, call.heads, call.dim)`` in ``call.dtype``.
            k: ``(call.batch, call.seqlen_kv, call.heads_kv, call.dim)`` in ``call.dtype``.
            v: Shaped like *k*, in ``call.dtype``.
            q_scale: With ``call.is_fp8``, what queries are multiplied by, for every key head:
                ``(call.batch, call.heads_kv)`` in float32. None otherwise.
            k_scale: The same for keys, ``(call.batch, call.heads_kv)`` in float32 or None.
            v_scale: The same for values, ``(call.batch, call.heads_kv)`` in float32 or None.

        Returns:
            A new output shaped like *q*, in ``call.result_dtype``.
        """
