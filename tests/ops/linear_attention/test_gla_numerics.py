"""Gated linear attention on a CUDA device against its definition in float64."""

from __future__ import annotations

import pytest
import torch

from ops.linear_attention.gla_references import (
    ONE_STEP,
    OUTPUT,
    STATE,
    assert_near,
    by_chunks,
    inputs,
)
from tileops import GLAFwdOp
from tileops.errors import UnservedCallError

pytestmark = pytest.mark.gpu

F16, BF16 = torch.float16, torch.bfloat16


@pytest.fixture(scope="module")
def op():
    """One op for the whole module: a build serves every batch, length and number of heads."""
    return GLAFwdOp()


def check(op, tensors, *, state_bound=None, output_bound=None, scale=None):
    """Compare with the definition, twice bit for bit with itself, and the inputs with before."""
    before = [None if one is None else one.clone() for one in tensors]
    o, final = op(*tensors)
    again = op(*tensors)
    q, k, v, g, state = before
    one_step = q.shape[1] == 1
    expected, expected_final = by_chunks(
        q, k, v, g, q.shape[3] ** -0.5 if scale is None else scale, state
    )
    assert (o.dtype, final.dtype) == (q.dtype, torch.float32)
    assert_near(o, expected, output_bound or OUTPUT[q.dtype])
    assert_near(final, expected_final, state_bound or (ONE_STEP if one_step else STATE))
    assert torch.equal(o, again[0])
    assert torch.equal(final, again[1])
    for one, same in zip(tensors, before, strict=True):
        assert one is None or torch.equal(one, same)
    return o, final


def key_of(op, tensors):
    """The key that serves these inputs."""
    ((interface, call),) = op.requests(*tensors)
    return op.key_for(interface, call)


@pytest.mark.parametrize(
    ("shape", "dtype", "state"),
    [
        pytest.param((1, 1, 32, 64, 64), BF16, False, id="one-from-zeros"),
        pytest.param((1, 1, 32, 64, 64), BF16, True, id="one-continued"),
        pytest.param((8, 1, 32, 128, 128), BF16, True, id="batch-8"),
        pytest.param((128, 1, 32, 128, 128), BF16, True, id="batch-128"),
        pytest.param((128, 1, 32, 128, 128), F16, False, id="batch-128-from-zeros"),
        pytest.param((3, 1, 24, 128, 128), F16, True, id="batch-3-heads-24"),
        pytest.param((3, 1, 24, 64, 128), F16, True, id="wide-values"),
        pytest.param((3, 1, 24, 128, 64), F16, True, id="wide-keys"),
        pytest.param((2, 1, 8, 256, 256), BF16, True, id="widest"),
        pytest.param((32, 1, 40, 256, 256), BF16, True, id="widest-many"),
        pytest.param((5, 1, 7, 32, 32), F16, True, id="narrowest"),
        pytest.param((5, 1, 7, 32, 256), F16, True, id="narrow-keys"),
        pytest.param((5, 1, 7, 256, 32), F16, True, id="narrow-values"),
    ],
)
def test_one_step(op, shape, dtype, state):
    """A step is decoded in float32: the state is right to its last digits."""
    tensors = inputs(shape, dtype, state=state)
    assert key_of(op, tensors) == "gla_decode"
    check(op, tensors)


@pytest.mark.parametrize(
    "steps", [0, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 500, 511]
)
def test_lengths(op, steps):
    """Every length around a chunk's, and none, from a state."""
    tensors = inputs((2, steps, 3, 128, 128), BF16, seed=steps)
    assert key_of(op, tensors) == "gla_prefill"
    o, final = check(op, tensors)
    if not steps:
        assert o.shape == (2, 0, 3, 128)
        assert torch.equal(final, tensors[4])


