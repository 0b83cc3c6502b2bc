"""Gated linear attention step by step on a CPU, registered with an op of its own."""

from __future__ import annotations

import torch

from tileops.backend import Registry
from tileops.kernels.kernel import Kernel
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.ops.linear_attention.gla import GLAFwdOp


class CpuGLA(Kernel, GLAFwdInterface):
    """The recurrence in float32, step by step."""

    devices = frozenset({"cpu"})

    def __init__(self, call: GLACall) -> None:
        super().__init__(call)
        self.call = call

    def forward(self, q, k, v, g, initial_state):
        call = self.call
        assert q.shape == k.shape == g.shape == (call.batch, call.seq_len, call.heads, call.dim_k)
        assert v.shape == (*q.shape[:3], call.dim_v)
        assert (initial_state is not None) == call.has_initial_state
        for one in (q, k, v, g):
            assert one.is_contiguous()
            assert one.data_ptr() % 16 == 0
            assert one.dtype == call.dtype
        shape = (call.batch, call.heads, call.dim_k, call.dim_v)
        state = torch.zeros(shape)
        if initial_state is not None:
            assert initial_state.is_contiguous()
            assert initial_state.data_ptr() % 16 == 0
            assert initial_state.dtype == torch.float32
            assert initial_state.shape == shape
            state += initial_state
        o = torch.empty_like(v)
        for t in range(call.seq_len):
            state *= g[:, t].float().exp()[..., None]
            state += k[:, t].float()[..., None] * v[:, t].float()[..., None, :]
            read = torch.einsum("bhk,bhkv->bhv", q[:, t].float(), state)
            o[:, t] = (read * call.scale).to(v.dtype)
        return o, state


class CpuGLAFwdOp(GLAFwdOp):
    """The op with a registry of its own."""

    registry = Registry(known_ops=lambda: {"CpuGLAFwdOp"}, entry_points=tuple)


CpuGLAFwdOp.registry.register_kernel_type("CpuGLAFwdOp", "cpu_steps", CpuGLA)
