"""An op that cannot be constructed: two of its kernels are general."""

from __future__ import annotations

from acme_blend import BlendFwdInterface, BlendKernel

from tileops.ops.op import Op


class SecondGeneralKernel(BlendKernel):
    """Inherits ``general = True``."""


class MisfitFwdOp(Op):
    """The op."""

    kernel_types = {"one": BlendKernel, "two": SecondGeneralKernel}
    interfaces = {"blend": BlendFwdInterface}
