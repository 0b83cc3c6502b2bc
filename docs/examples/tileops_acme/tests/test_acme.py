"""What a user of the backend can rely on, on any machine."""

from __future__ import annotations

import os

import pytest
import torch

from tileops import LayerNormFwdOp, RMSNormFwdOp
from tileops.backend import BUILTIN, load_failures, registered_targets
from tileops.errors import OpNotAvailableError
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.testing import assert_selects, selection_cases

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def arguments(shape, n, dtype):
    """Return an input, a weight and a bias."""
    return torch.randn(*shape, dtype=dtype), *torch.randn(2, n).to(dtype)


def check(y, x, n, weight=None, bias=None, eps=1e-5):
    """Compare with layer normalization in float64."""
    wide = [None if t is None else t.double() for t in (weight, bias)]
    expected = torch.nn.functional.layer_norm(x.double(), (n,), *wide, eps)
    tolerance = TOLERANCE[x.dtype]
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    torch.testing.assert_close(y.double(), expected, atol=tolerance, rtol=tolerance)


@pytest.fixture(autouse=True)
def loaded():
    """Load the installed backends, as the first op does."""
    assert load_failures() == ()


def test_the_backend_is_loaded():
    """Its entry point registers the target."""
    assert "acme" in registered_targets()


@pytest.mark.parametrize("n", [1, 128, 255, 256])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_short_rows_run_on_the_added_implementation(n, dtype):
    """An op on CPU tensors runs through selection."""
    x, weight, bias = arguments((5, n), n, dtype)
    op = LayerNormFwdOp(n, eps=1e-3)
    check(op(x, weight, bias), x, n, weight, bias, eps=1e-3)
    assert op.serving_target == BUILTIN


@pytest.mark.parametrize("given", ["neither", "weight", "bias"])
def test_the_added_implementation_without_affine_parameters(given):
    """The op passes ones and zeros for what is absent."""
    x, weight, bias = arguments((2, 3, 8), 8, torch.float32)
    weight, bias = (weight if given == "weight" else None), (bias if given == "bias" else None)
    check(LayerNormFwdOp(8)(x, weight, bias), x, 8, weight, bias)


@selection_cases(LayerNormFwdOp)
def test_selection_beside_every_boundary(case):
    """On a CPU, rows of up to 256 elements select the added key, and longer ones none."""
    assert case.call.device_type == "cpu"
    key = "acme_layer_norm_short_rows" if case.call.n <= 256 else None
    assert_selects(case.op, case.interface, case.call, key)


@pytest.mark.parametrize("n", [1, 256, 257])
def test_calls_on_a_gpu_are_not_taken_over(n):
    """On CUDA the in-tree implementation is selected as before."""
    assert_selects(LayerNormFwdOp, "layer_norm", LayerNormCall(n=n, arch=90), "layer_norm")


def test_longer_rows_are_refused_with_the_reason():
    """Beyond the boundary no implementation runs on a CPU."""
    with pytest.raises(OpNotAvailableError, match="at most 256 elements, got 257"):
        LayerNormFwdOp(257)(torch.randn(2, 257))


@pytest.mark.parametrize("n", [128, 4096])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_target_serves_every_width(n, dtype):
    """An op that names the target runs on it, whatever the in-tree kernels would say."""
    x, weight, bias = arguments((3, n), n, dtype)
    op = LayerNormFwdOp(n, target="acme")
    check(op(x, weight, bias), x, n, weight, bias)
    check(op(x), x, n)
    assert op.serving_target == "acme"


@pytest.mark.parametrize("eps", [None, 1e-6])
@pytest.mark.parametrize("n", [64, 2880])
def test_the_target_serves_rms_norm(n, eps):
    """The target serves RMSNormFwdOp too, its optional weight and epsilon included."""
    x, weight = torch.randn(5, n), torch.randn(n)
    op = RMSNormFwdOp(n, eps, target="acme")
    wide = x.double()
    added = torch.finfo(torch.float32).eps if eps is None else eps
    expected = wide / (wide.square().mean(-1, keepdim=True) + added).sqrt()
    torch.testing.assert_close(op(x).double(), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(op(x, weight).double(), expected * weight, atol=1e-5, rtol=1e-5)
    assert op.serving_target == "acme"


def test_device_facts_are_read():
    """A call spec on the CPU answers with the registered facts."""
    call = LayerNormCall(n=1, device="cpu")
    assert (call.arch, call.sm_count) == (None, os.cpu_count())
