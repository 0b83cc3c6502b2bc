"""Peers: compositions against float64, agreement, and libraries that are not installed."""

from __future__ import annotations

import sys
import types

import pytest
import torch
from harness.agreement import DisagreementError, check_agreement, distance, tolerance_for
from harness.peers import Family, family_of, peers_of
from harness.peers.compiled import NoPlaceToWaitError, tuning_turn_by_turn
from harness.peers.tuned import sharing

NORM = family_of("norm")


def normalized(x, eps, centred=True):
    """Return rows over their deviation, or over their root mean square, in float64."""
    x = x.double()
    if centred:
        x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def rows(*shapes):
    """Return random tensors, the same every time."""
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.mark.parametrize(
    ("op", "params", "shapes", "expected"),
    [
        pytest.param(
            "LayerNormFwdOp", {"normalized_shape": (40,), "eps": 0.1}, [(5, 40), 40, 40],
            lambda x, w, b: [normalized(x, 0.1) * w + b], id="layer-norm",
        ),
        pytest.param(
            "RMSNormFwdOp", {"normalized_shape": (40,), "eps": 0.1}, [(5, 40), 40],
            lambda x, w: [normalized(x, 0.1, centred=False) * w], id="rms-norm",
        ),
        pytest.param(
            "FusedAddLayerNormFwdOp", {"eps": 0.1}, [(5, 40), (5, 40), 40, 40],
            lambda x, r, w, b: [normalized(x + r, 0.1) * w + b, x + r], id="fused-add-layer-norm",
        ),
        pytest.param(
            "FusedAddRMSNormFwdOp", {"eps": 0.1}, [(5, 40), (5, 40), 40],
            lambda x, r, w: [normalized(x + r, 0.1, centred=False) * w, x + r],
            id="fused-add-rms-norm",
        ),
        pytest.param(
            "AdaLayerNormFwdOp", {"eps": 0.1}, [(5, 40)] * 3,
            lambda x, scale, shift: [scale * normalized(x, 0.1) + shift], id="ada",
        ),
        pytest.param(
            "AdaLayerNormZeroFwdOp", {"eps": 0.1}, [(5, 40)] * 4,
            lambda x, scale, shift, gate: [gate * (scale * normalized(x, 0.1) + shift)],
            id="ada-zero",
        ),
    ],
)  # fmt: skip
def test_the_composition_of_a_row_norm(op, params, shapes, expected):
    """Each is the op's definition, in float64, within float32 rounding."""
    tensors = rows(*shapes)
    result = NORM.compositions[op](params)(*tensors)
    result = [result] if isinstance(result, torch.Tensor) else list(result)
    for given, wanted in zip(result, expected(*tensors), strict=True):
        torch.testing.assert_close(given.double(), wanted.double(), rtol=1e-5, atol=1e-5)


def standardized(x, dims, eps):
    """Return data over its deviation, the mean and the reciprocal deviation, in float64."""
    x = x.double()
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + eps).rsqrt()
    return (x - mean) * rstd, mean.flatten(), rstd.flatten()


def test_the_composition_of_batch_norm():
    """In training it returns the batch's statistics and moves the running ones."""
    x, mean, weight, bias = rows((5, 3, 4), 3, 3, 3)
    var = torch.ones(3)
    run = NORM.compositions["BatchNormFwdOp"]({"training": True, "momentum": 1.0, "eps": 0.1})
    y, batch_mean, rstd = run(x, mean, var, weight, bias)
    normal, *statistics = standardized(x, (0, 2), 0.1)
    torch.testing.assert_close(y.double(), normal * weight[:, None] + bias[:, None])
    torch.testing.assert_close(batch_mean.double(), statistics[0])
    torch.testing.assert_close(rstd.double(), statistics[1])
    torch.testing.assert_close(mean, batch_mean)
    fixed = NORM.compositions["BatchNormFwdOp"]({"eps": 0.1})(x, mean, var, weight, bias)
    expected = (x - mean[:, None]) * (var[:, None] + 0.1).rsqrt() * weight[:, None]
    torch.testing.assert_close(fixed, expected + bias[:, None])


