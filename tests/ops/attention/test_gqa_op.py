"""GQADenseFwdOp's own part of a call, with a registered CPU implementation for the rest.

The implementation checks what the interface promises it; the expected values are written from the
definition, in float64.
"""

import pytest
import torch

from ops.attention import gqa_references as reference
from ops.attention.cpu_attention import CpuGQADenseFwdOp
from ops.attention.gqa_references import inputs
from tileops.errors import SignatureError, UnservedCallError
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.ops.attention.gqa import GQADenseFwdOp
from tileops.tensor_spec import TensorSpec

F16, BF16, F32, F8 = torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn


def given(*sizes, dtype=F16):
    return inputs(*sizes, dtype, device="cpu")


def check(op, q, k, v):
    """Call *op* on 16-bit tensors and compare with the definition; the inputs stay as they are."""
    before = [one.clone() for one in (q, k, v)]
    o = op(q, k, v)
    expected = reference.attention(*before, op.sm_scale, op.softcap, op.is_causal)
    reference.assert_close(o, expected)
    assert (o.shape, o.device) == (q.shape, q.device)
    assert o.is_contiguous()
    assert all(torch.equal(one, same) for one, same in zip((q, k, v), before, strict=True))
    return o


@pytest.mark.parametrize("dtype", [F16, BF16], ids=["fp16", "bf16"])
@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param((1, 1, 1, 8, 2, 16), id="one-key"),
        pytest.param((3, 1, 5, 8, 2, 16), id="decode"),
        pytest.param((2, 4, 4, 4, 4, 8), id="multi-head"),
        pytest.param((2, 3, 7, 6, 1, 24), id="multi-query"),
    ],
)
@pytest.mark.parametrize(
    "params",
    [
        pytest.param({}, id="plain"),
        pytest.param({"is_causal": True}, id="causal"),
        pytest.param({"sm_scale": 0.3}, id="scale"),
        pytest.param({"softcap": 2.0}, id="softcap"),
        pytest.param({"is_causal": True, "softcap": 5.0, "sm_scale": 1.5}, id="everything"),
    ],
)
def test_forms(sizes, params, dtype):
    """Every form of call and every parameter reach the kernel as they are."""
    check(CpuGQADenseFwdOp(**params), *given(*sizes, dtype=dtype))


def test_the_causal_mask_is_aligned_to_the_last_key():
    """The last query sees every key, and the first of several not the last ones."""
    q, k, v = given(1, 2, 5, 2, 2, 8)
    o = CpuGQADenseFwdOp(is_causal=True)(q, k, v)
    torch.testing.assert_close(o[:, 1:], CpuGQADenseFwdOp()(q[:, 1:].contiguous(), k, v))
    first = CpuGQADenseFwdOp()(q[:, :1], k[:, :4], v[:, :4])
    torch.testing.assert_close(o[:, :1], first)


@pytest.mark.parametrize("params", [{}, {"softcap": None}, {"softcap": 0.0}])
def test_no_cap(params):
    """None and zero both mean scores without a bound."""
    op = CpuGQADenseFwdOp(**params)
    assert op.softcap == 0.0
    check(op, *given(1, 1, 4, 2, 1, 8))


@pytest.mark.parametrize(
    ("dtype", "out_dtype", "result"),
    [
        pytest.param(F16, None, F16, id="fp16"),
        pytest.param(BF16, None, BF16, id="bf16"),
        pytest.param(F16, BF16, BF16, id="fp16-to-bf16"),
        pytest.param(F8, None, BF16, id="fp8"),
        pytest.param(F8, F16, F16, id="fp8-to-fp16"),
    ],
)
def test_the_results_dtype(dtype, out_dtype, result):
    """The output has the dtype asked for, else that of 16-bit queries, and bfloat16 for fp8."""
    q, k, v = given(1, 1, 4, 2, 1, 8, dtype=dtype)
    assert CpuGQADenseFwdOp(out_dtype=out_dtype)(q, k, v).dtype == result


@pytest.mark.parametrize("absent", ["none", "q", "k", "v", "all"])
def test_absent_scales_are_ones(absent):
    """Each factor of fp8 data is there by itself, for every sequence and key head."""
    q, k, v = given(2, 3, 5, 4, 2, 8, dtype=F8)
    scales = {name: torch.rand(2, 2) + 0.5 for name in ("q", "k", "v")}
    passed = {f"{n}_scale": s for n, s in scales.items() if absent not in (n, "all")}
    wide = [
        reference.scaled(one, passed.get(f"{name}_scale", torch.ones(2, 2)), one.shape[2])
        for name, one in (("q", q), ("k", k), ("v", v))
    ]
    op = CpuGQADenseFwdOp()
    for _ in range(3):
        reference.assert_close(op(q, k, v, **passed), reference.attention(*wide))


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.repeat(1, 2, 1, 1)[:, : x.shape[1]], id="slice-of-a-cache"),
        pytest.param(lambda x: x.transpose(1, 2).contiguous().transpose(1, 2), id="bhsd"),
        pytest.param(lambda x: x.repeat_interleave(2, 3)[..., ::2], id="strided-heads"),
        pytest.param(lambda x: torch.cat([x, x])[: x.shape[0]], id="batch-slice"),
        pytest.param(
            lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape), id="misaligned"
        ),
    ],
)
def test_layouts(view):
    """Keys and values sliced from a cache, and any other layout, give what dense ones give."""
    op, (q, k, v) = CpuGQADenseFwdOp(), given(2, 1, 6, 4, 2, 8)
    for _ in range(3):
        check(op, q, view(k), view(v))
        check(op, view(q), k, v)


