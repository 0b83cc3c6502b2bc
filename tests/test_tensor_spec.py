"""TensorSpec says of a tensor what torch says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tileops.errors import TensorSpecError
from tileops.tensor_spec import TensorSpec

HALF = torch.float16


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ((-1, 2), HALF, "cuda"),
            "shape must hold counts of 0 or more, below 2..63, got -1",
            id="size",
        ),
        pytest.param(((2**63,), HALF, "cuda"), "shape must hold counts of 0", id="size-of-64-bits"),
        pytest.param(((10**5000,), HALF, "cuda"), "got an int of 16610 bits", id="long-size"),
        pytest.param(((2.0,), HALF, "cuda"), "shape must hold integers, got 2.0", id="fraction"),
        pytest.param(((True,), HALF, "cuda"), "shape must hold integers, got True", id="bool"),
        pytest.param((("2",), HALF, "cuda"), "shape must hold integers, got '2'", id="text"),
        pytest.param((8, HALF, "cuda"), "shape must be a tuple of integers, got 8", id="no-tuple"),
        pytest.param(("48", HALF, "cuda"), "shape must be a tuple of integers", id="a-text"),
        pytest.param((None, HALF, "cuda"), "shape must be a tuple of integers", id="none"),
        pytest.param(
            ((2,), "float16", "cuda"), "dtype must be a torch.dtype, got 'float16'", id="dtype"
        ),
        pytest.param(((2,), None, "cuda"), "dtype must be a torch.dtype, got None", id="no-dtype"),
        pytest.param(
            ((2,), HALF, "gpu"), "device must be a torch.device or its name, got 'gpu'", id="device"
        ),
        pytest.param(((2,), HALF, "cuda:9999"), "its name, got 'cuda:9999'", id="device-index"),
        pytest.param(
            ((2,), HALF, None), "device must be a torch.device or its name", id="no-device"
        ),
        pytest.param(
            ((2, 3), HALF, "cuda", (3,)),
            r"stride must have one stride per dim of \(2, 3\)",
            id="few",
        ),
        pytest.param(
            ((2,), HALF, "cuda", (3, 1)), "stride must have one stride per dim", id="many"
        ),
        pytest.param(
            ((2,), HALF, "cuda", (-1,)), "stride must hold counts of 0 or more", id="negative"
        ),
        pytest.param(((2,), HALF, "cuda", (0.5,)), "stride must hold integers, got 0.5", id="half"),
        pytest.param(
            ((2,), HALF, "cuda", 1), "stride must be a tuple of integers, got 1", id="one"
        ),
    ],
)
def test_what_no_tensor_has(arguments: tuple[Any, ...], message: str) -> None:
    """The member is named with what it must be and what it is."""
    with pytest.raises(TensorSpecError, match=message) as caught:
        TensorSpec(*arguments)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        pytest.param((), (), id="scalar"),
        pytest.param((0, 3), (0, 0), id="empty"),
        pytest.param((2, 3), (0, 1), id="expanded"),
        pytest.param((2**63 - 1,), None, id="largest"),
        pytest.param(torch.Size([2, 3]), (7, 1), id="torch-size"),
        pytest.param((np.int64(2), 3), None, id="numpy"),
    ],
)
def test_what_a_tensor_has(shape: tuple[int, ...], stride: tuple[int, ...] | None) -> None:
    """Sizes become plain integers."""
    spec = TensorSpec(shape, HALF, torch.device("cuda"), stride)
    assert spec.shape == tuple(shape)
    assert {type(size) for size in spec.shape} <= {int}
