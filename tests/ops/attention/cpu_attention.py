"""Attention by torch on a CPU, registered with an op of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tileops.backend import Registry
from tileops.kernels.attention.gqa.call_spec import GQADenseFwdInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.attention.gqa import GQADenseFwdOp

F32 = torch.float32


class CpuAttention(Kernel, GQADenseFwdInterface):
    """Attention by torch, in float64, of what the interface lets through."""

    devices = frozenset({"cpu"})

    def __init__(self, call):
        super().__init__(call)
        self.call = call

    def forward(self, q, k, v, q_scale, k_scale, v_scale):
        call = self.call
        assert q.shape == (call.batch, call.seqlen_q, call.heads, call.dim)
        assert k.shape == v.shape == (call.batch, call.seqlen_kv, call.heads_kv, call.dim)
        assert q.dtype == k.dtype == v.dtype == call.dtype
        scales = (q_scale, k_scale, v_scale)
        for tensor in (q, k, v, *(scales if call.is_fp8 else ())):
            assert tensor.is_contiguous()
            assert tensor.data_ptr() % 16 == 0
        wide = [one.double() for one in (q, k, v)]
        if call.is_fp8:
            for at, scale in enumerate(scales):
                assert (scale.shape, scale.dtype) == ((call.batch, call.heads_kv), F32)
                group = wide[at].shape[2] // call.heads_kv
                wide[at] = wide[at] * scale.repeat_interleave(group, 1)[:, None, :, None]
        else:
            assert scales == (None, None, None)
        q, k, v = (one.transpose(1, 2) for one in wide)
        hidden = torch.ones(call.seqlen_q, call.seqlen_kv, dtype=torch.bool)
        if call.is_causal:
            hidden = hidden.tril(call.seqlen_kv - call.seqlen_q)
        if call.softcap:
            group = call.heads // call.heads_kv
            scores = q @ k.repeat_interleave(group, 1).transpose(2, 3) * call.softmax_scale
            scores = (scores / call.softcap).tanh() * call.softcap
            scores = scores.masked_fill(~hidden, -torch.inf)
            o = scores.softmax(-1) @ v.repeat_interleave(group, 1)
        else:
            o = F.scaled_dot_product_attention(
                q, k, v, attn_mask=hidden, scale=call.softmax_scale, enable_gqa=True
            )
        return o.transpose(1, 2).to(call.result_dtype).contiguous()


class CpuGQADenseFwdOp(GQADenseFwdOp):
    """The op with a registry of its own."""

    registry = Registry(known_ops=lambda: {"CpuGQADenseFwdOp"}, entry_points=tuple)


CpuGQADenseFwdOp.registry.register_kernel_type("CpuGQADenseFwdOp", "cpu_torch", CpuAttention)
