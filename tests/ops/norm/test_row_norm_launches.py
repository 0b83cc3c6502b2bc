"""The launches of every row norm on a CUDA device: streams, CUDA graphs, memory, torch.compile."""

from __future__ import annotations

import pytest
import torch

from ops.norm import row_norm_references as reference
from ops.norm.row_norm_references import tensors
from tileops import (
    AdaLayerNormFwdOp,
    AdaLayerNormZeroFwdOp,
    FusedAddLayerNormFwdOp,
    FusedAddRMSNormFwdOp,
    LayerNormFwdOp,
    RMSNormFwdOp,
)

pytestmark = pytest.mark.gpu

BF16 = torch.bfloat16

EVERY_OP = pytest.mark.parametrize(
    ("make", "wholes", "vectors", "define"),
    [
        pytest.param(
            LayerNormFwdOp,
            1,
            2,
            lambda x, weight, bias: [reference.layer_norm(x, weight, bias, 1e-5)],
            id="layer-norm",
        ),
        pytest.param(
            lambda n: RMSNormFwdOp(n, 1e-6),
            1,
            1,
            lambda x, weight: [reference.rms_norm(x, weight, 1e-6)],
            id="rms-norm",
        ),
        pytest.param(
            lambda n: FusedAddLayerNormFwdOp(),
            2,
            2,
            lambda x, residual, weight, bias: [
                reference.layer_norm(x + residual, weight, bias, 1e-5),
                (x + residual).double(),
            ],
            id="fused-add-layer-norm",
        ),
        pytest.param(
            lambda n: FusedAddRMSNormFwdOp(),
            2,
            1,
            lambda x, residual, weight: [
                reference.rms_norm(x + residual, weight, 1e-6),
                (x + residual).double(),
            ],
            id="fused-add-rms-norm",
        ),
        pytest.param(
            lambda n: AdaLayerNormFwdOp(),
            3,
            0,
            lambda x, scale, shift: [reference.ada_layer_norm(x, scale, shift, 1e-5)],
            id="ada-layer-norm",
        ),
        pytest.param(
            lambda n: AdaLayerNormZeroFwdOp(),
            4,
            0,
            lambda x, scale, shift, gate: [
                reference.ada_layer_norm_zero(x, scale, shift, gate, 1e-5)
            ],
            id="ada-layer-norm-zero",
        ),
    ],
)


def listed(results):
    """Return the results of an op as a list."""
    return list(results) if isinstance(results, tuple) else [results]


@EVERY_OP
@pytest.mark.parametrize("n", [256, 4096, 65536])
def test_another_stream(make, wholes, vectors, define, n):
    """The launch goes to torch's current stream."""
    op, inputs = make(n), tensors((64, n), BF16, wholes, vectors)
    expected = listed(op(*inputs))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # What runs on this stream before the launch fills the inputs that it reads.
        torch.cuda._sleep(1_000_000)
        outputs = listed(op(*[one.clone() for one in inputs]))
    stream.synchronize()
    assert all(torch.equal(one, other) for one, other in zip(outputs, expected, strict=True))


@EVERY_OP
@pytest.mark.parametrize("n", [256, 4096, 65536])
def test_graph_capture_replays_with_new_contents(make, wholes, vectors, define, n):
    """A captured launch reads what its inputs hold at every replay."""
    op, inputs = make(n), tensors((64, n), BF16, wholes, vectors)
    op(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = listed(op(*inputs))
    for seed in (7, 8):
        fresh = tensors((64, n), BF16, wholes, vectors, seed=seed)
        for one, contents in zip(inputs, fresh, strict=True):
            one.copy_(contents)
        graph.replay()
        torch.cuda.synchronize()
        for output, expected in zip(outputs, define(*inputs), strict=True):
            reference.assert_close(output, expected)


@EVERY_OP
def test_a_capture_allocates_only_its_outputs(make, wholes, vectors, define):
    """A launch hides no workspace: a captured call takes the memory of its outputs."""
    n = 65536
    op, inputs = make(n), tensors((64, n), BF16, wholes, vectors)
    size = sum(one.nbytes for one in listed(op(*inputs)))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    results = op(*inputs)
    assert torch.cuda.memory_allocated() - before == size
    del results


@EVERY_OP
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_by_inductor(make, wholes, vectors, define, mode):
    """Compiled with what surrounds it, under CUDA graphs too, an op gives the same results."""
    torch.compiler.reset()
    n = 4096
    op = make(n)

    def act(*inputs):
        return [one + 1 for one in listed(op(*inputs))]

    function = torch.compile(act, fullgraph=True, mode=mode)
    for seed in range(4):
        inputs = tensors((64, n), BF16, wholes, vectors, seed=seed)
        outputs = [one.clone() for one in function(*inputs)]
        for output, expected in zip(outputs, act(*inputs), strict=True):
            assert torch.equal(output, expected)
