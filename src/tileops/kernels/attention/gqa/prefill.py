"""GQADensePrefillKernel: attention for several 16-bit queries a sequence."""

from __future__ import annotations

import torch

from tileops.device import current_facts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.tiling import prefill_tiling
from tileops.kernels.kernel import Entry

__all__ = ["GQADensePrefillKernel"]


class GQADensePrefillKernel(DenseGQAKernel):
    """Tiles of queries against tiles of keys, causal or not."""

    supported_archs: list[int] = [80, 89, 90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse decoding, and fp8."""
        if call.is_fp8:
            return f"serves float16 and bfloat16, got {call.dtype}"
        if call.seqlen_q < 2:
            return f"serves two queries a sequence and more, got seqlen_q {call.seqlen_q}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: AttentionCall) -> Entry:
        """Identify the build by everything but batch and lengths."""
        form = GQAForm.of(call)
        return form, lambda: cls(form)

    def __init__(self, form: GQAForm) -> None:
        """Compile the program for calls of one form on the current device."""
        super().__init__()
        from tileops.kernels.attention.gqa.programs import prefill, prefill_cp_async

        facts = current_facts()
        assert facts.arch is not None
        assert facts.smem_budget is not None
        tiling = prefill_tiling(form.dim, facts.arch, facts.smem_budget)
        programs = prefill if facts.arch >= 90 else prefill_cp_async
        self._launch = programs.build(form, tiling, facts)
        self._out_dtype: torch.dtype = getattr(torch, form.out_dtype)

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_scale: torch.Tensor | None = None,
        k_scale: torch.Tensor | None = None,
        v_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Attend with every query of every sequence."""
        o = torch.empty_like(q, dtype=self._out_dtype)
        self._launch(q, k, v, o)
        return o
