"""BatchNormBwdClusterKernel: the gradients of batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.cluster_channels import ClusterChannels
from tileops.kernels.norm.programs.channel_layout import ACCESS, LONGEST_COLUMN, Planes

__all__ = ["BatchNormBwdClusterKernel"]


class BatchNormBwdClusterKernel(ClusterChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of channels held by clusters, read once.

    Channels of which a multiprocessor would hold one by itself go in pairs where their planes are
    no whole accesses, so that a cluster reads both by whole ones.
    """

    general: bool = False
    preferred_over = frozenset({"bwd_wide"})

    @classmethod
    def refusal(cls, call: BatchNormCall) -> str | None:
        """Serve pairs, however many; refuse what every kernel of clusters refuses."""
        return None if cls._in_pairs(call) else super().refusal(call)

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk pairs by columns."""
        by_columns = call.short or cls._in_pairs(call)
        return Planes(call.n, call.c, call.spatial, call.itemsize, by_columns, cls.streams)

    @classmethod
    def _in_pairs(cls, call: BatchNormCall) -> bool:
        # 256 planes of 14 x 14 of 1024 channels took 0.87 of the time that a block for each takes.
        if call.short or call.spatial > LONGEST_COLUMN:
            return False
        plane, room = call.spatial * call.itemsize, cls.room(call)
        return plane % ACCESS > 0 and room // 2 < cls.streams * call.n * plane <= room
