"""DenseGQAKernel: what every kernel of dense grouped-query attention demands of a call."""

from __future__ import annotations

from tileops.kernels.attention.gqa.call_spec import AttentionCall, GQADenseFwdInterface
from tileops.kernels.kernel import Kernel

__all__ = ["DenseGQAKernel"]


class DenseGQAKernel(Kernel, GQADenseFwdInterface):
    """A kernel over whole sequences, without rotation, for heads of whole 8-element vectors."""

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse heads that no program is written for, and what none does on the way."""
        if call.dim % 8 != 0:
            return f"serves dim in multiples of 8, got {call.dim}"
        if call.dim > 256:
            return f"serves dim up to 256, got {call.dim}"
        if call.fuse_rope:
            return f"serves positions rotated beforehand, got fuse_rope {call.fuse_rope}"
        if call.window:
            return f"serves whole sequences, got window {call.window}"
        return super().refusal(call)