def test_an_empty_batch():
    """Without a sequence or a query there is nothing to do, and nothing is asked of a kernel."""
    q, k, v = given(0, 1, 4, 2, 1, 8)
    assert CpuGQADenseFwdOp()(q, k, v).shape == (0, 1, 2, 8)
    q, k, v = given(2, 0, 4, 2, 1, 8)
    assert CpuGQADenseFwdOp()(q, k, v).shape == (2, 0, 2, 8)


BAD = [
    pytest.param({"k": (1, 0, 1, 8), "v": (1, 0, 1, 8)}, "there is at least one key", id="no-key"),
    pytest.param({"v": (1, 5, 1, 8)}, "v must have shape", id="another-length"),
    pytest.param({"k": (2, 4, 1, 8)}, "k must have shape", id="another-batch"),
    pytest.param({"k": (1, 4, 1, 16)}, "k must have shape", id="another-width"),
    pytest.param({"q": (1, 1, 8)}, "q must have", id="three-dims"),
    pytest.param(
        {"q": (1, 1, 3, 8), "k": (1, 4, 2, 8), "v": (1, 4, 2, 8)},
        "every key head serves as many query heads",
        id="heads-left-over",
    ),
]


@pytest.mark.parametrize(("shapes", "fragment"), BAD)
def test_shapes_that_do_not_fit(shapes, fragment):
    """The error names the tensor or the condition."""
    sizes = {"q": (1, 1, 2, 8), "k": (1, 4, 1, 8), "v": (1, 4, 1, 8), **shapes}
    q, k, v = (torch.zeros(sizes[name], dtype=F16) for name in "qkv")
    with pytest.raises(SignatureError, match=fragment):
        CpuGQADenseFwdOp()(q, k, v)


def test_causal_queries_that_outnumber_keys():
    """A query that sees no key has no softmax; without the mask every query sees them all."""
    q, k, v = given(1, 3, 2, 2, 1, 8)
    with pytest.raises(SignatureError, match="causal queries do not outnumber keys"):
        CpuGQADenseFwdOp(is_causal=True)(q, k, v)
    check(CpuGQADenseFwdOp(), q, k, v)


@pytest.mark.parametrize(
    ("dtypes", "scales", "fragment"),
    [
        pytest.param((F32, F32, F32), {}, "q must have dtype", id="float32"),
        pytest.param((F16, BF16, F16), {}, "k must have dtype", id="mixed"),
        pytest.param((F8, F8, F16), {}, "v must have dtype", id="partly-fp8"),
        pytest.param((F16, F16, F16), {"v_scale": F32}, "only float8_e4m3fn is scaled", id="fp16"),
        pytest.param((F8, F8, F8), {"k_scale": F16}, "k_scale must have dtype", id="half-scale"),
    ],
)
def test_dtypes_that_do_not_fit(dtypes, scales, fragment):
    """The error names the tensor or the condition."""
    shapes = ((1, 1, 2, 8), (1, 4, 1, 8), (1, 4, 1, 8))
    tensors = [torch.zeros(s, dtype=d) for s, d in zip(shapes, dtypes, strict=True)]
    given_scales = {name: torch.ones(1, 1, dtype=dtype) for name, dtype in scales.items()}
    with pytest.raises(SignatureError, match=fragment):
        CpuGQADenseFwdOp()(*tensors, **given_scales)


@pytest.mark.parametrize(
    ("params", "fragment"),
    [
        pytest.param({"softcap": -1.0}, "softcap is not negative", id="negative-cap"),
        pytest.param({"out_dtype": F32}, "out_dtype is float16 or bfloat16", id="wide-result"),
        pytest.param({"is_causal": 1}, "is_causal", id="causal-number"),
    ],
)
def test_parameters_that_do_not_fit(params, fragment):
    """The constructor refuses what no call could have."""
    with pytest.raises((SignatureError, TypeError), match=fragment):
        CpuGQADenseFwdOp(**params)


def test_requests_are_a_function_of_descriptions():
    """The request of a call is known from shape, dtype and device, on a machine without them."""
    op = GQADenseFwdOp(is_causal=True, sm_scale=0.5, softcap=30.0, out_dtype=BF16)
    device = torch.device("cuda:0")
    q, k, v = (
        TensorSpec(shape, F8, device) for shape in ((2, 3, 8, 64), (2, 9, 2, 64), (2, 9, 2, 64))
    )
    assert op.requests(q, k, v, None, None, None) == (
        (
            "gqa_dense",
            AttentionCall(
                device,
                dtype=F8,
                batch=2,
                heads=8,
                heads_kv=2,
                dim=64,
                seqlen_q=3,
                seqlen_kv=9,
                is_causal=True,
                sm_scale=0.5,
                softcap=30.0,
                is_fp8=True,
                out_dtype=BF16,
            ),
        ),
    )


def test_explaining_a_call_from_its_tensors():
    """What a call selects is known without running it."""
    device = torch.device("cuda:0")
    shapes = ((1, 1, 32, 128), (1, 512, 4, 128), (1, 512, 4, 128))
    tensors = [TensorSpec(shape, F16, device) for shape in shapes]
    (selection,) = GQADenseFwdOp().explain_call(*tensors, arch=90)
    assert selection.winner() == "gqa_dense_decode_bs1"
    ragged = [TensorSpec((*one.shape[:3], 100), F16, device) for one in tensors]
    (selection,) = GQADenseFwdOp().explain_call(*ragged, arch=90)
    with pytest.raises(UnservedCallError, match="serves dim in multiples of 8, got 100"):
        selection.winner()
