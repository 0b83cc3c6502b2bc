"""BatchNormFwdTrainClusterKernel: training batch normalization of channels held by clusters."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.cluster_channels import ClusterChannels

__all__ = ["BatchNormFwdTrainClusterKernel"]


class BatchNormFwdTrainClusterKernel(ClusterChannels, BatchNormFwdTrainKernel):
    """Training batch normalization of channels held by clusters, read once."""

    general: bool = False
    preferred_over = frozenset({"fwd_train_wide"})
