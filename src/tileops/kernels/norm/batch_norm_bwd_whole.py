"""BatchNormBwdWholeKernel: the gradients of batch normalization of whole channels on the chip."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.whole_channels import WholeChannels

__all__ = ["BatchNormBwdWholeKernel"]


class BatchNormBwdWholeKernel(WholeChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of whole channels on the chip, read once."""

    general: bool = False
    preferred_over = frozenset({"bwd_split"})