@pytest.mark.parametrize("steps", [512, 513, 575, 1000, 1024, 1025, 3000, 4096])
def test_parts_side_by_side(op, steps):
    """Long sequences of few heads, whole parts and begun ones."""
    tensors = inputs((1, steps, 5, 128, 128), BF16, seed=steps)
    assert key_of(op, tensors) == "gla_partitioned"
    check(op, tensors)


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        pytest.param((1, 2048, 16, 128, 128), "gla_partitioned", id="2048"),
        pytest.param((1, 32768, 16, 128, 128), "gla_partitioned", id="32768"),
        pytest.param((1, 131072, 4, 128, 128), "gla_partitioned", id="131072"),
        pytest.param((4, 1024, 16, 128, 128), "gla_partitioned", id="as-many-as-are-cut"),
        pytest.param((4, 1023, 16, 128, 128), "gla_prefill", id="just-too-short"),
        pytest.param((5, 2048, 32, 128, 128), "gla_prefill", id="many-heads"),
    ],
)
def test_long_sequences_from_zeros(op, shape, key):
    """Without an initial state, in parts and from end to end."""
    tensors = inputs(shape, BF16, state=False)
    assert key_of(op, tensors) == key
    check(op, tensors)


@pytest.mark.parametrize(
    ("dim_k", "dim_v"),
    [(32, 32), (32, 128), (64, 128), (128, 64), (64, 64), (128, 256), (256, 256), (256, 64)],
)
def test_widths(op, dim_k, dim_v):
    """Keys and values of unlike widths, narrow ones padded and wide ones cut."""
    check(op, inputs((1, 150, 3, dim_k, dim_v), F16))


@pytest.mark.parametrize("steps", [100, 1100])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("gates", [0.0, -1e-4, -1.0, -5.0, -30.0, float("-inf")])
def test_gates(op, gates, dtype, steps):
    """Open, closing and closed gates; nothing overflows on the way."""
    # The reference divides decays: gates that are closed but finite, and short chunks of them.
    tensors = inputs((1, steps, 3, 128, 128), dtype, gates=max(gates, -400.0))
    chunk = 64 if gates >= -5.0 else 1
    expected, expected_final = by_chunks(*tensors[:4], 128**-0.5, tensors[4], chunk=chunk)
    tensors[3].fill_(gates)
    o, final = op(*tensors)
    assert_near(o, expected, OUTPUT[dtype])
    assert_near(final, expected_final, STATE)


def test_gates_that_close_now_and_then(op):
    """A gate of minus infinity forgets one row of the state, and leaves no NaN."""
    tensors = inputs((1, 300, 3, 128, 128), BF16)
    shut = torch.rand_like(tensors[3], dtype=torch.float32) < 0.05
    tensors[3][shut] = -100.0
    reference = by_chunks(*tensors[:4], 128**-0.5, tensors[4], chunk=4)
    tensors[3][shut] = float("-inf")
    o, final = op(*tensors)
    assert_near(o, reference[0], OUTPUT[BF16])
    assert_near(final, reference[1], STATE)


@pytest.mark.parametrize("steps", [1, 200, 1200])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
def test_large_queries_and_keys(op, dtype, steps):
    """Thirty times the usual magnitude fits the dtypes on the way."""
    check(op, inputs((1, steps, 3, 128, 128), dtype, magnitude=30.0))


def test_one_call_is_as_many_steps(op):
    """512 steps in one call agree with 512 calls of a step."""
    q, k, v, g, state = inputs((1, 512, 3, 128, 128), BF16)
    o, final = op(q, k, v, g, state)
    steps = []
    for t in range(512):
        now = slice(t, t + 1)
        one, state = op(q[:, now], k[:, now], v[:, now], g[:, now], state)
        steps.append(one)
    assert_near(torch.cat(steps, 1), o.double(), 2 * OUTPUT[BF16])
    assert_near(state, final.double(), 5e-3)


