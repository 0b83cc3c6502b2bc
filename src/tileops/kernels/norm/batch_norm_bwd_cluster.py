"""BatchNormBwdClusterKernel: the gradients of batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.cluster_channels import ClusterChannels
from tileops.kernels.norm.programs.channel_layout import LARGEST_CLUSTER, ChannelLayout
from tileops.kernels.norm.programs.channel_planes import Planes
from tileops.kernels.norm.programs.standing_layout import (
    BESIDE_PIECES,
    LEAST_IN_TURN,
    LEAST_STANDING,
    LONGEST_STANDING,
    SHORTEST_STANDING,
    STANDING_STEP,
    StandingLayout,
    standing_layout,
)

__all__ = ["BatchNormBwdClusterKernel"]


class BatchNormBwdClusterKernel(ClusterChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of channels held by clusters, read once.

    Channels whose planes are no whole accesses go together, which a cluster reads by whole ones,
    and the blocks of many long channels go on from one to the next.
    """

    general: bool = False
    preferred_over = frozenset({"bwd_wide"})

    @classmethod
    def walk(cls, call: BatchNormCall) -> ChannelLayout | StandingLayout:
        """Stage a slice of a channel in each block, or of several channels in turn."""
        size = cls.streams * call.n * call.spatial * call.itemsize
        if size > LEAST_STANDING and cls.stands(call):
            return standing_layout(cls.planes(call), call.device_facts())
        return super().walk(call)

    @classmethod
    def stands(cls, call: BatchNormCall) -> bool:
        """Let the blocks of long channels stay where there are many."""
        # 256 channels of 3.2 MB took 0.68 of the time that parts of them take.
        plane = call.spatial * call.itemsize
        # As many samples as the block with most has, in each.
        dealt = (call.n + LARGEST_CLUSTER - 1) * plane * cls.streams
        return (
            call.c >= LEAST_IN_TURN
            and SHORTEST_STANDING <= plane <= LONGEST_STANDING
            and plane % STANDING_STEP == 0
            and dealt <= LARGEST_CLUSTER * ((call.smem_budget or 0) - BESIDE_PIECES)
        )

    @classmethod
    def beside(cls, call: BatchNormCall) -> int:
        """Leave channels that go together to blocks of their own only if one could hold two."""
        # 256 planes of 14 x 14 of 1024 channels took 0.87 of the time that a block for each takes.
        return 2 if cls.straddles(call) else 1

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk them by columns, if a block would hold each: so sixteen surely hold four."""
        size = cls.streams * call.n * call.spatial * call.itemsize
        by_columns = call.short or (cls.straddles(call) and size <= cls.room(call))
        return Planes(call.n, call.c, call.spatial, call.itemsize, by_columns, cls.streams)