def test_the_composition_of_the_gradients_of_batch_norm():
    """They are what autograd finds in the definition."""
    x, dy, weight = rows((5, 3, 4), (5, 3, 4), 3)
    leaves = [x.double().requires_grad_(), weight.double().requires_grad_()]
    normal, mean, rstd = standardized(leaves[0], (0, 2), 1e-5)
    expected = torch.autograd.grad((normal * leaves[1][:, None] * dy).sum(), leaves)
    run = NORM.compositions["BatchNormBwdOp"]({})
    dx, dw, db = run(dy, x, mean.detach().float(), rstd.detach().float(), weight)
    torch.testing.assert_close(dx.double(), expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dw.double(), expected[1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(db, dy.sum((0, 2)))


def test_the_composition_of_instance_norm():
    """Every plane is normalized by itself."""
    x, weight, bias = rows((5, 3, 4), 3, 3)
    y = NORM.compositions["InstanceNormFwdOp"]({"eps": 0.1})(x, None, None, weight, bias)
    normal, *_ = standardized(x, (2,), 0.1)
    torch.testing.assert_close(y.double(), normal * weight[:, None] + bias[:, None])


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_the_composition_of_the_matrix_product(trans_a, trans_b):
    """Rows of d are rows of a, columns of d are columns of b, under each layout."""
    a, b = rows((3, 5), (5, 4))
    product = family_of("gemm").compositions["GemmFwdOp"]({"trans_a": trans_a, "trans_b": trans_b})
    given = product(a.T.contiguous() if trans_a else a, b.T.contiguous() if trans_b else b)
    torch.testing.assert_close(given, torch.einsum("mk,kn->mn", a, b))


def test_attention_of_torch_over_grouped_heads():
    """Query head h reads key head h // group; the layout is (batch, length, heads, dim)."""
    q, k, v = rows((2, 1, 4, 8), (2, 6, 2, 8), (2, 6, 2, 8))
    builders = peers_of(family_of("attention"), "GQADenseFwdOp")
    given = builders["sdpa-math"]({"sm_scale": 0.3}, (q, k, v, None, None, None))(q, k, v)
    wide = k.repeat_interleave(2, dim=2), v.repeat_interleave(2, dim=2)
    weights = torch.softmax(0.3 * torch.einsum("bqhd,bkhd->bhqk", q, wide[0]), -1)
    torch.testing.assert_close(given, torch.einsum("bhqk,bkhd->bqhd", weights, wide[1]))


@pytest.mark.parametrize(
    ("params", "lengths", "reason"),
    [
        pytest.param({"softcap": 50.0}, (1, 6), "softcap", id="softcap"),
        pytest.param({"is_causal": True}, (3, 6), "mask", id="causal-with-cache"),
    ],
)
def test_what_scaled_dot_product_attention_does_not_serve(params, lengths, reason):
    """A case that a peer does not serve is declined with the reason."""
    q, k, v = rows((1, lengths[0], 2, 8), (1, lengths[1], 2, 8), (1, lengths[1], 2, 8))
    with pytest.raises(NotImplementedError, match=reason):
        peers_of(family_of("attention"), "GQADenseFwdOp")["torch"](params, (q, k, v))


@pytest.mark.parametrize(
    ("peer", "steps", "reason"),
    [
        pytest.param("fla-chunk", 1, "more than one step", id="chunks-of-one-step"),
        pytest.param("fla-recurrent", 2, "decoding", id="steps-one-by-one"),
    ],
)
def test_each_form_of_linear_attention_runs_where_it_is_meant_to(peer, steps, reason):
    """The chunked form does not decode, and the recurrent one does nothing else."""
    pytest.importorskip("fla")
    inputs = rows(*[(1, steps, 2, 32)] * 4)
    with pytest.raises(NotImplementedError, match=reason):
        peers_of(family_of("linear_attention"), "GLAFwdOp")[peer]({}, inputs)


class Autotuner:
    """What Triton's class of this name does, as far as it matters here."""

    def __init__(self):
        self.configs, self.cache, self.cache_results, self.timed = list(range(7)), {}, True, []

    def _bench(self, *, config):
        self.timed.append(config)
        return [7.0 - config] * 3

    def run(self):
        if "key" not in self.cache:
            times = {config: self._bench(config=config) for config in self.configs}
            self.cache["key"] = min(times, key=times.get)
        return self.cache["key"]


@pytest.mark.parametrize("share", [0, 1, 2])
def test_a_share_of_the_configurations_is_compiled(monkeypatch, share):
    """Each is timed in one share only, and what a share would choose is forgotten."""
    for name in ("triton", "triton.runtime", "triton.runtime.autotuner"):
        module = types.ModuleType(name)
        module.Autotuner = Autotuner
        monkeypatch.setitem(sys.modules, name, module)
    tuner = Autotuner()
    with sharing(share, 3):
        assert tuner.run() in tuner.timed
    assert tuner.timed == list(range(share, 7, 3))
    assert not tuner.cache_results
    assert tuner.run() == 6
    assert tuner.timed == [*range(share, 7, 3), *range(7)]


def test_gates_are_logarithms_of_numbers_below_one():
    """The gate of linear attention is drawn negative."""
    gates = torch.empty(1000)
    family_of("linear_attention").fills["g"](gates, torch.Generator().manual_seed(0))
    assert gates.max() < 0
    assert gates.min() > -1


@pytest.mark.parametrize(
    ("op", "names"),
    [
        pytest.param("LayerNormFwdOp", ["torch", "compile", "liger"], id="all"),
        pytest.param("FusedAddLayerNormFwdOp", ["torch", "compile"], id="torch-only"),
        pytest.param("UnknownFwdOp", [], id="no-composition"),
    ],
)
def test_peers_by_op(op, names):
    """torch comes first, then what torch.compile makes of it, then the libraries."""
    assert list(peers_of(NORM, op)) == names


def test_a_family_without_a_table_has_no_peers():
    """Its ops are timed alone."""
    assert family_of("no_such_family") == Family()


@pytest.mark.parametrize(
    ("theirs", "problem"),
    [
        pytest.param(lambda y: y + 1.0, "away from ours", id="other-values"),
        pytest.param(lambda y: y * float("nan"), "away from ours", id="nan"),
        pytest.param(lambda y: y[:1], "ours torch.float32", id="other-shape"),
        pytest.param(lambda y: y.half(), "torch.float16", id="other-dtype"),
        pytest.param(lambda y: (y, y), "2 tensors, ours 1", id="other-number"),
    ],
)
def test_a_peer_that_disagrees_is_found(theirs, problem):
    """Values beyond rounding, shapes, dtypes and the number of results."""
    (y,) = rows((4, 4))
    with pytest.raises(DisagreementError, match=problem):
        check_agreement(y, theirs(y))


@pytest.mark.parametrize(
    ("inputs", "allowed"),
    [
        pytest.param([torch.ones(2)], 2e-5, id="float32"),
        pytest.param([torch.ones(2).bfloat16(), None, torch.ones(2)], 1.6e-2, id="mixed"),
        pytest.param([torch.ones(2), torch.ones(2).half()], 2e-3, id="float16-last"),
        pytest.param([torch.ones(2).long(), 3], None, id="none-of-them-floating"),
    ],
)
def test_the_coarsest_input_says_what_rounding_is(inputs, allowed):
    """A float32 state of bfloat16 data is as coarse as the data."""
    assert tolerance_for(inputs) == allowed


def test_rounding_is_agreement():
    """The distance is the relative Euclidean one, the largest over the results."""
    (y,) = rows((64, 64))
    assert check_agreement((y, y), (y, y * (1 + 1e-6))) == pytest.approx(1e-6, rel=0.1)
    assert check_agreement(y, y * 1.1, tolerance=0.2) == pytest.approx(0.1, rel=1e-3)
    assert distance(torch.zeros(3), torch.zeros(3)) == 0.0
    assert distance(torch.zeros(3), torch.ones(3)) == float("inf")


class Lock:
    """Counts how often it is held."""

    held = 0

    def __enter__(self):
        self.held += 1

    def __exit__(self, *error):
        pass


def test_tuning_waits_for_its_turn(monkeypatch):
    """The timing of configurations runs under the lock, and torch is left as it was."""
    algorithms = pytest.importorskip("torch._inductor.select_algorithm").AlgorithmSelectorCache
    kernels = pytest.importorskip("torch._inductor.runtime.triton_heuristics").CachingAutotuner
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(kernels, "bench", lambda self, config: config)
    choose = classmethod(lambda cls, choices: (cls, choices))
    monkeypatch.setattr(algorithms, "benchmark_in_current_process", choose)
    original, lock = kernels.bench, Lock()
    with tuning_turn_by_turn(lock):
        assert kernels.bench(None, 3) == 3
        assert lock.held == 1
        assert algorithms.benchmark_in_current_process("ab") == (algorithms, "ab")
        assert lock.held == 2
    assert kernels.bench is original
    assert vars(algorithms)["benchmark_in_current_process"] is choose


def test_a_torch_that_chooses_elsewhere_is_named(monkeypatch):
    """It is no silent compilation without a turn."""
    heuristics = pytest.importorskip("torch._inductor.runtime.triton_heuristics")
    monkeypatch.delattr(heuristics.CachingAutotuner, "bench")
    with (
        pytest.raises(NoPlaceToWaitError, match=r"no CachingAutotuner\.bench"),
        tuning_turn_by_turn(Lock()),
    ):
        pass
