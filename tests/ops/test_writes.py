"""Calls that write: torch is told of it, and a buffer lies on nothing that is read."""

from __future__ import annotations

import pytest
import torch
from blend_family import StirFwdOp
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ops.center_family import PlainCenterFwdOp
from tileops.errors import BufferOverlapError, ForwardOnlyError, LazyWriteError, NotATensorError
from tileops.tensor_spec import TensorSpec

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
        message = (
            f"StirFwdOp: out must share no memory with another tensor, got .* memory of {name}"
        )
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


def known_in_other_sizes():
    """An op that knows calls of one to three rows with a buffer."""
    op = PlainCenterFwdOp()
    for rows in (1, 2, 3):
        op(torch.ones(rows, 4), torch.zeros(4), out=torch.empty(rows, 4))
    return op


@pytest.mark.parametrize(
    ("out", "says"),
    [
        pytest.param(lambda m: m[4:8], None, id="the-rows-behind"),
        pytest.param(lambda m: m[3:7], "out must share no .* memory of x", id="the-last-row"),
        pytest.param(lambda m: m[5:9], "total must share no .* memory of out", id="a-written-one"),
        pytest.param(
            lambda m: m.new_zeros(1, 4).expand(4, 4),
            "out must hold every element in a place of its own",
            id="rows-in-one-place",
        ),
        pytest.param(lambda m: m[3:7].t().contiguous().t(), None, id="a-copy"),
    ],
)
def test_a_buffer_of_a_new_size(out, says):
    """It is looked at as far as it reaches itself, not as far as those of other sizes do."""
    op = known_in_other_sizes()
    given = memory(9)
    for _ in range(2):
        before = given.clone()
        if says is None:
            expected, _ = PlainCenterFwdOp()(given[:4].clone())
            result, _ = op(given[:4], given[8].clone(), out=out(given))
            torch.testing.assert_close(result, expected)
            given = before
            continue
        with pytest.raises(BufferOverlapError, match=says):
            op(given[:4], given[8], out=out(given))
        assert torch.equal(given, before)


def test_a_buffer_of_a_new_size_that_negates():
    """It is none of the form that the op knows."""
    op = known_in_other_sizes()
    with pytest.raises(LazyWriteError, match="out must lie in memory as it is read"):
        op(torch.ones(4, 4), torch.zeros(4), out=torch._neg_view(torch.zeros(4, 4)))


def test_an_inference_tensor_of_a_new_size_is_written():
    """torch counts no writes into it, though it did into those of other sizes."""
    op = PlainCenterFwdOp()
    for rows in (1, 2, 3):
        op(torch.ones(rows, 4), torch.zeros(4))
    with torch.inference_mode():
        total = torch.zeros(4)
    op(torch.ones(4, 4), total)
    assert total.tolist() == [1.0] * 4


def test_columns_beside_columns():
    """Where memory is shared in turns, elements are apart, and the call is served."""
    op, given = PlainCenterFwdOp(), memory()
    for _ in range(4):
        x = given[:, :2]
        expected, _ = op(x.clone())
        torch.testing.assert_close(op(x, out=given[:, 2:])[0], expected)


STRIDED = [
    pytest.param(lambda m: (m[:, :2], m[:, 1:3]), id="columns-that-meet"),
    pytest.param(lambda m: (m[:4, :2], m[:4].t()[:2].t()), id="the-same-columns"),
    pytest.param(lambda m: (m[:4], m[:4].t()), id="transposed"),
    pytest.param(lambda m: (m[:4, ::2], m[:4, ::2]), id="every-other-column"),
]


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("case", STRIDED)
def test_a_strided_buffer_on_an_input(case, warm):
    """Strides make no difference to what is read after it was written."""
    op = PlainCenterFwdOp()
    for _ in range(4 * warm):
        x, out = case(memory())
        op(x.clone(), out=torch.empty_strided(out.shape, out.stride()))
    given = memory()
    x, out = case(given)
    for _ in range(2):
        with pytest.raises(BufferOverlapError, match="out must share no memory with another"):
            op(x, out=out)
        assert torch.equal(given, memory())


