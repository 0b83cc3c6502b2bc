"""Results are checked like inputs: number, shape, dtype, device, memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tileops.errors import (
    AliasingError,
    ResultCountError,
    ResultDeviceError,
    ResultDtypeError,
    ResultError,
    ResultGradientError,
    ResultNotContiguousError,
    ResultNotStridedError,
    ResultShapeError,
    ResultTypeError,
    ResultWithoutMemoryError,
)
from tileops.ops._signature import CallChecks, check_results, empty_outputs

Make = Callable[..., CallChecks]

X = torch.ones(4, 8, dtype=torch.float16)
W = torch.ones(8, dtype=torch.float16)


def y(*shape: int, dtype: torch.dtype = torch.float16, device: str = "cpu") -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        pytest.param(
            None, ResultCountError, "a kernel must return one tensor (output), got None", id="none"
        ),
        pytest.param(
            (y(4, 8),),
            ResultCountError,
            "a kernel must return one tensor (output), got a tuple of 1",
            id="a-tuple-of-one",
        ),
        pytest.param(
            (y(4, 8), y(4, 8)),
            ResultCountError,
            "a kernel must return one tensor (output), got a tuple of 2",
            id="two",
        ),
        pytest.param(
            3,
            ResultTypeError,
            "output returned by a kernel must be a tensor, got 3 (int)",
            id="a-number",
        ),
        pytest.param(
            y(4, 7),
            ResultShapeError,
            "output returned by a kernel must have shape (4, 8), got (4, 7)",
            id="shape",
        ),
        pytest.param(
            y(4, 8, dtype=torch.float32),
            ResultDtypeError,
            "output returned by a kernel must have dtype float16, got float32",
            id="dtype",
        ),
        pytest.param(
            y(4, 8, device="meta"),
            ResultDeviceError,
            "output returned by a kernel must be on cpu, got meta",
            id="device",
        ),
        pytest.param(
            y(4, 8).to_sparse(),
            ResultNotStridedError,
            "output returned by a kernel must be a tensor with strides, got torch.sparse_coo",
            id="sparse",
        ),
        pytest.param(
            torch.nested.nested_tensor([y(4, 8)]),
            ResultNotStridedError,
            "output returned by a kernel must be a tensor with strides, got a nested tensor",
            id="nested",
        ),
        pytest.param(
            torch.quantize_per_tensor(y(4, 8).float(), 0.1, 0, torch.qint8),
            ResultDtypeError,
            "output returned by a kernel must have dtype float16, got qint8",
            id="quantised",
        ),
        pytest.param(
            y(8, 4).t(),
            ResultNotContiguousError,
            "output returned by a kernel must be contiguous, got shape (4, 8) with strides (1, 4)",
            id="transposed",
        ),
        pytest.param(
            y(1, 8).expand(4, 8),
            ResultNotContiguousError,
            "output returned by a kernel must be contiguous, got shape (4, 8) with strides (0, 1)",
            id="expanded",
        ),
        pytest.param(
            y(40).as_strided((4, 8), (1, 1)),
            ResultNotContiguousError,
            "output returned by a kernel must be contiguous, got shape (4, 8) with strides (1, 1)",
            id="overlapping",
        ),
        pytest.param(
            torch._neg_view(y(4, 8)),
            ResultNotContiguousError,
            "output returned by a kernel must be contiguous, "
            "got a view that negates or conjugates when it is read",
            id="negated",
        ),
        pytest.param(
            y(4, 8).requires_grad_(),
            ResultGradientError,
            "output returned by a kernel must require no gradient, since the op says what its "
            "backward is, got one that requires it",
            id="requires-a-gradient",
        ),
        pytest.param(
            FakeTensorMode().from_tensor(y(4, 8)),
            ResultWithoutMemoryError,
            "output returned by a kernel must have memory of its own, got FakeTensor, a wrapper "
            "that traces or distributes another tensor",
            id="fake",
        ),
        pytest.param(
            X,
            AliasingError,
            "output returned by a kernel must be a new tensor, got one in the memory of input",
            id="the-input",
        ),
        pytest.param(
            X.flip(0).new_zeros(0).set_(X.untyped_storage(), 0, (4, 8), (8, 1)),
            AliasingError,
            "output returned by a kernel must be a new tensor, got one in the memory of input",
            id="a-view-of-the-input",
        ),
    ],
)
def test_one_result(checks: Make, result: Any, error: type[ResultError], message: str) -> None:
    """The error names op, output, implementation, requirement and value."""
    call = checks("LayerNorm", normalized_shape=8).check((X, W))

    with pytest.raises(error) as caught:
        check_results(call, result, (X, W, None), source="a kernel")

    assert str(caught.value) == f"LayerNormFwdOp: {message}"
    assert caught.value.source == "a kernel"


def test_a_gradient_that_a_target_records(checks: Make) -> None:
    """It may be on a target's result."""
    call = checks("LayerNorm", normalized_shape=8).check((X, W))
    result = y(4, 8).requires_grad_()
    assert check_results(call, result, (X, W, None), source="a target", recorded=True)


