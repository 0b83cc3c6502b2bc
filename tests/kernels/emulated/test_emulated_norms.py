"""The row norms' kernels on an emulated device against float64: every way to walk a row."""

from __future__ import annotations

import pytest
import torch

from emulator import EMULATED, emulated_device
from ops.norm import row_norm_references as reference
from tileops.kernels.norm.ada_layer_norm import AdaLayerNormKernel
from tileops.kernels.norm.ada_layer_norm_zero import AdaLayerNormZeroKernel
from tileops.kernels.norm.fused_add_layer_norm import FusedAddLayerNormKernel
from tileops.kernels.norm.fused_add_rms_norm import FusedAddRMSNormKernel
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.kernels.norm.rms_norm import RMSNormKernel

pytestmark = EMULATED

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32


def tensors(rows, n, dtype, count, vectors):
    """Random rows with a mean, then random vectors as wide."""
    generator = torch.Generator().manual_seed(n)
    shapes = [(rows, n)] * count + [(n,)] * vectors
    made = [torch.randn(shape, generator=generator) for shape in shapes]
    return [(one + 0.5).to(dtype) for one in made]


def layer_norm(x, weight, bias):
    return [reference.layer_norm(x, weight, bias, 1e-5)]


def rms_norm(x, weight):
    return [reference.rms_norm(x, weight, 1e-5)]


def fused_add_layer_norm(x, residual, weight, bias):
    total = x + residual
    return [reference.layer_norm(total, weight, bias, 1e-5), total.double()]


def fused_add_rms_norm(x, residual, weight):
    total = x + residual
    return [reference.rms_norm(total, weight, 1e-5), total.double()]


def ada_layer_norm_zero(x, scale, shift, gate):
    return [reference.ada_layer_norm_zero(x, scale, shift, gate, 1e-5)]


# The kernel, how many tensors of rows and how many vectors it takes, and its definition.
LAYER = (LayerNormKernel, 1, 2, layer_norm)
RMS = (RMSNormKernel, 1, 1, rms_norm)
ADD_LAYER = (FusedAddLayerNormKernel, 2, 2, fused_add_layer_norm)
ADD_RMS = (FusedAddRMSNormKernel, 2, 1, fused_add_rms_norm)
ADA = (AdaLayerNormKernel, 3, 0, layer_norm)
ADA_ZERO = (AdaLayerNormZeroKernel, 4, 0, ada_layer_norm_zero)

slow = pytest.mark.slow
POINTS = [
    pytest.param(LAYER, 90, 5, 7, F32, id="layer-90-registers-7-f32"),
    pytest.param(LAYER, 90, 5, 999, BF16, id="layer-90-registers-odd-row-starts"),
    pytest.param(LAYER, 90, 35, 68, F16, id="layer-90-registers-8-byte-accesses"),
    pytest.param(LAYER, 90, 3, 1024, F16, id="layer-90-registers-one-warp"),
    pytest.param(LAYER, 90, 3, 1152, F16, id="layer-90-staged-two-rows"),
    pytest.param(LAYER, 90, 3, 4096, BF16, id="layer-90-staged"),
    pytest.param(LAYER, 90, 2, 7168, F16, id="layer-90-staged-256-lanes", marks=slow),
    pytest.param(LAYER, 90, 2, 65536, BF16, id="layer-90-cluster-of-2"),
    pytest.param(LAYER, 90, 1, 262144, BF16, id="layer-90-cluster-of-8", marks=slow),
    pytest.param(LAYER, 80, 9, 256, F16, id="layer-80-registers"),
    pytest.param(LAYER, 80, 3, 4096, BF16, id="layer-80-staged"),
    pytest.param(LAYER, 80, 2, 90001, F16, id="layer-80-read-again"),
    pytest.param(LAYER, 86, 2, 65536, F16, id="layer-86-read-again", marks=slow),
    pytest.param(LAYER, 89, 3, 4096, F16, id="layer-89-staged", marks=slow),
    pytest.param(RMS, 90, 9, 128, F16, id="rms-90-registers"),
    pytest.param(RMS, 90, 5, 16, BF16, id="rms-90-registers-idle-lanes"),
    pytest.param(RMS, 90, 2, 5000, BF16, id="rms-90-staged"),
    pytest.param(RMS, 90, 1, 65536, F16, id="rms-90-cluster", marks=slow),
    pytest.param(RMS, 80, 2, 2880, BF16, id="rms-80-staged", marks=slow),
    pytest.param(ADD_LAYER, 90, 3, 2880, F16, id="add-layer-90-staged"),
    pytest.param(ADD_LAYER, 90, 1, 32768, BF16, id="add-layer-90-cluster", marks=slow),
    pytest.param(ADD_LAYER, 80, 3, 255, F16, id="add-layer-80-registers", marks=slow),
    pytest.param(ADD_RMS, 90, 5, 256, BF16, id="add-rms-90-registers"),
    pytest.param(ADD_RMS, 90, 3, 513, F16, id="add-rms-90-registers-odd-row-starts"),
    pytest.param(ADD_RMS, 80, 3, 4096, BF16, id="add-rms-80-staged", marks=slow),
    pytest.param(ADA, 90, 3, 3072, BF16, id="ada-90-staged"),
    pytest.param(ADA, 80, 5, 64, F32, id="ada-80-registers-f32", marks=slow),
    pytest.param(ADA_ZERO, 90, 3, 257, F16, id="ada-zero-90-registers-odd-row-starts"),
    pytest.param(ADA_ZERO, 90, 1, 32768, F16, id="ada-zero-90-cluster", marks=slow),
    pytest.param(ADA_ZERO, 80, 2, 3072, BF16, id="ada-zero-80-staged", marks=slow),
]


def check(norm, arch, rows, n, dtype, **how):
    kernel_type, count, vectors, definition = norm
    inputs = tensors(rows, n, dtype, count, vectors)
    with emulated_device(arch, **how):
        kernel = kernel_type(n, 1e-5, dtype)
        outputs = kernel.bind(*inputs)(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for output, expected in zip(outputs, definition(*inputs), strict=True):
        reference.assert_close(output, expected)


@pytest.mark.parametrize(("norm", "arch", "rows", "n", "dtype"), POINTS)
def test_a_norm(norm, arch, rows, n, dtype):
    """It agrees with its definition, and touches nothing beyond its tensors."""
    check(norm, arch, rows, n, dtype)


@pytest.mark.parametrize(
    ("norm", "rows", "n", "how"),
    [
        pytest.param(LAYER, 2, 4096, {"late": True, "seed": 1}, id="staged-late"),
        pytest.param(LAYER, 2, 65536, {"late": True, "seed": 2}, id="cluster-late"),
        pytest.param(LAYER, 2, 4096, {"race": True}, id="staged-race"),
        pytest.param(LAYER, 1, 65536, {"race": True}, id="cluster-race", marks=slow),
        pytest.param(ADD_RMS, 2, 3000, {"race": True}, id="two-streams-race", marks=slow),
    ],
)
def test_a_norms_barriers(norm, rows, n, how):
    """Late copies, another order of threads and the race detector find nothing amiss."""
    check(norm, 90, rows, n, BF16, **how)
