"""GemmFwdOp: the product of two matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops.kernels.alignment import like
from tileops.kernels.gemm.call_spec import GemmCall, GemmFwdInterface
from tileops.kernels.gemm.gemm_cp_async import GemmCpAsyncKernel
from tileops.kernels.gemm.gemm_skinny import GemmSkinnyKernel
from tileops.kernels.gemm.gemm_tma import GemmTmaKernel
from tileops.kernels.gemm.gemv import GemvKernel
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops._recognise import modes
from tileops.ops.op import Op, Request

__all__ = ["GemmFwdOp"]


class GemmFwdOp(Op):
    """The matrix product with the semantics of ``torch.mm``, accumulated in float32."""

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {
        "gemm_cp_async": GemmCpAsyncKernel,
        "gemm_tma": GemmTmaKernel,
        "gemm_skinny": GemmSkinnyKernel,
        "gemv": GemvKernel,
    }
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {"gemm": GemmFwdInterface}

    def __init__(
        self, trans_a: bool = False, trans_b: bool = True, *, target: str | None = None
    ) -> None:
        """Multiply matrices that are stored in this layout.

        Args:
            trans_a: Whether the first operand is stored as (k, m) instead of (m, k).
            trans_b: Whether the second is stored as (n, k), as the weight of a linear layer is,
                instead of (k, n).
            target: The target to run on; see `Op`.
        """
        super().__init__(target=target, trans_a=trans_a, trans_b=trans_b)
        self.trans_a: bool = self.params["trans_a"]
        self.trans_b: bool = self.params["trans_b"]

    def __call__(
        self, a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Multiply *a* by *b*; the same inputs give the same bits every time.

        Args:
            a: Shape (m, k), or (k, m) with ``trans_a``, float16 or bfloat16.
            b: Shape (n, k), or (k, n) without ``trans_b``, in the dtype of *a*.
            out: Shape (m, n) in the dtype of *a*, written whole, with any strides; it shares no
                memory with an input. None to allocate.

        Returns:
            *out*, or a new contiguous tensor of shape (m, n).

        Raises:
            SignatureError: A tensor does not fit.
            SelectionError: No kernel is selected; k spans less than 16 bytes, for one.
        """
        if out is not None:
            written: torch.Tensor = self._call((a, b), {"out": out})
            return written
        recognise, run = self._recent
        result: torch.Tensor = (
            run(a, b)
            if recognise(a, b) and not modes() and forward_ad._current_level < 0
            else self._call((a, b))
        )
        return result

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Ask for one kernel by the sizes, the dtype and the layout."""
        a, b = inputs
        call = GemmCall(
            device=a.device,
            m=a.shape[1 if self.trans_a else 0],
            n=b.shape[0 if self.trans_b else 1],
            k=a.shape[0 if self.trans_a else 1],
            dtype=a.dtype,
            trans_a=self.trans_a,
            trans_b=self.trans_b,
        )
        return (("gemm", call),)

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Pass the output buffer by position, which every implementation takes it by."""
        run = kernels[0].bind(*inputs)
        return like(run, lambda a, b, out=None: run(a, b, out))