def test_good_results_come_back_in_order(checks: Make) -> None:
    """A tensor alone for one output, a tuple or a list for several."""
    one = y(4, 8)
    call = checks("LayerNorm", normalized_shape=8).check((X, W))
    assert check_results(call, one, (X, W, None), source="a kernel") == (one,)

    fused = checks("FusedAddLike").check((X, X, W))
    pair = [y(4, 8), y(4, 8)]
    assert check_results(fused, pair, (X, X, W), source="a kernel") == tuple(pair)


@pytest.mark.parametrize(
    ("results", "error", "name"),
    [
        pytest.param(y(4, 8), ResultCountError, "results", id="one-for-two"),
        pytest.param((y(4, 8), y(8, 4)), ResultShapeError, "residual_out", id="second-shape"),
        pytest.param((y(4, 8), X), AliasingError, "residual_out", id="second-is-an-input"),
        pytest.param((None, y(4, 8)), ResultTypeError, "output", id="first-is-none"),
    ],
)
def test_two_results(checks: Make, results: Any, error: type[ResultError], name: str) -> None:
    """Each of several results is checked against its own declaration."""
    call = checks("FusedAddLike").check((X, X, W))

    with pytest.raises(error) as caught:
        check_results(call, results, (X, X, W), source="a kernel")

    assert caught.value.tensor == name


def test_two_results_in_one_memory(checks: Make) -> None:
    """Two outputs that share memory would change together."""
    both = y(2, 4, 8)
    call = checks("FusedAddLike").check((X, X, W))

    with pytest.raises(AliasingError, match=r"residual_out .* must be a new tensor, got one in"):
        check_results(call, (both[0], both[1]), (X, X, W), source="a kernel")


def test_a_buffer_is_the_output(checks: Make) -> None:
    """The implementation writes the buffer and returns it; anything else is refused."""
    a, out = y(4, 8), y(4, 4)
    call = checks("GemmLike").check((a, a), {"out": out})

    assert check_results(call, out, (a, a), {"out": out}, source="a kernel") == (out,)
    assert check_results(call, out.view(4, 4), (a, a), {"out": out}, source="a kernel")
    with pytest.raises(AliasingError, match="d returned by a kernel must be the buffer passed as"):
        check_results(call, y(4, 4), (a, a), {"out": out}, source="a kernel")


def test_conditional_results(checks: Make) -> None:
    """In inference mean and rstd are no results; in training they are float32."""
    x, mu = y(2, 8, 4), y(8, dtype=torch.float32)
    infer = checks("BatchLike").check((x, mu, mu))
    train = checks("BatchLike", training=True).check((x, None, None))
    new = y(2, 8, 4)

    assert check_results(infer, new, (x, mu, mu, None), source="a kernel") == (new,)
    with pytest.raises(ResultCountError, match=r"must return 3 tensors \(output, mean, rstd\)"):
        check_results(train, new, (x, None, None, None), source="a kernel")
    with pytest.raises(ResultDtypeError, match="mean returned by a kernel must have dtype float32"):
        check_results(train, (new, y(8), y(8)), (x, None, None, None), source="a kernel")


def test_an_input_given_back_is_no_result(checks: Make) -> None:
    """The implementation of an in-place op returns nothing; its input is the op's output."""
    x, scale = y(4), y(dtype=torch.float32)
    call = checks("InplaceLike").check((x, scale))

    (found,) = check_results(call, None, (x, scale), source="a kernel")
    assert found is x
    with pytest.raises(ResultCountError, match="a kernel must return None, got a tensor float16"):
        check_results(call, x, (x, scale), source="a kernel")


def test_empty_results_share_no_memory(checks: Make) -> None:
    """Tensors without elements all lie nowhere, which is no aliasing."""
    x = y(0, 8)
    call = checks("LayerNorm", normalized_shape=8).check((x,))

    assert check_results(call, y(0, 8), (x, None, None), source="a kernel")


def test_empty_outputs(checks: Make) -> None:
    """Outputs are made from the signature; a buffer or an input given back is the output."""
    x = y(0, 8)
    (made,) = empty_outputs(checks("LayerNorm", normalized_shape=8).check((x,)), (x, None, None))
    assert (made.shape, made.dtype, made.device.type) == ((0, 8), torch.float16, "cpu")

    a, out = y(0, 8), y(0, 0)
    (buffer,) = empty_outputs(checks("GemmLike").check((a, a), {"out": out}), (a, a), {"out": out})
    assert buffer is out

    nothing, scale = y(0), y(dtype=torch.float32)
    (same,) = empty_outputs(checks("InplaceLike").check((nothing, scale)), (nothing, scale))
    assert same is nothing


def test_empty_outputs_of_a_call_with_elements(checks: Make) -> None:
    """The same outputs serve a traced call, which computes nothing."""
    call = checks("BatchLike", training=True).check((y(2, 8, 4), None, None))

    made = empty_outputs(call, (y(2, 8, 4), None, None, None))

    assert [tuple(one.shape) for one in made] == [(2, 8, 4), (8,), (8,)]
    assert [one.dtype for one in made] == [torch.float16, torch.float32, torch.float32]
