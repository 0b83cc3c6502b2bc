"""Calls that write: torch is told of it, and a buffer lies on nothing that is read."""

from __future__ import annotations

import pytest
import torch
from blend_family import StirFwdOp
from torch._subclasses.fake_tensor import FakeTensorMode

from ops.center_family import PlainCenterFwdOp
from tileops.errors import BufferOverlapError, ForwardOnlyError

ROWS = [pytest.param([4] * 6, id="plan"), pytest.param([4, 5, 6, 7], id="form")]


def needed(tensor):
    """Something whose backward still needs the values of a tensor."""
    return (torch.ones_like(tensor, requires_grad=True) * tensor).sum()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("target", [None, "raw-center"])
def test_a_written_input_is_noted_by_autograd(rows, target):
    """A backward that needs what was there is refused, as after a write of torch's own."""
    registry = PlainCenterFwdOp.registry
    if target and target not in registry.targets():

        def build(x, total, scale):
            def run(x, total, scale):
                total.data.add_(1)
                return x - x.mean(0), x.mean(0)

            return run

        registry.register_kernel_builder("PlainCenterFwdOp", target, build)
    op, total = PlainCenterFwdOp(target=target), torch.zeros(3)
    for count in rows:
        before = needed(total)
        op(torch.ones(count, 3), total)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            before.backward()


@pytest.mark.parametrize("rows", ROWS)
def test_a_buffer_is_noted_by_autograd(rows):
    """So is a write into a buffer."""
    op, out = PlainCenterFwdOp(), torch.zeros(7, 3)
    for count in rows:
        before = needed(out)
        op(torch.ones(count, 3), out=out[:count])
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            before.backward()


def test_inputs_that_are_read_are_not_noted():
    """A backward may need them, and gets them."""
    op, x = PlainCenterFwdOp(), torch.ones(4, 3)
    for _ in range(5):
        before = needed(x)
        op(x)
        before.backward()


def test_inference_tensors_are_written():
    """torch counts no writes into these."""
    op = PlainCenterFwdOp()
    with torch.inference_mode():
        total, out = torch.zeros(3), torch.empty(4, 3)
        for count in range(1, 6):
            op(torch.ones(4, 3), total, out=out)
            assert total.tolist() == [count] * 3
    total = torch.zeros(3)
    with torch.inference_mode():
        for count in range(1, 6):
            op(torch.ones(4, 3), total)
            assert total.tolist() == [count] * 3


def memory(rows=8):
    return torch.arange(rows * 4, dtype=torch.float32).view(rows, 4)


OVERLAPS = [
    pytest.param(lambda m: (m[:4], m[:4]), "x", id="the-input"),
    pytest.param(lambda m: (m[:4], m[:4].view(4, 4)), "x", id="a-view-of-the-input"),
    pytest.param(lambda m: (m[:4], m[3:7]), "x", id="its-last-row"),
    pytest.param(lambda m: (m[3:7], m[:4]), "x", id="its-first-row"),
    pytest.param(lambda m: (m[4:], m[:4], m[3]), "scale", id="another-input"),
]
APART = [
    pytest.param(lambda m: (m[:4], m[4:]), id="the-rows-behind"),
    pytest.param(lambda m: (m[4:], m[:4]), id="the-rows-before"),
    pytest.param(lambda m: (m[4:], m[:4], torch.ones(4)), id="memory-of-its-own"),
]


def stirred(op, case):
    x, out, *scale = case(memory())
    return op(x, *scale, out=out)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(("case", "name"), OVERLAPS)
def test_a_buffer_on_an_input(case, name, warm):
    """The input is named, whether such a call is known or not, and nothing is written."""
    op = StirFwdOp()
    if warm:
        for _ in range(4):
            stirred(op, lambda m: [one.clone() for one in case(m)])
    for _ in range(2):
        given = memory()
        x, out, *scale = case(given)
        message = f"StirFwdOp: out must share no memory with an input, got .* memory of {name}"
        with pytest.raises(BufferOverlapError, match=message) as caught:
            op(x, *scale, out=out)
        assert isinstance(caught.value, ValueError)
        assert torch.equal(given, memory())


@pytest.mark.parametrize("case", APART)
def test_a_buffer_beside_the_inputs(case):
    """Parts of one memory are fine."""
    op = StirFwdOp()
    for _ in range(4):
        x, _, *scale = case(memory())
        expected = op(x.clone(), *scale)
        torch.testing.assert_close(stirred(op, case), expected)


def test_columns_beside_columns():
    """Where memory is shared in turns, elements are apart, and the call is served."""
    op, given = PlainCenterFwdOp(), memory()
    for _ in range(4):
        x = given[:, :2]
        expected, _ = op(x.clone())
        torch.testing.assert_close(op(x, out=given[:, 2:])[0], expected)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.zeros(4).expand(4, 4), id="rows"),
        pytest.param(lambda: torch.zeros(4, 1).expand(4, 4), id="columns"),
    ],
)
def test_an_expanded_buffer(make):
    """Its elements would overwrite each other."""
    op = PlainCenterFwdOp()
    with pytest.raises(BufferOverlapError, match="out must hold every element in a place of its"):
        op(torch.ones(4, 4), out=make())
    assert op(torch.ones(4, 4), out=torch.zeros(1, 4).expand(1, 4).repeat(4, 1))


def test_a_buffer_that_requires_a_gradient():
    """It is written where gradients are disabled, and refused elsewhere, as by torch."""
    op, out = PlainCenterFwdOp(), torch.zeros(4, 3, requires_grad=True)
    with pytest.raises(ForwardOnlyError, match="out requires a gradient"):
        op(torch.ones(4, 3), out=out)
    with torch.no_grad():
        assert op(torch.ones(4, 3), out=out)[0] is out


def test_fake_buffers_have_no_places():
    """A traced call compares no addresses."""
    op = PlainCenterFwdOp()
    with FakeTensorMode():
        out = torch.empty(4, 3)
        assert op(torch.empty(4, 3), out=out)[0] is out
