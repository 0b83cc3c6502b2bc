"""GQADenseFP8DecodeKernel: decoding over fp8 keys and values."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.split_decode import SplitDecode

__all__ = ["GQADenseFP8DecodeKernel"]


class GQADenseFP8DecodeKernel(DenseGQAKernel):
    """One fp8 query a sequence; keys and values become 16-bit in registers."""

    supported_archs: list[int] = [90]
    preferred_over = frozenset({"gqa_dense_fp8"})

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse calls with more queries, and every other dtype."""
        if not call.is_fp8:
            return f"serves float8_e4m3fn, got {call.dtype}"
        if call.seqlen_q != 1:
            return f"serves one query a sequence, got seqlen_q {call.seqlen_q}"
        return super().refusal(call)

    def built(self, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with every block for itself until the last one merges."""
        return SplitDecode.built(form, facts)
