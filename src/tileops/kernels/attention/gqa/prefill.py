"""GQADensePrefillKernel: attention for several 16-bit queries a sequence."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.single_launch import SingleLaunch
from tileops.kernels.attention.gqa.tiling import prefill_tiling

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

    def built(self, form: GQAForm, facts: DeviceFacts) -> SingleLaunch:
        """Compile the program that the architecture runs best."""
        from tileops.kernels.attention.gqa.programs import prefill, prefill_cp_async

        assert facts.arch is not None
        assert facts.smem_budget is not None
        capped = form.softcap > 0.0
        tiling = prefill_tiling(form.dim, facts.arch, facts.smem_budget, capped=capped)
        programs = prefill if facts.arch >= 90 else prefill_cp_async
        return SingleLaunch(programs.build(form, tiling, facts), form)
