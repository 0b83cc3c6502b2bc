"""Decoding over 16-bit keys and values: the kernel for every call, and two for batch 1."""

from __future__ import annotations

import torch

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.split_decode import SplitDecode
from tileops.kernels.attention.gqa.tiling import (
    bs1_cluster,
    head_tiles,
    long_context_cluster,
)

__all__ = ["GQADecodeBs1Kernel", "GQADecodeKernel", "GQADecodeLongContextKernel"]


class GQADecodeKernel(DenseGQAKernel):
    """One query a sequence, its keys split over blocks; the last block merges their parts."""

    general: bool = True
    supported_archs: list[int] = [80, 89, 90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse calls with more queries, and fp8."""
        if not call.dense_decode_region:
            return (
                f"serves one 16-bit query a sequence, got seqlen_q {call.seqlen_q} of {call.dtype}"
            )
        return super().refusal(call)

    @classmethod
    def built(cls, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with every block for itself until the last one merges."""
        return SplitDecode.built(form, facts)


class GQADecodeBs1Kernel(GQADecodeKernel):
    """One sequence, each key head split over a cluster that merges without global memory."""

    general: bool = False
    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse batches, and sequences that clusters are too few to read at full rate."""
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        if call.seqlen_kv > 8192:
            return f"serves seqlen_kv up to 8192, got {call.seqlen_kv}"
        return super().refusal(call)

    @classmethod
    def built(cls, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with one cluster for every tile of query heads.

        Where there are so many that a cluster would be one block, blocks split the keys instead.
        """
        tiles = form.heads_kv * head_tiles(form.group)
        cluster = bs1_cluster(tiles, facts.sm_count or 1)
        return SplitDecode.built(form, facts, cluster, whole=cluster > 1)


class GQADecodeLongContextKernel(GQADecodeKernel):
    """One long sequence of 32 heads over 4: clusters merge first, then the last of their blocks."""

    general: bool = False
    preferred_over = frozenset({"gqa_dense_decode_bs1"})

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse all but the one form of call that it is tuned for."""
        if call.seqlen_kv < 1024:
            return f"serves seqlen_kv from 1024, got {call.seqlen_kv}"
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        if call.heads != 32 or call.heads_kv != 4 or call.dim != 128:
            return (
                "serves 32 heads over 4 of dim 128, "
                f"got {call.heads} over {call.heads_kv} of dim {call.dim}"
            )
        if call.dtype != torch.float16:
            return f"serves float16, got {call.dtype}"
        if call.softcap != 0.0:
            return f"serves scores without a cap, got softcap {call.softcap}"
        return super().refusal(call)

    @classmethod
    def built(cls, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with clusters where the device has them, so that fewer parts are left."""
        return SplitDecode.built(form, facts, long_context_cluster(facts.arch or 0))
