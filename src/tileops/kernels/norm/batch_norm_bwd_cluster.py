"""BatchNormBwdClusterKernel: the gradients of batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.call_spec import BatchNormCall
from tileops.kernels.norm.cluster_channels import ClusterChannels
from tileops.kernels.norm.programs.channel_layout import (
    ACCESS,
    LARGEST_CLUSTER,
    LONGEST_COLUMN,
    ChannelLayout,
    Planes,
)
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
    def layout(cls, call: BatchNormCall) -> ChannelLayout | StandingLayout:
        """Stage a slice of a channel in each block."""
        if cls.stands(call):
            return standing_layout(cls.planes(call), call.device_facts())
        return super().layout(call)

    @classmethod
    def stands(cls, call: BatchNormCall) -> bool:
        """Let the blocks of long channels stay where there are many."""
        # 256 channels of 3.2 MB took 0.68 of the time that parts of them take.
        plane = call.spatial * call.itemsize
        slice_ = (call.n + LARGEST_CLUSTER - 1) // LARGEST_CLUSTER * plane * cls.streams
        return (
            call.c >= LEAST_IN_TURN
            and call.n * plane * cls.streams > LEAST_STANDING
            and SHORTEST_STANDING <= plane <= LONGEST_STANDING
            and plane % STANDING_STEP == 0
            and slice_ <= (call.smem_budget or 0) - BESIDE_PIECES
        )

    @classmethod
    def beside(cls, call: BatchNormCall) -> int:
        """Leave channels that go together to blocks of their own only if one could hold two."""
        # 256 planes of 14 x 14 of 1024 channels took 0.87 of the time that a block for each takes.
        uneven = call.spatial % (ACCESS // call.itemsize) > 0
        return 2 if call.spatial <= LONGEST_COLUMN and uneven else 1

    @classmethod
    def planes(cls, call: BatchNormCall) -> Planes:
        """Walk them by columns, if a block would hold each: so sixteen surely hold four."""
        by_columns = call.short or cls.straddles(call)
        return Planes(call.n, call.c, call.spatial, call.itemsize, by_columns, cls.streams)
