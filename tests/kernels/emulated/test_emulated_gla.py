"""Gated linear attention's kernels on an emulated device against float64."""

from __future__ import annotations

import pytest
import torch

from emulator import EMULATED, emulated_device
from ops.linear_attention import gla_references as reference
from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.kernels.linear_attention.gla_decode import GLADecodeKernel
from tileops.kernels.linear_attention.gla_partitioned import GLAPartitionedKernel
from tileops.kernels.linear_attention.gla_prefill import GLAPrefillKernel

pytestmark = EMULATED

F16, BF16 = torch.float16, torch.bfloat16
DECODE, PREFILL, PARTS = GLADecodeKernel, GLAPrefillKernel, GLAPartitionedKernel

slow = pytest.mark.slow


def carry(kernel_type, arch, shape, dtype, *, state=True, **how):
    """Compare outputs and final state with the definition; *shape* is (B, T, H, K, V)."""
    batch, steps, heads, dim_k, dim_v = shape
    q, k, v, g, initial = reference.inputs(shape, dtype, device="cpu", state=state)
    scale = dim_k**-0.5
    with emulated_device(arch, **how) as facts:
        call = GLACall(
            batch=batch,
            seq_len=steps,
            heads=heads,
            dim_k=dim_k,
            dim_v=dim_v,
            dtype=dtype,
            scale=scale,
            has_initial_state=state,
            arch=facts.arch,
            sm_count=facts.sm_count,
            smem_budget=facts.smem_budget,
            device=torch.device("cuda", 0),
        )
        assert kernel_type.refusal(call) is None
        kernel = kernel_type.entry_for(call)[1]()
        o, final = kernel.bind(q, k, v, g, initial)(q, k, v, g, initial)
    expected, left = reference.step_by_step(q, k, v, g, scale, initial)
    reference.assert_near(o, expected, reference.OUTPUT[dtype])
    reference.assert_near(final, left, reference.ONE_STEP if steps == 1 else reference.STATE)


@pytest.mark.parametrize(
    ("kernel_type", "arch", "shape", "dtype", "state"),
    [
        pytest.param(DECODE, 80, (2, 1, 3, 64, 32), F16, True, id="decode-80"),
        pytest.param(DECODE, 90, (1, 1, 2, 256, 128), BF16, False, id="decode-90-no-state"),
        pytest.param(DECODE, 90, (9, 1, 2, 32, 256), F16, True, id="decode-90", marks=slow),
        pytest.param(PREFILL, 80, (1, 70, 2, 64, 64), F16, True, id="80"),
        pytest.param(PREFILL, 80, (1, 33, 1, 32, 128), BF16, False, id="80-narrow", marks=slow),
        pytest.param(PREFILL, 86, (1, 70, 1, 128, 64), F16, True, id="86-wide", marks=slow),
        pytest.param(PREFILL, 90, (2, 1, 1, 64, 64), BF16, False, id="90-one-step"),
        pytest.param(PREFILL, 90, (1, 150, 1, 128, 128), BF16, True, id="90-three-chunks"),
        pytest.param(PREFILL, 90, (1, 100, 1, 256, 64), F16, False, id="90-wide-keys"),
        pytest.param(PREFILL, 90, (1, 65, 1, 32, 32), F16, True, id="90-narrow", marks=slow),
        pytest.param(PARTS, 90, (1, 1030, 1, 64, 64), BF16, True, id="parts-90"),
        pytest.param(PARTS, 90, (1, 1024, 1, 128, 128), F16, False, id="parts-90-128", marks=slow),
        pytest.param(PARTS, 80, (1, 1030, 1, 32, 32), F16, True, id="parts-80", marks=slow),
    ],
)
def test_a_sequence(kernel_type, arch, shape, dtype, state):
    """Outputs and the final state agree with the definition, step by step."""
    carry(kernel_type, arch, shape, dtype, state=state)


@pytest.mark.parametrize(
    ("kernel_type", "shape", "how"),
    [
        pytest.param(PREFILL, (1, 140, 1, 64, 64), {"late": True, "seed": 1}, id="late"),
        pytest.param(PREFILL, (1, 80, 1, 64, 64), {"race": True}, id="race"),
        pytest.param(PARTS, (1, 1030, 1, 64, 64), {"race": True}, id="parts-race", marks=slow),
    ],
)
def test_the_barriers(kernel_type, shape, how):
    """Late copies, another order of threads and the race detector find nothing amiss."""
    carry(kernel_type, 90, shape, BF16, **how)
