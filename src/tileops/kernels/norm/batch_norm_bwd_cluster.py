"""BatchNormBwdClusterKernel: the gradients of batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.cluster_channels import ClusterChannels
from tileops.kernels.norm.programs.channel_layout import ACCESS, LONGEST_COLUMN, Planes

__all__ = ["BatchNormBwdClusterKernel"]


class BatchNormBwdClusterKernel(ClusterChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of channels held by clusters, read once.

    Channels whose planes are no whole accesses go in pairs, which a cluster reads by whole ones.
    """

    general: bool = False
    preferred_over = frozenset({"bwd_wide"})

    @classmethod
    def beside(cls, call: BatchNormCall) -> int:
        """Leave channels that go in pairs to blocks of their own only if one could hold two."""
        # 256 planes of 14 x 14 of 1024 channels took 0.87 of the time that a block for each takes.
        return 2 if cls._paired(call) else 1

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk pairs by columns, if a block would hold each: so sixteen surely hold both."""
        size = cls.streams * call.n * call.spatial * call.itemsize
        by_columns = call.short or (cls._paired(call) and size <= cls.room(call))
        return Planes(call.n, call.c, call.spatial, call.itemsize, by_columns, cls.streams)

    @classmethod
    def _paired(cls, call: BatchNormCall) -> bool:
        return call.spatial <= LONGEST_COLUMN and call.spatial % (ACCESS // call.itemsize) > 0
