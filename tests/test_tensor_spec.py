"""TensorSpec says of a tensor what torch says."""

from __future__ import annotations

import pytest
import torch

from tileops.tensor_spec import TensorSpec


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(torch.empty(3, 4), id="contiguous"),
        pytest.param(torch.empty(4, 3).t(), id="transposed"),
        pytest.param(torch.empty(4, 3)[:, :2], id="padded-rows"),
        pytest.param(torch.empty(1, 4).expand(3, 4), id="expanded"),
        pytest.param(torch.empty(4, 1).t(), id="size-one-dim"),
        pytest.param(torch.empty_strided((1, 4), (7, 1)), id="stride-of-size-one-unused"),
        pytest.param(torch.empty(0, 4).t(), id="empty"),
        pytest.param(torch.empty(()), id="scalar"),
        pytest.param(torch.empty(8, dtype=torch.float8_e4m3fn)[::2], id="stepped"),
    ],
)
def test_of_describes_the_tensor(tensor: torch.Tensor) -> None:
    """Shape, strides, dtype, device, sizes and contiguity are those of the tensor."""
    spec = TensorSpec.of(tensor)

    assert spec.shape == tuple(tensor.shape)
    assert spec.stride == tensor.stride()
    assert spec.dtype is tensor.dtype
    assert spec.device == tensor.device
    assert (spec.ndim, spec.numel, spec.nbytes) == (tensor.ndim, tensor.numel(), tensor.nbytes)
    assert spec.is_contiguous == tensor.is_contiguous()


def test_a_description_is_its_own_description() -> None:
    """``of`` returns a description unchanged, so callers need not know which they hold."""
    spec = TensorSpec((2, 3), torch.float16, torch.device("cuda:1"))

    assert TensorSpec.of(spec) is spec


def test_without_strides_it_stands_for_a_contiguous_tensor() -> None:
    """Lists and device names are converted, so equal descriptions compare equal."""
    spec = TensorSpec([2, 3], torch.float16, "cuda:1")  # type: ignore[arg-type]

    assert spec == TensorSpec((2, 3), torch.float16, torch.device("cuda", 1))
    assert spec.is_contiguous
    assert hash(spec) == hash(TensorSpec((2, 3), torch.float16, torch.device("cuda", 1)))
    assert str(spec) == "float16[2, 3] on cuda:1"
