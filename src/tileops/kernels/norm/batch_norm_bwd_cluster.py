"""BatchNormBwdClusterKernel: the gradients of batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.cluster_channels import ClusterChannels

__all__ = ["BatchNormBwdClusterKernel"]


class BatchNormBwdClusterKernel(ClusterChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of channels held by clusters, read once."""

    general: bool = False
    preferred_over = frozenset({"bwd_wide"})
