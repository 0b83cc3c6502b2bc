"""The matrix product by its definition on a CPU, registered with an op of its own."""

from __future__ import annotations

from tileops.backend import Registry
from tileops.kernels.gemm.call_spec import GemmCall, GemmFwdInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.gemm.gemm import GemmFwdOp


class CpuProduct(Kernel, GemmFwdInterface):
    """The product by its definition, for sums that span a vector."""

    devices = frozenset({"cpu"})

    def __init__(self, call: GemmCall) -> None:
        super().__init__(call)
        self.call = call

    @classmethod
    def refusal(cls, call):
        if call.k < 8:
            return f"k must span at least 8 elements, got {call.k}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call):
        return (call.n, call.k, call.dtype, call.trans_a, call.trans_b), lambda: cls(call)

    def forward(self, a, b, out=None):
        call = self.call
        for tensor in (a, b):
            assert tensor.is_contiguous()
            assert tensor.data_ptr() % 16 == 0
            assert tensor.dtype == call.dtype
        assert (a.shape[0] if call.trans_a else a.shape[1]) == call.k
        assert b.shape == ((call.n, call.k) if call.trans_b else (call.k, call.n))
        d = (a.T if call.trans_a else a).float() @ (b.T if call.trans_b else b).float()
        return d.to(call.dtype) if out is None else out.copy_(d)


class CpuGemmFwdOp(GemmFwdOp):
    """The op with a registry of its own."""

    registry = Registry(known_ops=lambda: {"CpuGemmFwdOp"}, entry_points=tuple)


CpuGemmFwdOp.registry.register_kernel_type("CpuGemmFwdOp", "cpu_product", CpuProduct)
