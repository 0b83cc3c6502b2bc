"""GLAFwdOp's own part of a call, with a registered CPU implementation for the rest.

The implementation checks what the interface promises it; the expected values follow the
definition in float64.
"""

import pytest
import torch

from ops.linear_attention.cpu_gla import CpuGLAFwdOp
from ops.linear_attention.gla_references import assert_near, inputs, step_by_step
from tileops.errors import (
    DtypeMismatchError,
    MissingInputError,
    RefinementError,
    ShapeMismatchError,
    TooManyInputsError,
)
from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.ops.linear_attention.gla import GLAFwdOp

BOUNDS = {torch.float16: 1e-3, torch.bfloat16: 8e-3}


def given(shape=(2, 5, 3, 32, 64), dtype=torch.float16, **options):
    return inputs(shape, dtype, device="cpu", **options)


def check(op, q, k, v, g, state=None, scale=None):
    """Call *op* and compare with the definition; the inputs stay as they are."""
    before = [None if one is None else one.clone() for one in (q, k, v, g, state)]
    o, final = op(q, k, v, g, state) if state is not None else op(q, k, v, g)
    expected, expected_final = step_by_step(
        *before[:4], q.shape[3] ** -0.5 if scale is None else scale, before[4]
    )
    assert_near(o, expected, BOUNDS[q.dtype])
    assert_near(final, expected_final, 1e-5)
    assert (o.dtype, final.dtype) == (q.dtype, torch.float32)
    assert o.is_contiguous()
    assert final.is_contiguous()
    for one, same in zip((q, k, v, g, state), before, strict=True):
        assert one is None or torch.equal(one, same)
    return o, final


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((1, 1, 1, 32, 32), id="one-step"),
        pytest.param((2, 5, 3, 32, 64), id="wide-values"),
        pytest.param((1, 4, 2, 64, 32), id="wide-keys"),
        pytest.param((3, 2, 1, 8, 16), id="other-widths"),
    ],
)
@pytest.mark.parametrize("state", [False, True], ids=["from-zeros", "continued"])
def test_shapes(shape, dtype, state):
    """Outputs and final state have the shapes and values of the definition."""
    check(CpuGLAFwdOp(), *given(shape, dtype, state=state))


@pytest.mark.parametrize("scale", [None, 1.0, 0.25, 0.0])
def test_scale(scale):
    """The scale reaches the kernel; None is the reciprocal root of the key's width."""
    check(CpuGLAFwdOp(scale), *given(), scale=scale)


def test_a_whole_number_is_a_scale():
    """The constructor takes 2 for 2.0."""
    assert CpuGLAFwdOp(2).scale == 2.0


@pytest.mark.parametrize("cut", [0, 1, 3, 5])
def test_a_sequence_in_two_parts(cut):
    """Passing the final state on continues a sequence, wherever it is cut."""
    op = CpuGLAFwdOp()
    q, k, v, g, state = given()
    o, final = op(q, k, v, g, state)
    first, between = op(q[:, :cut], k[:, :cut], v[:, :cut], g[:, :cut], state)
    second, last = op(q[:, cut:], k[:, cut:], v[:, cut:], g[:, cut:], between)
    assert torch.equal(torch.cat((first, second), 1), o)
    assert torch.equal(last, final)


@pytest.mark.parametrize("state", [False, True], ids=["from-zeros", "continued"])
def test_no_step(state):
    """Without a step there is no output, and the final state is a copy of the initial one."""
    q, k, v, g, initial = given((2, 0, 3, 32, 64), state=state)
    o, final = CpuGLAFwdOp()(q, k, v, g, initial)
    assert o.shape == (2, 0, 3, 64)
    expected = torch.zeros(2, 3, 32, 64) if initial is None else initial
    assert torch.equal(final, expected)
    assert initial is None or final.data_ptr() != initial.data_ptr()


def test_no_batch():
    """Without a batch element nothing runs and nothing is built."""
    op = CpuGLAFwdOp()
    o, final = op(*given((0, 5, 3, 32, 64)))
    assert o.shape == (0, 5, 3, 64)
    assert (final.shape, final.dtype) == ((0, 3, 32, 64), torch.float32)
    assert list(op.iter_kernels()) == []


