"""GQADenseFP8Kernel: fp8 attention for any number of queries."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.single_launch import SingleLaunch
from tileops.kernels.attention.gqa.tiling import fp8_tiling

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

    def built(self, form: GQAForm, facts: DeviceFacts) -> SingleLaunch:
        """Compile with copies by the blocks' own threads, which widen what they bring in."""
        from tileops.kernels.attention.gqa.programs.prefill_cp_async import build

        assert facts.smem_budget is not None
        return SingleLaunch(build(form, fp8_tiling(form.dim, facts.smem_budget), facts), form)
