"""BatchNormFwdTrainWideKernel: batch normalization of neighbouring channels on the chip."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.wide_channels import WideChannels

__all__ = ["BatchNormFwdTrainWideKernel"]


class BatchNormFwdTrainWideKernel(WideChannels, BatchNormFwdTrainKernel):
    """Training batch normalization of neighbouring channels on the chip, read once."""

    general: bool = False
    preferred_over = frozenset({"fwd_train_whole"})
