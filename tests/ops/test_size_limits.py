"""Every size that no kernel is asked for is refused with the tensors, not only with the facts."""

from __future__ import annotations

import pytest
import torch

import tileops
from tileops.errors import ImpossibleCallError, RefinementError
from tileops.ops.catalogue import in_tree_ops
from tileops.tensor_spec import TensorSpec

HALF, SINGLE = torch.float16, torch.float32
INT = 2**31 - 1
GEMM = 2**31 - 1024


def t(*shape, dtype=HALF):
    """Describe a tensor on a GPU."""
    return TensorSpec(shape, dtype, "cuda")


def rows(op, count, vectors):
    """Return a call on two rows of n elements."""
    return lambda n: (op, [t(2, n)] * count + [t(n)] * vectors)


def layer_norm(n):
    return tileops.LayerNormFwdOp((n,)), [t(2, n)]


def rms_norm(n):
    return tileops.RMSNormFwdOp((n,)), [t(2, n)]


def channels(op, stats):
    def call(c):
        vector = t(c, dtype=SINGLE)
        return op, [t(2, c, 1), vector, vector][: 3 if stats else 1]

    return call


def gradients(c):
    vector = t(c, dtype=SINGLE)
    return tileops.BatchNormBwdOp(), [t(2, c, 1), t(2, c, 1), vector, vector]


def attention(**changed):
    def call(size):
        sizes = {"b": 1, "sq": 1, "skv": 2, "h": 4, "hkv": 2, "d": 64}
        sizes |= {name: scale * size for name, scale in changed.items()}
        b, sq, skv, h, hkv, d = sizes.values()
        keys = t(b, skv, hkv, d)
        return tileops.GQADenseFwdOp(), [t(b, sq, h, d), keys, keys]

    return call


def gla(name):
    def call(size):
        sizes = {"b": 1, "t": 1, "h": 1, "k": 64, "v": 64} | {name: size}
        b, steps, h, k, v = sizes.values()
        key = t(b, steps, h, k)
        return tileops.GLAFwdOp(), [key, key, t(b, steps, h, v), key]

    return call


def gemm(name, **layout):
    def call(size):
        sizes = {"m": 64, "n": 64, "k": 64} | {name: size}
        m, n, k = sizes.values()
        op = tileops.GemmFwdOp(**layout)
        a = t(k, m) if op.trans_a else t(m, k)
        return op, [a, t(n, k) if op.trans_b else t(k, n)]

    return call


LIMITS = [
    pytest.param(layer_norm, INT, id="layer-norm-n"),
    pytest.param(rms_norm, INT, id="rms-norm-n"),
    pytest.param(rows(tileops.FusedAddLayerNormFwdOp(), 2, 2), INT, id="add-layer-norm-n"),
    pytest.param(rows(tileops.FusedAddRMSNormFwdOp(), 2, 1), INT, id="add-rms-norm-n"),
    pytest.param(rows(tileops.AdaLayerNormFwdOp(), 3, 0), INT, id="ada-layer-norm-n"),
    pytest.param(rows(tileops.AdaLayerNormZeroFwdOp(), 4, 0), INT, id="ada-layer-norm-zero-n"),
    pytest.param(channels(tileops.BatchNormFwdOp(True), stats=False), INT, id="batch-norm-c"),
    pytest.param(channels(tileops.BatchNormFwdOp(), stats=True), INT, id="batch-norm-infer-c"),
    pytest.param(gradients, INT, id="batch-norm-bwd-c"),
    pytest.param(attention(b=1), INT, id="attention-batch"),
    pytest.param(attention(sq=1), INT, id="attention-queries"),
    pytest.param(attention(skv=1), INT, id="attention-keys"),
    pytest.param(attention(h=2), 2**15, id="attention-heads"),
    pytest.param(attention(h=1, hkv=1), 2**16, id="attention-key-heads"),
    pytest.param(attention(d=1), 2**16, id="attention-dim"),
    *[pytest.param(gla(name), INT, id=f"gla-{name}") for name in "bthkv"],
    *[pytest.param(gemm(name), GEMM, id=f"gemm-{name}") for name in "mnk"],
    pytest.param(gemm("m", trans_a=True, trans_b=False), GEMM, id="gemm-m-transposed"),
]


def explained(call, size):
    """Return the selections of a call of this size."""
    op, inputs = call(size)
    return op.explain_call(*inputs, arch=90)


@pytest.mark.parametrize(("call", "most"), LIMITS)
def test_a_size_and_the_next_one(call, most):
    """The last size is asked about, and the next one is refused by the checks of a call."""
    assert len(explained(call, most)) == 1
    with pytest.raises(RefinementError) as caught:
        explained(call, most + 1)
    assert any(str(size) in caught.value.given for size in (most + 1, 2 * (most + 1)))


@pytest.mark.parametrize(("call", "most"), LIMITS)
def test_the_facts_of_a_size_and_the_next_one(call, most):
    """The call spec says the same of the request that the op would make."""
    op, inputs = call(most)
    ((interface, asked),) = op.checked_requests(*inputs)
    grown = {
        name: value
        for name, value in asked.facts().items()
        if type(value) is int and value in (most, 2 * most)
    }
    assert grown
    beyond = {name: value // most * (most + 1) for name, value in grown.items()}
    with pytest.raises(ImpossibleCallError):
        op.explain(interface, asked.with_facts(**beyond))


def test_every_op_is_in_the_table():
    """Planes of instance normalization are counted in the tests of channel calls."""
    tried = {type(one.values[0](one.values[1])[0]) for one in LIMITS}
    assert tried == {*in_tree_ops().values()} - {tileops.InstanceNormFwdOp}
