"""GQADenseFP8Kernel: fp8 attention for any number of queries."""

from __future__ import annotations

import torch

from tileops.device import current_facts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.tiling import fp8_tiling
from tileops.kernels.kernel import Entry

__all__ = ["GQADenseFP8Kernel"]


class GQADenseFP8Kernel(DenseGQAKernel):
    """Attention over fp8 queries, keys and values, with 16-bit products."""

    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse every other dtype."""
        if not call.is_fp8:
            return f"serves float8_e4m3fn, got {call.dtype}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: AttentionCall) -> Entry:
        """Identify the build by everything but batch and lengths."""
        form = GQAForm.of(call)
        return form, lambda: cls(form)

    def __init__(self, form: GQAForm) -> None:
        """Compile the program for calls of one form on the current device."""
        super().__init__()
        from tileops.kernels.attention.gqa.programs.prefill_cp_async import build

        facts = current_facts()
        assert facts.arch is not None
        assert facts.smem_budget is not None
        self._launch = build(form, fp8_tiling(form.dim, facts.smem_budget), facts)
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
        self._launch(q, k, v, q_scale, k_scale, v_scale, o)
        return o
