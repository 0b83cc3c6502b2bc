"""Attention on a CUDA device against float64: every kernel, kind of head, length and value."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from ops.attention import gqa_references as reference
from ops.attention.gqa_references import inputs
from tileops import GQADenseFwdOp
from tileops.device import current_device, facts_of

pytestmark = pytest.mark.gpu

F16, BF16, F8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn


@cache
def op(**params):
    """One op a set of parameters, so that a program is built once."""
    return GQADenseFwdOp(**params)


def arch():
    return facts_of(current_device()).arch


@pytest.fixture
def fp8():
    """Skip where no kernel serves fp8."""
    if arch() != 90:
        pytest.skip("fp8 attention is for Hopper")


def check(q, k, v, *, relative=None, **params):
    """Run twice, compare with the definition, and leave the inputs alone."""
    kept = [one.clone() for one in (q, k, v)]
    first, second = op(**params)(q, k, v), op(**params)(q, k, v)
    expected = reference.attention(
        q, k, v, params.get("sm_scale"), params.get("softcap", 0.0), params.get("is_causal", False)
    )
    reference.assert_close(first, expected, relative=relative)
    assert torch.equal(first, second)
    assert first.is_contiguous()
    assert all(torch.equal(one, same) for one, same in zip((q, k, v), kept, strict=True))
    return first


LENGTHS = [2, 63, 64, 65, 127, 128, 129, 511, 512, 1023, 1024, 4096, 4097, 32768]
LENGTHS += [131072, 131073, 262144]


@pytest.mark.parametrize("seqlen_kv", LENGTHS)
@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
def test_one_sequence_of_every_length(seqlen_kv, dtype):
    """On both sides of every tile and of every kernel's region."""
    check(*inputs(1, 1, seqlen_kv, 32, 4, 128, dtype))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
def test_one_key(dtype):
    """The softmax of one score is one."""
    q, k, v = inputs(1, 1, 1, 32, 4, 128, dtype)
    assert torch.equal(op()(q, k, v), v.repeat_interleave(8, 2))


@pytest.mark.parametrize(
    ("batch", "seqlen_kv", "heads", "heads_kv", "dim", "dtype"),
    [
        pytest.param(32, 4096, 32, 8, 128, BF16, id="32-sequences"),
        pytest.param(8, 32768, 32, 8, 128, BF16, id="8-long-sequences"),
        pytest.param(64, 8192, 64, 8, 64, BF16, id="64-sequences-dim-64"),
        pytest.param(3, 777, 71, 1, 64, F16, id="71-over-1"),
        pytest.param(2, 500, 48, 1, 128, F16, id="48-over-1"),
        pytest.param(1, 500, 22, 1, 128, F16, id="22-over-1"),
        pytest.param(4, 1000, 8, 1, 256, BF16, id="8-over-1-dim-256"),
        pytest.param(5, 333, 16, 2, 128, F16, id="16-over-2"),
        pytest.param(2, 300, 32, 32, 128, F16, id="multi-head"),
        pytest.param(300, 70, 8, 1, 64, F16, id="more-sequences-than-run-at-once"),
        pytest.param(2, 257, 8, 2, 32, F16, id="dim-32"),
        pytest.param(2, 257, 8, 2, 80, BF16, id="dim-80"),
        pytest.param(2, 257, 8, 2, 96, F16, id="dim-96"),
        pytest.param(2, 257, 8, 2, 112, F16, id="dim-112"),
        pytest.param(2, 257, 8, 2, 160, BF16, id="dim-160"),
        pytest.param(2, 257, 8, 2, 72, F16, id="dim-72"),
        pytest.param(1, 257, 8, 2, 72, F16, id="dim-72-one-sequence"),
        pytest.param(1, 257, 8, 2, 8, F16, id="dim-8"),
        pytest.param(129, 65536, 8, 2, 128, F16, id="more-than-2-31-elements"),
    ],
)
def test_every_form_of_decoding(batch, seqlen_kv, heads, heads_kv, dim, dtype):
    """Batches, ratios of heads and widths."""
    check(*inputs(batch, 1, seqlen_kv, heads, heads_kv, dim, dtype))