def heads_first(tensor):
    """The same values in memory ordered (B, H, T, K)."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def test_layouts():
    """Views of tensors whose heads come first, and misaligned states, are made dense."""
    op = CpuGLAFwdOp()
    for _ in range(3):
        q, k, v, g, state = given()
        check(op, *(heads_first(one) for one in (q, k, v, g)), state)
        flat = torch.empty(state.numel() + 1)
        shifted = flat[1:].view(state.shape)
        shifted.copy_(state)
        check(op, q, k, v, g, shifted)
        check(op, q, k, v, g, state.transpose(2, 3).contiguous().transpose(2, 3))


def test_presence_may_change_between_calls():
    """One instance serves calls with and without a state in turn."""
    op = CpuGLAFwdOp()
    q, k, v, g, state = given()
    for _ in range(3):
        check(op, q, k, v, g, state)
        check(op, q, k, v, g)


def test_requests_are_a_function_of_descriptions():
    """The request is known from shapes, dtype and device, on a machine without them."""
    q = torch.empty(2, 7, 3, 64, device="meta", dtype=torch.bfloat16)
    v = torch.empty(2, 7, 3, 128, device="meta", dtype=torch.bfloat16)
    state = torch.empty(2, 3, 64, 128, device="meta")
    facts = {"batch": 2, "seq_len": 7, "heads": 3, "dim_k": 64, "dim_v": 128}
    call = GLACall("meta", **facts, dtype=torch.bfloat16, scale=0.125)
    assert GLAFwdOp().requests(q, q, v, q) == (("gla", call),)
    assert GLAFwdOp().requests(q, q, v, q, None) == (("gla", call),)
    continued = call.with_facts(has_initial_state=True, scale=3.0)
    assert GLAFwdOp(3.0).requests(q, q, v, q, state) == (("gla", continued),)


def changed(place, make):
    """Inputs of which one is made another."""
    tensors = list(given())
    tensors[place] = make(tensors[place])
    return tensors


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        pytest.param(changed(0, lambda one: None), MissingInputError, "q must be given", id="no-q"),
        pytest.param(changed(3, lambda one: None), MissingInputError, "g must be given", id="no-g"),
        pytest.param(
            changed(0, lambda one: one.float()),
            DtypeMismatchError,
            "q must have dtype float16 or bfloat16.* got float32",
            id="float32-data",
        ),
        pytest.param(
            changed(1, lambda one: one.bfloat16()),
            DtypeMismatchError,
            "k must have dtype float16.* got bfloat16",
            id="mixed-dtypes",
        ),
        pytest.param(
            changed(3, lambda one: one.float()),
            DtypeMismatchError,
            "g must have dtype float16.* got float32",
            id="float32-gates",
        ),
        pytest.param(
            changed(4, lambda one: one.half()),
            DtypeMismatchError,
            "initial_state must have dtype float32, got float16",
            id="16-bit-state",
        ),
        pytest.param(
            changed(1, lambda one: one[:, :4]),
            ShapeMismatchError,
            "k must have shape .* got \\(2, 4, 3, 32\\)",
            id="fewer-keys",
        ),
        pytest.param(
            changed(2, lambda one: one[:, :, :2]),
            ShapeMismatchError,
            "v must have shape .* got \\(2, 5, 2, 64\\)",
            id="fewer-heads",
        ),
        pytest.param(
            changed(3, lambda one: one[..., :1]),
            ShapeMismatchError,
            "g must have shape .* got \\(2, 5, 3, 1\\)",
            id="one-gate-a-head",
        ),
        pytest.param(
            changed(4, lambda one: one.transpose(2, 3)),
            ShapeMismatchError,
            "initial_state must have shape .* got \\(2, 3, 64, 32\\)",
            id="transposed-state",
        ),
        pytest.param(
            given((2, 5, 3, 0, 64))[:4],
            RefinementError,
            "a key has at least one element .* got K = 0 of q",
            id="no-key-elements",
        ),
        pytest.param(
            changed(0, lambda one: one[0]),
            ShapeMismatchError,
            "q must have .* got \\(5, 3, 32\\)",
            id="no-batch-dim",
        ),
    ],
)
def test_what_does_not_fit(tensors, error, message):
    """An error names the tensor, what it must be and what it is."""
    with pytest.raises(error, match=f"CpuGLAFwdOp: {message}"):
        CpuGLAFwdOp()(*tensors)


def test_too_many_inputs_are_described():
    """A call takes five tensors."""
    with pytest.raises(TooManyInputsError, match="takes the inputs q, k, v, g, initial_state"):
        CpuGLAFwdOp().checked_requests(*given(), torch.zeros(1))


@pytest.mark.parametrize("scale", ["1", [1.0], True])
def test_what_is_no_scale(scale):
    """The constructor takes a number or None."""
    with pytest.raises(TypeError, match="scale"):
        CpuGLAFwdOp(scale)