@pytest.mark.parametrize(("cut", "steps"), [(200, 512), (1, 512), (511, 512), (1500, 4096)])
def test_a_sequence_in_two_calls(op, cut, steps):
    """Passing the state on agrees with one call, whichever keys serve the parts."""
    q, k, v, g, state = inputs((1, steps, 3, 128, 128), BF16)
    o, final = op(q, k, v, g, state)
    first, state = op(q[:, :cut], k[:, :cut], v[:, :cut], g[:, :cut], state)
    second, state = op(q[:, cut:], k[:, cut:], v[:, cut:], g[:, cut:], state)
    assert_near(torch.cat((first, second), 1), o.double(), OUTPUT[BF16])
    assert_near(state, final.double(), STATE)


@pytest.mark.parametrize("steps", [1, 100])
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_scales(scale, steps):
    """A scale that is stated replaces the root of the width."""
    check(GLAFwdOp(scale), inputs((1, steps, 3, 64, 64), BF16), scale=scale)


@pytest.mark.parametrize("steps", [1, 100, 1100])
def test_a_state_taken_with_a_step(op, steps):
    """A state whose batch has another stride than its own gives what a plain one gives."""
    tensors = inputs((1, steps, 3, 128, 128), BF16)
    state = tensors[4].repeat(8, 1, 1, 1)[::8]
    assert state.stride(0) == 8 * tensors[4].stride(0)
    for one, other in zip(op(*tensors[:4], state), op(*tensors), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("steps", [1, 100, 1100])
def test_heads_before_steps(op, steps):
    """Views of tensors in the order (B, H, T, K) give what dense tensors give."""
    tensors = inputs((2, steps, 3, 128, 128), BF16)
    views = [one.transpose(1, 2).contiguous().transpose(1, 2) for one in tensors[:4]]
    for one, other in zip(op(*views, tensors[4]), op(*tensors), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("steps", [1, 100, 1100])
def test_streams_and_graphs(op, steps):
    """Launches go to the current stream, and a captured call reads what its inputs then hold."""
    tensors = inputs((1, steps, 3, 128, 128), BF16)
    expected = op(*tensors)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # What runs on this stream before the launch fills the inputs that it reads.
        torch.cuda._sleep(1_000_000)
        found = op(*[one.clone() for one in tensors])
    stream.synchronize()
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = op(*tensors)
    fresh = inputs((1, steps, 3, 128, 128), BF16, seed=7)
    for one, other in zip(tensors, fresh, strict=True):
        one.copy_(other)
    graph.replay()
    torch.cuda.synchronize()
    for one, other in zip(captured, op(*fresh), strict=True):
        assert torch.equal(one, other)


def test_steps_that_depend_on_one_another(op):
    """A chain of steps that start early reads every state as its predecessor wrote it."""
    q, k, v, g, state = inputs((4, 1, 32, 128, 128), BF16)
    chained = synchronised = state
    for _ in range(20):
        _, chained = op(q, k, v, g, chained)
    for _ in range(20):
        _, synchronised = op(q, k, v, g, synchronised)
        torch.cuda.synchronize()
    assert torch.equal(chained, synchronised)


def test_lengths_compile_nothing_anew():
    """Every length and batch below a part's runs one program."""
    op = GLAFwdOp()
    for steps in range(2, 100, 7):
        op(*inputs((1 + steps % 3, steps, 1 + steps % 5, 128, 128), BF16))
    assert len(list(op.iter_kernels())) == 1


def test_no_batch():
    """A call without a batch element launches nothing."""
    o, final = GLAFwdOp()(*inputs((0, 5, 3, 128, 128), BF16))
    assert o.shape == (0, 5, 3, 128)
    assert final.shape == (0, 3, 128, 128)


@pytest.mark.parametrize("steps", [1, 2])
def test_widths_that_are_not_served(op, steps):
    """A width of 96 is refused by name."""
    with pytest.raises(UnservedCallError, match="serves dim_k 32, 64, 128 or 256, got 96"):
        op(*inputs((1, steps, 2, 96, 96), BF16))