@pytest.mark.parametrize("params", [{"softcap": 50.0}, {"softcap": 2.0}, {"sm_scale": 0.3}])
@pytest.mark.parametrize("seqlen_kv", [100, 3000])
@pytest.mark.parametrize("batch", [1, 3])
def test_scale_and_cap_of_decoding(params, seqlen_kv, batch):
    """Scores are scaled first, and then bounded."""
    check(*inputs(batch, 1, seqlen_kv, 32, 4, 128, F16), **params)


PREFILLS = [
    pytest.param(1, 2, 2, 32, 4, 128, BF16, id="two-queries"),
    pytest.param(1, 16, 1000, 32, 4, 128, BF16, id="a-few-queries-of-many-keys"),
    pytest.param(2, 127, 127, 32, 8, 128, F16, id="127"),
    pytest.param(1, 128, 128, 32, 8, 128, F16, id="128"),
    pytest.param(1, 129, 129, 32, 8, 128, BF16, id="129"),
    pytest.param(1, 100, 163, 32, 8, 128, BF16, id="tiles-off-the-diagonal"),
    pytest.param(1, 4096, 4096, 32, 8, 128, BF16, id="4096"),
    pytest.param(2, 512, 4608, 32, 8, 128, BF16, id="a-chunk-of-a-prompt"),
    pytest.param(4, 577, 577, 16, 16, 64, F16, id="dim-64"),
    pytest.param(1, 300, 300, 8, 2, 72, F16, id="dim-72"),
    pytest.param(1, 300, 300, 8, 2, 80, BF16, id="dim-80"),
    pytest.param(1, 300, 300, 8, 2, 96, F16, id="dim-96"),
    pytest.param(1, 300, 300, 8, 2, 192, F16, id="dim-192"),
    pytest.param(1, 300, 300, 8, 1, 256, BF16, id="dim-256"),
    pytest.param(1, 33, 70, 8, 2, 8, F16, id="dim-8"),
]


@pytest.mark.parametrize("is_causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize(
    ("batch", "seqlen_q", "seqlen_kv", "heads", "heads_kv", "dim", "dtype"), PREFILLS
)
def test_every_form_of_prefill(batch, seqlen_q, seqlen_kv, heads, heads_kv, dim, dtype, is_causal):
    """Lengths beside tiles, more keys than queries, ratios of heads and widths."""
    tensors = inputs(batch, seqlen_q, seqlen_kv, heads, heads_kv, dim, dtype)
    check(*tensors, is_causal=is_causal)


@pytest.mark.parametrize("is_causal", [False, True], ids=["whole", "causal"])
def test_scale_and_cap_of_prefill(is_causal):
    """Scores are scaled first, and then bounded; without a mask keys may be fewer than queries."""
    check(*inputs(1, 200, 300, 8, 2, 128, F16), softcap=5.0, sm_scale=0.5, is_causal=is_causal)
    check(*inputs(1, 200, 30, 8, 2, 128, F16))


def test_causal_as_torch_where_lengths_agree():
    """With as many queries as keys the mask is that of torch."""
    q, k, v = inputs(1, 300, 300, 8, 2, 128, BF16)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(one.transpose(1, 2) for one in (q, k, v)), is_causal=True, enable_gqa=True
    )
    reference.assert_close(op(is_causal=True)(q, k, v), theirs.transpose(1, 2).double())


LAYOUTS = [
    pytest.param(lambda x: torch.cat([x, x], 1)[:, : x.shape[1]], id="slice-of-a-cache"),
    pytest.param(lambda x: x.transpose(1, 2).contiguous().transpose(1, 2), id="bhsd"),
    pytest.param(lambda x: torch.cat([x[:1], x])[1:], id="batch-slice"),
    pytest.param(
        lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape), id="misaligned"
    ),
]


@pytest.mark.parametrize("view", LAYOUTS)
@pytest.mark.parametrize("seqlen_q", [1, 70])
def test_layouts(view, seqlen_q):
    """Keys and values in any layout."""
    q, k, v = inputs(2, seqlen_q, 200, 8, 2, 128, F16)
    check(q, view(k), view(v))