WRITTEN = [
    pytest.param(lambda m: (m[:4], m[0], None, None), "total", "x", id="on-a-row"),
    pytest.param(lambda m: (m[:4], m[4], m[4], None), "total", "scale", id="on-the-scale"),
    pytest.param(lambda m: (m[:4], m[4], m[4].detach(), None), "total", "scale", id="on-a-view"),
    pytest.param(lambda m: (m[:4], m[5], None, m[4:]), "total", "out", id="on-the-buffer"),
    pytest.param(lambda m: (m[:4], m[4:, 0], m[4], None), "total", "scale", id="on-an-element"),
]


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(("case", "name", "other"), WRITTEN)
def test_a_written_input_on_another_tensor(case, name, other, warm):
    """Both are named, whether such a call is known or not, and nothing is written."""
    op = PlainCenterFwdOp()

    def call(given, apart):
        *inputs, out = case(given)
        if apart:
            inputs = [None if one is None else one.clone() for one in inputs]
        return op(*inputs, out=out)

    for _ in range(4 * warm):
        call(memory(), apart=True)
    given = memory()
    message = f"{name} must share no memory with another tensor, got .* in the memory of {other}"
    for _ in range(2):
        with pytest.raises(BufferOverlapError, match=message):
            call(given, apart=False)
        assert torch.equal(given, memory())


def test_written_inputs_beside_each_other():
    """Rows of one memory are tensors of their own."""
    op, given = PlainCenterFwdOp(), memory()
    for count in range(1, 5):
        op(torch.ones(3, 4), given[1], given[2])
        assert given[1].tolist() == [4 + count, 5 + count, 6 + count, 7 + count]


@pytest.mark.parametrize("name", ["total", "out"])
def test_a_view_that_negates_when_it_is_read(name):
    """A kernel would write the other sign into memory."""
    op, x = PlainCenterFwdOp(), torch.ones(4, 3)
    good = {"total": torch.zeros(3), "out": torch.zeros(4, 3)}
    lazy = torch._neg_view(good[name])
    assert lazy.is_neg()
    for _ in range(3):
        assert op(x, **{name: good[name]})
        with pytest.raises(LazyWriteError, match=f"{name} must lie in memory as it is read"):
            op(x, **{name: lazy})
    assert op(x, **{name: lazy.resolve_neg()})


def test_a_view_that_negates_is_read():
    """What is only read is resolved."""
    op, x = PlainCenterFwdOp(), torch.randn(4, 3)
    for _ in range(3):
        torch.testing.assert_close(op(torch._neg_view(x)), op(-x))


class Watching(TorchDispatchMode):
    """Sees every call of an operator, and lets it through."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_a_view_that_negates_while_torch_watches():
    """Where a call goes through torch's dispatcher, it does and says the same."""
    op, x, total = PlainCenterFwdOp(), torch.randn(4, 3), torch.zeros(3)
    expected = op(-x)
    with Watching():
        torch.testing.assert_close(op(torch._neg_view(x)), expected)
        with pytest.raises(LazyWriteError, match="total must lie in memory as it is read"):
            op(x, total=torch._neg_view(total))
    assert total.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.zeros(4).expand(4, 4), id="rows"),
        pytest.param(lambda: torch.zeros(4, 1).expand(4, 4), id="columns"),
        pytest.param(lambda: torch.zeros(7).as_strided((4, 4), (1, 1)), id="diagonals"),
        pytest.param(lambda: torch.zeros(13).as_strided((4, 4), (3, 1)), id="ends-of-rows"),
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


@pytest.mark.parametrize("warm", [False, True])
def test_a_description_for_a_buffer(warm):
    """A call can be explained from one, and not made."""
    op, x = PlainCenterFwdOp(), torch.ones(4, 3)
    for _ in range(3 * warm):
        op(x, out=torch.empty(4, 3))
    with pytest.raises(NotATensorError, match="out must be a tensor, got a TensorSpec"):
        op(x, out=TensorSpec((4, 3), torch.float32, "cpu"))


def test_fake_buffers_have_no_places():
    """A traced call compares no addresses."""
    op = PlainCenterFwdOp()
    with FakeTensorMode():
        out = torch.empty(4, 3)
        assert op(torch.empty(4, 3), out=out)[0] is out
