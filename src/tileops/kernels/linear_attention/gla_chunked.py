"""GLAChunkedKernel: where the chunked programs of gated linear attention fit."""

from __future__ import annotations

from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.kernels.linear_attention.gla_kernel import GLAKernel

__all__ = ["GLAChunkedKernel"]

LONGEST = 2**30
"""Steps that are counted in 32 bits, with room for a chunk past the last."""


class GLAChunkedKernel(GLAKernel):
    """A kernel that multiplies chunks of keys, which have to fit a block's shared memory."""

    @classmethod
    def refusal(cls, call: GLACall) -> str | None:
        """Serve keys whose chunk fits, and sequences whose steps can be counted."""
        if call.dim_k == 256 and call.arch != 90:
            return f"serves dim_k 256 on arch 90, got arch {call.arch}"
        if call.seq_len > LONGEST:
            return f"serves seq_len of at most {LONGEST}, got {call.seq_len}"
        return super().refusal(call)
