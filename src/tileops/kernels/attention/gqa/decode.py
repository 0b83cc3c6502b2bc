"""Decoding over 16-bit keys and values: the kernel for every call, and two for one sequence."""

from __future__ import annotations

import torch

from tileops.device import DeviceFacts
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.dense import DenseGQAKernel
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.split_decode import SplitDecode
from tileops.kernels.attention.gqa.tiling import bs1_cluster, clusters_win, head_tiles
from tileops.kernels.kernel import Entry

__all__ = [
    "GQADecodeBs1Kernel",
    "GQADecodeKernel",
    "GQADecodeLongContextKernel",
    "OneSequenceKernel",
]


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

    def built(self, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with every block for itself until the last one merges."""
        return SplitDecode.built(form, facts)


class OneSequenceKernel(GQADecodeKernel):
    """One sequence: in clusters that merge without global memory, while those are faster."""

    general: bool = False

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse batches."""
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: AttentionCall) -> Entry:
        """Identify the build also by whether clusters are worth it."""
        form = GQAForm.of(call)
        clusters = clusters_win(form.heads_kv * head_tiles(form.group), call.seqlen_kv)
        return (form, clusters), lambda: cls(form, clusters)

    def __init__(self, form: GQAForm, clusters: bool) -> None:
        """Compile the program for calls of one form on the current device.

        Args:
            form: The form.
            clusters: Whether each tile of query heads has one cluster, where the device has them.
        """
        self._clusters = clusters
        super().__init__(form)

    def built(self, form: GQAForm, facts: DeviceFacts) -> SplitDecode:
        """Compile with one cluster for every tile of query heads, or every block for itself.

        Where there are so many tiles that a cluster would be one block, blocks split the keys.
        """
        if not self._clusters or facts.arch != 90:
            return SplitDecode.built(form, facts)
        cluster = bs1_cluster(form.heads_kv * head_tiles(form.group), facts.sm_count or 1)
        return SplitDecode.built(form, facts, cluster, whole=cluster > 1)


class GQADecodeBs1Kernel(OneSequenceKernel):
    """One sequence of few keys, where what a launch costs besides reading counts."""

    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse long sequences."""
        if call.seqlen_kv > 8192:
            return f"serves seqlen_kv up to 8192, got {call.seqlen_kv}"
        return super().refusal(call)


class GQADecodeLongContextKernel(OneSequenceKernel):
    """One long sequence of 32 heads over 4, dim 128, in float16."""

    preferred_over = frozenset({"gqa_dense_decode_bs1"})

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse all but the one form of call that it is tuned for."""
        if call.seqlen_kv < 1024:
            return f"serves seqlen_kv from 1024, got {call.seqlen_kv}"
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
