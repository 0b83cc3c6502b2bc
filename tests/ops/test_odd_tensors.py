"""Tensors that are no plain dense memory, as inputs and as what kernels return."""

from __future__ import annotations

import pytest
import torch
from noting import noting, op_with
from torch._subclasses.fake_tensor import FakeTensorMode

from ops.center_family import PlainCenterFwdOp
from tileops import errors

ODD = {
    "sparse": lambda: torch.ones(3, 8).to_sparse(),
    "sparse-rows": lambda: torch.ones(3, 8).to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2, 8), torch.ones(1, 8)]),
    "jagged": lambda: torch.nested.nested_tensor(
        [torch.ones(2, 8), torch.ones(1, 8)], layout=torch.jagged
    ),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3, 8), 0.1, 0, torch.qint8),
    "meta": lambda: torch.ones(3, 8, device="meta"),
    "uninitialized": torch.nn.UninitializedParameter,
}
INPUT = {"quantised": errors.DtypeMismatchError, "meta": errors.DeviceMismatchError}
RESULT = {"quantised": errors.ResultDtypeError, "meta": errors.ResultDeviceError}


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("place", ["input", "weight"])
@pytest.mark.parametrize("kind", ODD)
def test_as_an_input(kind, place, mode):
    """The error names the tensor, first and later, and plain calls are served before and after."""
    op, x = op_with(a=noting()[0]), torch.ones(3, 8)
    odd = ODD[kind]()
    for _ in range(3):
        assert op(x).shape == (3, 8)
        with mode(), pytest.raises(INPUT.get(kind, errors.NotStridedError), match=place):
            op(odd) if place == "input" else op(x, odd)


def test_a_nested_parameter():
    """The error names it where calls with a plain parameter are recognised."""
    op, x = op_with(a=noting()[0]), torch.ones(3, 8)
    plain, nested = (
        torch.nn.Parameter(one, requires_grad=False) for one in (torch.ones(8), ODD["nested"]())
    )
    for _ in range(4):
        assert op(x, plain).shape == (3, 8)
    with pytest.raises(errors.NotStridedError, match="weight"):
        op(x, nested)


@pytest.mark.parametrize("place", ["input", "weight"])
def test_a_freed_storage(place):
    """A tensor that was freed has no address to read from."""
    op = op_with(a=noting()[0])
    x, weight = torch.ones(3, 8), torch.ones(8)
    freed = x if place == "input" else weight
    freed.untyped_storage().resize_(0)
    with pytest.raises(errors.NoMemoryError, match=f"{place} is a tensor whose storage was freed"):
        op(x, weight)


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        pytest.param((True, False), "input is fake, and weight is not", id="input"),
        pytest.param((False, True), "weight is fake, and input is not", id="weight"),
    ],
)
def test_fake_and_ordinary_tensors_at_once(fake, message):
    """The tensors are named, and a mode that takes both is left to take them."""
    op, mode = op_with(a=noting()[0]), FakeTensorMode()

    def call(mode):
        tensors = (torch.ones(3, 8), torch.ones(8))
        return op(*[mode.from_tensor(t) if f else t for t, f in zip(tensors, fake, strict=True)])

    for _ in range(2):
        with pytest.raises(errors.NoMemoryError, match=f"NotingFwdOp: {message}: it has no memory"):
            call(mode)
    assert call(FakeTensorMode(allow_non_fake_inputs=True)).shape == (3, 8)


def test_ordinary_tensors_where_all_would_be_fake():
    """The mode is said to make everything fake."""
    op, x = op_with(a=noting()[0]), torch.ones(3, 8)
    with FakeTensorMode(), pytest.raises(errors.NoMemoryError, match="fake, and input is not"):
        op(x)


@pytest.mark.parametrize("kind", ODD)
def test_explained(kind):
    """Asking about such a call fails in the same words."""
    op = op_with(a=noting()[0])
    with pytest.raises(INPUT.get(kind, errors.NotStridedError), match="input"):
        op.explain_call(ODD[kind]())


RETURNED = {
    **{
        kind: (make, RESULT.get(kind, errors.ResultNotStridedError), "output returned by Odd")
        for kind, make in ODD.items()
    },
    "transposed": (
        lambda: torch.ones(8, 3).t(),
        errors.ResultNotContiguousError,
        r"must be contiguous, got shape \(3, 8\) with strides \(1, 3\)",
    ),
    "expanded": (
        lambda: torch.ones(8).expand(3, 8),
        errors.ResultNotContiguousError,
        r"must be contiguous, got shape \(3, 8\) with strides \(0, 1\)",
    ),
    "parameter": (
        lambda: torch.nn.Parameter(torch.ones(3, 8)),
        errors.ResultGradientError,
        "must require no gradient",
    ),
    "fake": (
        lambda: FakeTensorMode().from_tensor(torch.ones(3, 8)),
        errors.ResultWithoutMemoryError,
        "must have memory of its own, got FakeTensor",
    ),
}


@pytest.mark.parametrize("kind", RETURNED)
def test_as_a_result(kind):
    """A kernel that returns one is named by the first call of every kind."""
    make, error, message = RETURNED[kind]
    kernel_type, _ = noting(name="Odd")
    good = kernel_type.forward
    kernel_type.forward = lambda self, x, *rest: make() if len(x) == 3 else good(self, x, *rest)
    op = op_with(a=kernel_type)
    with pytest.raises(error, match=message):
        op(torch.ones(3, 8))
    # By the form of a call that was served as well.
    assert op(torch.ones(4, 8)).shape == (4, 8)
    for _ in range(2):
        with pytest.raises(error, match=message):
            op(torch.ones(3, 8))


def test_a_strided_buffer_is_returned_as_it_is():
    """Only what a kernel allocates must be contiguous."""
    op, out = PlainCenterFwdOp(), torch.empty(4, 6)[:, ::2]
    for _ in range(3):
        y, mean = op(torch.ones(4, 3), out=out)
        assert y is out
        assert mean.is_contiguous()
