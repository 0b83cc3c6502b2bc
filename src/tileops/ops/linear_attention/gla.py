"""GLAFwdOp: gated linear attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.kernels.linear_attention.gla_decode import GLADecodeKernel
from tileops.kernels.linear_attention.gla_partitioned import GLAPartitionedKernel
from tileops.kernels.linear_attention.gla_prefill import GLAPrefillKernel
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["GLAFwdOp"]


class GLAFwdOp(Op):
    """Gated linear attention (Yang et al., 2024, arXiv:2312.06635), forward.

    For every head ``S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T`` and ``o_t = scale * q_t^T S_t``.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "gla_prefill": GLAPrefillKernel,
        "gla_decode": GLADecodeKernel,
        "gla_partitioned": GLAPartitionedKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {"gla": GLAFwdInterface}

    def __init__(self, scale: float | None = None, *, target: str | None = None) -> None:
        """Attend with a scale.

        Args:
            scale: Multiplies the output; None means the reciprocal root of the key's width.
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, scale=scale)
        self.scale: float | None = self.params["scale"]

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend over a sequence, or over its next part; nothing is written in place.

        Passing the final state of one part as the initial state of the next continues a sequence.

        Args:
            q: Queries of shape ``(B, T, H, K)``, float16 or bfloat16.
            k: Keys shaped like *q*, in its dtype.
            v: Values of shape ``(B, T, H, V)`` in the dtype of *q*.
            g: Logarithms of the gates, shaped like *q*, in its dtype. The result where one is
                positive is undefined.
            initial_state: The state to begin with, float32 of shape ``(B, H, K, V)``; None means
                zeros.

        Returns:
            The outputs of shape ``(B, T, H, V)`` in the dtype of *q*, and the state after the last
            step, float32 of shape ``(B, H, K, V)``: two new tensors.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: tuple[torch.Tensor, torch.Tensor] = (
            run(q, k, v, g, initial_state)
            if recognise(q, k, v, g, initial_state)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((q, k, v, g, initial_state))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by every size, the dtype, the scale and whether a state is given."""
        q, v = inputs[0], inputs[2]
        initial_state = inputs[4] if len(inputs) > 4 else None
        batch, seq_len, heads, dim_k = q.shape
        call = GLACall(
            device=q.device,
            batch=batch,
            seq_len=seq_len,
            heads=heads,
            dim_k=dim_k,
            dim_v=v.shape[-1],
            dtype=q.dtype,
            scale=dim_k**-0.5 if self.scale is None else self.scale,
            has_initial_state=initial_state is not None,
        )
        return (("gla", call),)
