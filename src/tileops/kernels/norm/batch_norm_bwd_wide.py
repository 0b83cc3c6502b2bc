"""BatchNormBwdWideKernel: gradients of batch normalization, neighbouring channels on the chip."""

from __future__ import annotations

from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.wide_channels import WideChannels

__all__ = ["BatchNormBwdWideKernel"]


class BatchNormBwdWideKernel(WideChannels, BatchNormBwdKernel):
    """The gradients of batch normalization of neighbouring channels on the chip, read once."""

    general: bool = False
    preferred_over = frozenset({"bwd_whole"})
