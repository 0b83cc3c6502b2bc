"""GQADenseFP8DecodeKernel: decoding over fp8 keys and values."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tileops.device import current_facts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.split_decode import SplitDecode
from tileops.kernels.kernel import Entry

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

    @classmethod
    def entry_for(cls, call: AttentionCall) -> Entry:
        """Identify the build by everything but batch and lengths."""
        form = GQAForm.of(call)
        return form, lambda: cls(form)

    def __init__(self, form: GQAForm) -> None:
        """Compile the program for calls of one form on the current device."""
        super().__init__()
        self._decode = SplitDecode.with_clusters_of(1, form, current_facts())

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_scale: torch.Tensor | None,
        k_scale: torch.Tensor | None,
        v_scale: torch.Tensor | None,
    ) -> torch.Tensor:
        """Attend with the one query of every sequence."""
        return self._decode.bind(q, k, scaled=True)(q, k, v, q_scale, k_scale, v_scale)

    def bind(self, *args: torch.Tensor | None) -> Callable[..., torch.Tensor]:
        """Choose the splits once; the rest of a call is allocation and launch."""
        q, k = args[:2]
        assert q is not None
        assert k is not None
        return self._decode.bind(q, k, scaled=True)
