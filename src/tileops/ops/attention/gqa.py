"""GQADenseFwdOp: grouped-query attention over dense keys and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.attention.gqa.call_spec import AttentionCall, GQADenseFwdInterface
from tileops.kernels.attention.gqa.decode import (
    GQADecodeBs1Kernel,
    GQADecodeKernel,
    GQADecodeLongContextKernel,
)
from tileops.kernels.attention.gqa.fp8 import GQADenseFP8Kernel
from tileops.kernels.attention.gqa.fp8_decode import GQADenseFP8DecodeKernel
from tileops.kernels.attention.gqa.prefill import GQADensePrefillKernel
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops._filled import FILLED
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["GQADenseFwdOp"]


class GQADenseFwdOp(Op):
    """Attention with the semantics of ``scaled_dot_product_attention(..., enable_gqa=True)``.

    Tensors are ``(batch, length, heads, dim)``. The causal mask is aligned to the last query and
    the last key, so that one query of a decoding step sees every key; torch's ``is_causal`` is
    aligned to the first ones. The two agree where there are as many queries as keys.

    Heads have a multiple of 8 elements, up to 256. Fp8 is served on Hopper only. Inputs that are
    not dense are copied first, as several sequences of a longer cache are. What NaN or infinity in
    a masked value does to a result is undefined.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "gqa_dense_decode": GQADecodeKernel,
        "gqa_dense_decode_bs1": GQADecodeBs1Kernel,
        "gqa_dense_decode_long_context": GQADecodeLongContextKernel,
        "gqa_dense_fp8": GQADenseFP8Kernel,
        "gqa_dense_fp8_decode": GQADenseFP8DecodeKernel,
        "gqa_dense_prefill": GQADensePrefillKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {"gqa_dense": GQADenseFwdInterface}

    def __init__(
        self,
        is_causal: bool = False,
        sm_scale: float | None = None,
        softcap: float | None = None,
        out_dtype: torch.dtype | None = None,
        *,
        target: str | None = None,
    ) -> None:
        """Attend with one scale and one kind of mask.

        Args:
            is_causal: Whether query ``i`` of ``n`` sees only the first ``keys - n + i + 1`` keys.
            sm_scale: What scores are multiplied by; None means ``dim ** -0.5``.
            softcap: Bounds scores as ``softcap * tanh(score / softcap)``; None or 0 does not.
            out_dtype: float16 or bfloat16; None means the queries' dtype, for fp8 bfloat16.
            target: The target to run on; see `Op`.
        """
        super().__init__(
            target=target,
            is_causal=is_causal,
            sm_scale=sm_scale,
            softcap=softcap,
            out_dtype=out_dtype,
        )
        self.is_causal: bool = self.params["is_causal"]
        self.sm_scale: float | None = self.params["sm_scale"]
        self.softcap: float = self.params["softcap"] or 0.0
        self.out_dtype: torch.dtype | None = self.params["out_dtype"]

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_scale: torch.Tensor | None = None,
        k_scale: torch.Tensor | None = None,
        v_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Attend; nothing is written in place.

        Args:
            q: Queries of shape ``(B, Sq, H, D)`` in float16, bfloat16 or float8_e4m3fn.
            k: Keys of shape ``(B, Skv, Hkv, D)`` in the queries' dtype, at least one.
            v: Values like the keys.
            q_scale: What fp8 queries stand multiplied by: ``(B, Hkv)`` in float32, a factor for
                all query heads of a key head. None means ones, as for 16-bit queries it must.
            k_scale: The same for keys.
            v_scale: The same for values.

        Returns:
            A new tensor shaped like *q*.

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected.
        """
        recognise, run = self._recent
        result: torch.Tensor = (
            run(q, k, v, q_scale, k_scale, v_scale)
            if recognise(q, k, v, q_scale, k_scale, v_scale)
            and not modes()
            and forward_ad._current_level < 0
            else self._call((q, k, v, q_scale, k_scale, v_scale))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by sizes, dtypes, and what the op was made with."""
        q, k = inputs[:2]
        batch, seqlen_q, heads, dim = q.shape
        call = AttentionCall(
            device=q.device,
            dtype=q.dtype,
            batch=batch,
            heads=heads,
            heads_kv=k.shape[2],
            dim=dim,
            seqlen_q=seqlen_q,
            seqlen_kv=k.shape[1],
            is_causal=self.is_causal,
            sm_scale=self.sm_scale,
            softcap=self.softcap,
            is_fp8=q.dtype == torch.float8_e4m3fn,
            out_dtype=self.out_dtype,
        )
        return (("gqa_dense", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Pass ones for the scales that fp8 inputs come without."""
        (kernel,) = kernels
        q, k, v, *scales = inputs
        assert q is not None
        assert k is not None
        if q.dtype != torch.float8_e4m3fn or all(one is not None for one in scales):
            return kernel.bind(*inputs)
        ones = FILLED.of(1.0, (q.shape[0], k.shape[2]), torch.float32, q.device)
        given = [ones if one is None else one for one in scales]
        run = kernel.bind(q, k, v, *given)

        def run_with_ones(
            q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor | None
        ) -> Any:
            return run(q, k, v, *(ones if one is None else one for one in scales))

        return like(run, run_with_ones)