@pytest.mark.parametrize("seqlen_q", [1, 70])
@pytest.mark.parametrize("seqlen_kv", [1, 17, 100, 1000])
@pytest.mark.parametrize("batch", [1, 2])
def test_what_lies_behind_the_keys_is_not_seen(seqlen_q, seqlen_kv, batch):
    """NaN after the last key and before the first changes nothing."""
    q, k, v = inputs(batch, seqlen_q, seqlen_kv, 32, 4, 128, F16)
    poisoned = []
    for one in (k, v):
        memory = torch.full((one.numel() + 2 * 65536,), torch.nan, dtype=F16, device="cuda")
        inside = memory[65536:-65536].view(one.shape)
        inside.copy_(one)
        poisoned.append(inside)
    assert torch.equal(op()(q, *poisoned), op()(q, k, v))


@pytest.mark.parametrize("seqlen_q", [1, 40])
@pytest.mark.parametrize("seqlen_kv", [100, 2000])
class TestValues:
    """Scores far from zero, equal ones, and values that are not finite."""

    def test_large_scores(self, seqlen_q, seqlen_kv):
        """Scores of ten thousand either way."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        check(q * 30, k * 30, v)
        check(-q * 30, k * 30, v)

    def test_equal_scores(self, seqlen_q, seqlen_kv):
        """The mean of the values."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        check(q, k[:, :1].expand_as(k).contiguous(), v)
        check(torch.zeros_like(q), k, v)

    def test_one_key_that_outweighs_the_others(self, seqlen_q, seqlen_kv):
        """The last key decides, in a tile that is not full."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        q = q.abs()
        k = k.clone()
        k[:, -1] = 20.0
        o = check(q, k, v)
        reference.assert_close(o, v[:, -1:].repeat_interleave(8, 2).double().expand_as(o))

    def test_scores_of_minus_infinity(self, seqlen_q, seqlen_kv):
        """Keys that no query can see weigh nothing, wherever they are."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        q = q.abs() + 0.1
        for hidden in (slice(0, 70), slice(30, 100), slice(seqlen_kv - 50, seqlen_kv)):
            masked = k.clone()
            masked[:, hidden] = -torch.inf
            check(q, masked, v)

    def test_nothing_but_minus_infinity(self, seqlen_q, seqlen_kv):
        """A softmax of nothing is NaN, as torch's."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        o = op()(q.abs() + 0.1, torch.full_like(k, -torch.inf), v)
        assert o.isnan().all()

    @pytest.mark.parametrize("which", ["q", "k", "v"])
    def test_nan(self, seqlen_q, seqlen_kv, which):
        """NaN reaches every result that depends on it, and no other head."""
        tensors = dict(zip("qkv", inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16), strict=True))
        tensors[which][0, -1, 1, 5] = torch.nan
        o = op()(*tensors.values())
        clean = reference.attention(*tensors.values())
        assert torch.equal(o.isnan(), clean.isnan())
        assert o.isnan().any()

    def test_infinite_value(self, seqlen_q, seqlen_kv):
        """An infinite value makes its column infinite."""
        q, k, v = inputs(1, seqlen_q, seqlen_kv, 32, 4, 128, F16)
        v[0, 3, 2, 7] = torch.inf
        o = op()(q, k, v)
        assert (o[0, :, 16:24, 7] == torch.inf).all()
        assert o.isfinite().sum() == o.numel() - 8 * seqlen_q


def test_a_sequence_alone_and_in_a_batch():
    """A sequence has the same result wherever it stands, up to rounding."""
    q, k, v = inputs(4, 1, 700, 32, 4, 128, F16)
    whole = op()(q, k, v)
    for at in range(4):
        alone = op()(*(one[at : at + 1].contiguous() for one in (q, k, v)))
        reference.assert_close(alone, whole[at : at + 1].double(), relative=1e-3)


def test_growing_lengths_take_one_program():
    """A length that is new compiles nothing."""
    growing = GQADenseFwdOp()
    for length in range(1, 301):
        q, k, v = inputs(2, 1, length, 32, 8, 128, BF16, seed=length)
        o = growing(q, k, v)
        if length % 37 == 1:
            reference.assert_close(o, reference.attention(q, k, v))
    (built,) = growing.iter_kernels()
    assert type(built.kernel).__name__ == "GQADecodeKernel"


FP8_POINTS = [
    pytest.param((1, 1, 2047, 32, 4, 128), id="2047"),
    pytest.param((1, 1, 2048, 32, 4, 128), id="2048"),
    pytest.param((1, 1, 2049, 32, 4, 128), id="2049"),
    pytest.param((1, 2, 2049, 32, 4, 128), id="two-queries"),
    pytest.param((1, 1, 1, 32, 4, 128), id="one-key"),
    pytest.param((1, 1, 262144, 32, 4, 128), id="262144"),
    pytest.param((32, 1, 4096, 32, 8, 128), id="32-sequences"),
    pytest.param((2, 1, 500, 64, 4, 128), id="16-heads-a-key-head"),
    pytest.param((2, 1, 500, 68, 4, 128), id="17-heads-a-key-head"),
    pytest.param((2, 1, 500, 8, 2, 64), id="dim-64"),
    pytest.param((2, 1, 500, 8, 2, 72), id="dim-72"),
    pytest.param((2, 1, 500, 8, 1, 256), id="dim-256"),
    pytest.param((2, 300, 300, 8, 2, 128), id="prefill"),
    pytest.param((2, 300, 300, 8, 2, 72), id="prefill-dim-72"),
    pytest.param((1, 100, 300, 8, 2, 256), id="prefill-dim-256"),
]


@pytest.mark.usefixtures("fp8")
@pytest.mark.parametrize("sizes", FP8_POINTS)
@pytest.mark.parametrize("is_causal", [False, True], ids=["whole", "causal"])
def test_fp8(sizes, is_causal):
    """Products of what the scales say, with weights in 16 bits."""
    batch, heads_kv = sizes[0], sizes[4]
    tensors = inputs(*sizes, F8)
    generator = torch.Generator("cuda").manual_seed(1)
    scales = [
        torch.rand((batch, heads_kv), generator=generator, device="cuda") + 0.5 for _ in range(3)
    ]
    wide = [
        reference.scaled(one, scale, one.shape[2])
        for one, scale in zip(tensors, scales, strict=True)
    ]
    o = op(is_causal=is_causal)(*tensors, *scales)
    assert o.dtype == BF16
    expected = reference.attention(*wide, causal=is_causal)
    reference.assert_close(o, expected, relative=1e-2)
    assert torch.equal(o, op(is_causal=is_causal)(*tensors, *scales))


@pytest.mark.usefixtures("fp8")
@pytest.mark.parametrize("scale", [1.0, 1e-3, 448.0])
@pytest.mark.parametrize("which", ["q", "k", "v", "none"])
@pytest.mark.parametrize("seqlen_q", [1, 40])
def test_fp8_scales(scale, which, seqlen_q):
    """Each scale alone, from tiny to huge; the absent ones are ones."""
    tensors = inputs(1, seqlen_q, 300, 8, 2, 128, F8)
    factor = torch.full((1, 2), scale, device="cuda")
    factors = {"q": (factor, None, None), "k": (None, factor, None), "v": (None, None, factor)}
    given = factors.get(which, (None, None, None))
    ones = torch.ones_like(factor)
    wide = [
        reference.scaled(one, ones if by is None else by, one.shape[2])
        for one, by in zip(tensors, given, strict=True)
    ]
    o = op(softcap=30.0)(*tensors, *given)
    reference.assert_close(o, reference.attention(*wide, softcap=30.0), relative=1e-2)


@pytest.mark.usefixtures("fp8")
@pytest.mark.parametrize("seqlen_q", [1, 40])
def test_fp8_extremes(seqlen_q):
    """The largest values are exact, and the code of NaN is NaN."""
    q, k, v = inputs(1, seqlen_q, 300, 8, 2, 128, F8)
    largest = torch.full_like(v.float(), 448.0).copysign(v.float()).to(F8)
    o = op(out_dtype=F16)(q, k, largest)
    reference.assert_close(o, reference.attention(q, k, largest), relative=1e-2)
    v.view(torch.uint8)[0, 9, 1, 4] = 0x7F
    o = op()(q, k, v)
    assert o[0, :, 4:, 4].isnan().all()
    assert o.isnan().sum() == 4 * seqlen_q


@pytest.mark.parametrize("out_dtype", [F16, BF16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("seqlen_q", [1, 40])
def test_the_results_dtype(dtype, out_dtype, seqlen_q):
    """The output is rounded once, to the dtype that is asked for."""
    q, k, v = inputs(1, seqlen_q, 300, 8, 2, 128, dtype)
    o = op(out_dtype=out_dtype)(q, k, v)
    assert o.dtype == out_dtype
    reference.assert_close(o, reference.attention(q, k, v), relative=8e-3)
