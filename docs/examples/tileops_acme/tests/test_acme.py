"""What a user of the backend can rely on, on any machine."""

from __future__ import annotations

import os

import pytest
import torch

from tileops import LayerNormFwdOp
from tileops.backend import BUILTIN, load_failures, registered_targets
from tileops.errors import OpNotAvailableError
from tileops.kernels.norm.call_spec import LayerNormCall


def reference(x, n, weight=None, bias=None):
    """Return layer normalization in float64."""
    wide = [None if t is None else t.double() for t in (weight, bias)]
    return torch.nn.functional.layer_norm(x.double(), (n,), *wide)


def test_the_backend_is_loaded():
    """Its entry point loads without a failure and registers the target."""
    assert load_failures() == ()
    assert "acme" in registered_targets()


@pytest.mark.parametrize("n", [1, 128, 255, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_short_rows_run_on_the_added_implementation(n, dtype):
    """An op on CPU tensors runs through selection."""
    x, weight, bias = torch.randn(5, n, dtype=dtype), *torch.randn(2, n).to(dtype)
    op = LayerNormFwdOp(n)
    y = op(x, weight, bias)
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype]
    expected = reference(x, n, weight, bias)
    torch.testing.assert_close(y.double(), expected, atol=tolerance, rtol=tolerance)
    assert op.serving_target == BUILTIN


@pytest.mark.parametrize(
    ("n", "key"), [(255, "acme_layer_norm_short_rows"), (256, "acme_layer_norm_short_rows")]
)
def test_selection_of_short_rows(n, key):
    """Rows up to the boundary select the added key."""
    assert LayerNormFwdOp(n).key_for("layer_norm", LayerNormCall(n=n, device="cpu")) == key


def test_longer_rows_are_refused_with_the_reason():
    """Beyond the boundary no implementation runs on a CPU."""
    with pytest.raises(OpNotAvailableError, match="at most 256 elements, got 257"):
        LayerNormFwdOp(257)(torch.randn(2, 257))


@pytest.mark.parametrize("n", [128, 4096])
def test_the_target_serves_every_width(n):
    """An op that names the target runs on it, whatever the in-tree kernels would say."""
    op = LayerNormFwdOp(n, target="acme")
    x = torch.randn(3, n)
    torch.testing.assert_close(op(x).double(), reference(x, n), atol=1e-5, rtol=1e-5)
    assert op.serving_target == "acme"


def test_device_facts_are_read():
    """A call spec on the CPU answers with the registered facts."""
    call = LayerNormCall(n=1, device="cpu")
    assert (call.arch, call.sm_count) == (None, os.cpu_count())
