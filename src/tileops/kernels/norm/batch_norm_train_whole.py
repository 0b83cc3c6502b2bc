"""BatchNormFwdTrainWholeKernel: training batch normalization of whole channels on the chip."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.whole_channels import WholeChannels

__all__ = ["BatchNormFwdTrainWholeKernel"]


class BatchNormFwdTrainWholeKernel(WholeChannels, BatchNormFwdTrainKernel):
    """Training batch normalization of whole channels on the chip, read once."""

    general: bool = False
    preferred_over = frozenset({"fwd_train_split"})
