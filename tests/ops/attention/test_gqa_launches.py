"""The launches of attention on a CUDA device: streams, CUDA graphs, memory, torch.compile."""

from __future__ import annotations

import pytest
import torch

from ops.attention import gqa_references as reference
from ops.attention.gqa_references import inputs
from tileops import GQADenseFwdOp

pytestmark = pytest.mark.gpu

F16, BF16 = torch.float16, torch.bfloat16

EVERY_KERNEL = pytest.mark.parametrize(
    "sizes",
    [
        pytest.param((2, 1, 3000, 32, 4, 128), id="decode-in-splits"),
        pytest.param((1, 1, 700, 32, 4, 128), id="one-sequence"),
        pytest.param((1, 1, 3000, 32, 4, 128), id="long-context"),
        pytest.param((1, 200, 300, 32, 4, 128), id="prefill"),
    ],
)


@EVERY_KERNEL
def test_another_stream(sizes):
    """A call runs on the current stream, after what was put there before."""
    op = GQADenseFwdOp()
    q, k, v = inputs(*sizes, F16)
    expected = op(q, k, v)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        empty = torch.zeros_like(q)
        torch.cuda._sleep(1_000_000)
        empty.copy_(q)
        o = op(empty, k, v)
    stream.synchronize()
    assert torch.equal(o, expected)


@EVERY_KERNEL
def test_two_streams_at_once(sizes):
    """Launches that run side by side do not take part in each other's merge."""
    op = GQADenseFwdOp()
    calls = [inputs(*sizes, F16, seed=seed) for seed in range(2)]
    expected = [op(*call) for call in calls]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    results = [[], []]
    for _ in range(50):
        for at in range(2):
            with torch.cuda.stream(streams[at]):
                results[at].append(op(*calls[at]))
    torch.cuda.synchronize()
    for at in range(2):
        assert all(torch.equal(one, expected[at]) for one in results[at])


@EVERY_KERNEL
def test_a_graph_replayed_with_other_contents(sizes):
    """A captured call reads what its inputs hold when it is replayed."""
    op = GQADenseFwdOp()
    q, k, v = inputs(*sizes, F16)
    for _ in range(2):
        op(q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = op(q, k, v)
    for seed in range(1, 4):
        for held, new in zip((q, k, v), inputs(*sizes, F16, seed=seed), strict=True):
            held.copy_(new)
        graph.replay()
        torch.cuda.synchronize()
        reference.assert_close(o, reference.attention(q, k, v))


def test_two_graphs_replayed_at_once():
    """Graphs captured on one stream may be replayed side by side on others."""
    op = GQADenseFwdOp()
    calls = [inputs(2, 1, 3000, 32, 4, 128, F16, seed=seed) for seed in range(2)]
    expected = [op(*call) for call in calls]
    for call in calls:
        op(*call)
    graphs, outputs = [], []
    for call in calls:
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            outputs.append(op(*call))
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    for _ in range(50):
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(o, one) for o, one in zip(outputs, expected, strict=True))


def test_a_thousand_launches_of_changing_lengths():
    """The counters are zero again after every launch, whatever its splits."""
    op = GQADenseFwdOp()
    lengths = [100, 5000, 1500, 12000, 64, 3000]
    calls = {length: inputs(1, 1, length, 16, 4, 64, F16, seed=length) for length in lengths}
    first = {length: op(*call) for length, call in calls.items()}
    for turn in range(1000):
        length = lengths[turn % len(lengths)]
        assert turn % 97 or torch.equal(op(*calls[length]), first[length])
        op(*calls[length])
    assert all(torch.equal(op(*call), first[length]) for length, call in calls.items())


def test_an_empty_batch_launches_nothing():
    """The result is empty."""
    q, k, v = inputs(0, 1, 10, 8, 2, 128, BF16)
    assert GQADenseFwdOp()(q, k, v).shape == (0, 1, 8, 128)


@EVERY_KERNEL
def test_torch_compile_sees_one_node(sizes):
    """A compiled function calls the op, and gives what the op gives."""
    op = GQADenseFwdOp()
    q, k, v = inputs(*sizes, BF16)
    expected = op(q, k, v) * 2
    compiled = torch.compile(lambda q, k, v: op(q, k, v) * 2, fullgraph=True)
    reference.assert_close(compiled(q, k, v), expected.double(), relative=1e-6)
