"""Which key serves which region of attention's calls, with the device facts stated."""

from __future__ import annotations

import re

import pytest
import torch

from tileops.cli import main
from tileops.errors import UnservedCallError
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.attention.gqa.fp8 import GQADenseFP8Kernel
from tileops.kernels.attention.gqa.fp8_decode import GQADenseFP8DecodeKernel
from tileops.ops.attention.gqa import GQADenseFwdOp
from tileops.testing import assert_selects, selection_cases

F16, BF16, F8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn

DECODE = "gqa_dense_decode"
BS1 = "gqa_dense_decode_bs1"
LONG = "gqa_dense_decode_long_context"
FP8 = "gqa_dense_fp8"
FP8_DECODE = "gqa_dense_fp8_decode"
PREFILL = "gqa_dense_prefill"

FP8_FACTS = {"dtype": F8, "is_fp8": True}


def call(arch=90, **facts):
    """A decoding call of one sequence, 32 heads over 4 of 128 elements in float16."""
    return AttentionCall(arch=arch, **{"seqlen_kv": 4096, **facts})


TABLE_2 = [
    pytest.param(80, 512, DECODE, {DECODE}, id="sm80-512"),
    pytest.param(80, 1023, DECODE, {DECODE}, id="sm80-1023"),
    pytest.param(80, 1024, LONG, {DECODE, LONG}, id="sm80-1024"),
    pytest.param(80, 4096, LONG, {DECODE, LONG}, id="sm80-4096"),
    pytest.param(89, 512, DECODE, {DECODE}, id="sm89-512"),
    pytest.param(89, 1023, DECODE, {DECODE}, id="sm89-1023"),
    pytest.param(89, 1024, LONG, {DECODE, LONG}, id="sm89-1024"),
    pytest.param(89, 4096, LONG, {DECODE, LONG}, id="sm89-4096"),
    pytest.param(90, 512, BS1, {DECODE, BS1}, id="sm90-512"),
    pytest.param(90, 1023, BS1, {DECODE, BS1}, id="sm90-1023"),
    pytest.param(90, 1024, LONG, {DECODE, BS1, LONG}, id="sm90-1024"),
    pytest.param(90, 4096, LONG, {DECODE, BS1, LONG}, id="sm90-4096"),
]


@pytest.mark.parametrize(("arch", "seqlen_kv", "key", "applicable"), TABLE_2)
def test_batch_1_decoding_by_architecture_and_length(arch, seqlen_kv, key, applicable):
    """One key is selected among exactly those that are available and apply."""
    selection = GQADenseFwdOp().explain("gqa_dense", call(arch, seqlen_kv=seqlen_kv))
    assert selection.winner() == key
    reached = {"selected", "outranked", "tied"}
    assert {one.key for one in selection.verdicts if one.stage.value in reached} == applicable


@pytest.mark.parametrize(("arch", "seqlen_kv", "key", "applicable"), TABLE_2)
def test_the_command_line_says_the_same(arch, seqlen_kv, key, applicable, capsys):
    """``tileops explain`` with the length and the architecture alone selects the same key."""
    words = ("--seqlen-kv", str(seqlen_kv), "--arch", str(arch), "--expect", key)
    with pytest.raises(SystemExit) as ended:
        main(("explain", "GQADenseFwdOp", *words))
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert re.search(rf"^selected {key}\b.* arch {arch}\b", out, re.MULTILINE)
    found = re.findall(r"^  [*o] (\w+) +(?:selected|outranked)", out, re.MULTILINE)
    assert set(found) == applicable


@pytest.mark.parametrize(
    ("facts", "keys"),
    [
        pytest.param({}, {80: LONG, 89: LONG, 90: LONG}, id="long-context"),
        pytest.param({"dtype": BF16}, {80: DECODE, 89: DECODE, 90: BS1}, id="bf16"),
        pytest.param({"softcap": 30.0}, {80: DECODE, 89: DECODE, 90: BS1}, id="softcap"),
        pytest.param({"heads_kv": 8}, {80: DECODE, 89: DECODE, 90: BS1}, id="8-key-heads"),
        pytest.param({"heads": 64}, {80: DECODE, 89: DECODE, 90: BS1}, id="64-heads"),
        pytest.param({"dim": 64}, {80: DECODE, 89: DECODE, 90: BS1}, id="dim-64"),
        pytest.param({"batch": 2}, {80: DECODE, 89: DECODE, 90: DECODE}, id="batch-2"),
        pytest.param({"is_causal": True}, {80: LONG, 89: LONG, 90: LONG}, id="one-causal-query"),
        pytest.param({"sm_scale": 0.5}, {80: LONG, 89: LONG, 90: LONG}, id="scale"),
        pytest.param({"out_dtype": BF16}, {80: LONG, 89: LONG, 90: LONG}, id="out-dtype"),
        pytest.param({"seqlen_kv": 262144}, {80: LONG, 89: LONG, 90: LONG}, id="262144-keys"),
        pytest.param({"seqlen_q": 2}, {80: PREFILL, 89: PREFILL, 90: PREFILL}, id="two-queries"),
        pytest.param(
            {"seqlen_q": 4096, "dtype": BF16, "is_causal": True, "batch": 4},
            {80: PREFILL, 89: PREFILL, 90: PREFILL},
            id="prefill",
        ),
        pytest.param(FP8_FACTS, {80: None, 89: None, 90: FP8_DECODE}, id="fp8-one-query"),
        pytest.param(
            {**FP8_FACTS, "batch": 32, "heads": 71, "heads_kv": 1, "softcap": 5.0},
            {80: None, 89: None, 90: FP8_DECODE},
            id="fp8-decode-of-any-form",
        ),
        pytest.param(
            {**FP8_FACTS, "seqlen_q": 2}, {80: None, 89: None, 90: FP8}, id="fp8-two-queries"
        ),
        pytest.param({"dim": 256}, {80: DECODE, 89: DECODE, 90: BS1}, id="widest-heads"),
        pytest.param({"dim": 8}, {80: DECODE, 89: DECODE, 90: BS1}, id="narrowest-heads"),
        pytest.param({"dim": 264}, {80: None, 89: None, 90: None}, id="too-wide"),
        pytest.param({"dim": 100}, {80: None, 89: None, 90: None}, id="ragged-heads"),
    ],
)
@pytest.mark.parametrize("arch", [75, 80, 86, 89, 90, 100])
def test_by_facts_and_architecture(facts, keys, arch):
    """Each region has its key on every architecture; others than these three have none."""
    assert_selects(GQADenseFwdOp, "gqa_dense", call(arch, **facts), keys.get(arch))


def wanted(one):
    """The key that serves a call, or None, as the documentation states it."""
    arch, decoding = one.arch, one.seqlen_q == 1
    if arch not in (80, 89, 90) or one.fuse_rope or one.window:
        return None
    if one.dim not in range(8, 257, 8):
        return None
    if one.is_fp8:
        return None if arch != 90 else FP8_DECODE if decoding else FP8
    if not decoding:
        return PREFILL
    form = (one.batch, one.heads, one.heads_kv, one.dim, one.dtype, one.softcap)
    if one.seqlen_kv >= 1024 and form == (1, 32, 4, 128, F16, 0.0):
        return LONG
    return BS1 if arch == 90 and one.batch == 1 and one.seqlen_kv <= 8192 else DECODE


@selection_cases(GQADenseFwdOp)
def test_both_sides_of_every_boundary(case):
    """Where one step of one fact changes the key, each side has the key that is documented."""
    assert_selects(case.op, case.interface, case.call, wanted(case.call))


@pytest.mark.parametrize(
    ("arch", "facts"),
    [
        pytest.param(80, {}, id="sm80"),
        pytest.param(89, {}, id="sm89"),
        pytest.param(90, {}, id="sm90"),
        pytest.param(90, FP8_FACTS, id="sm90-fp8"),
    ],
)
@pytest.mark.parametrize("seqlen_q", [1, 2])
@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        pytest.param("fuse_rope", "serves positions rotated beforehand, got fuse_rope True"),
        pytest.param("window", "serves whole sequences, got window True"),
    ],
)
def test_what_no_op_argument_asks_for_yet(arch, seqlen_q, facts, fact, reason):
    """Every kernel refuses the fact with its value."""
    asked = call(arch, seqlen_q=seqlen_q, **facts, **{fact: True})
    with pytest.raises(UnservedCallError, match=reason):
        GQADenseFwdOp().key_for("gqa_dense", asked)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param({"dim": 100}, "serves dim in multiples of 8, got 100", id="ragged"),
        pytest.param({"dim": 264}, "serves dim up to 256, got 264", id="wide"),
        pytest.param({"dim": 1}, "serves dim in multiples of 8, got 1", id="one-element"),
    ],
)
def test_heads_that_are_refused_by_name(facts, reason):
    """The error says which heads are served."""
    with pytest.raises(UnservedCallError, match=reason):
        GQADenseFwdOp().key_for("gqa_dense", call(**facts))


REASONS = [
    pytest.param(LONG, {"seqlen_kv": 1023}, "serves seqlen_kv from 1024, got 1023", id="short"),
    pytest.param(LONG, {"batch": 4}, "serves batch 1, got 4", id="batch"),
    pytest.param(
        LONG,
        {"heads": 64},
        "serves 32 heads over 4 of dim 128, got 64 over 4 of dim 128",
        id="form",
    ),
    pytest.param(LONG, {"dtype": BF16}, "serves float16, got torch.bfloat16", id="dtype"),
    pytest.param(
        LONG, {"softcap": 5.0}, "serves scores without a cap, got softcap 5.0", id="softcap"
    ),
    pytest.param(LONG, {"window": True}, "serves whole sequences, got window True", id="base"),
    pytest.param(BS1, {"batch": 2}, "serves batch 1, got 2", id="bs1-batch"),
    pytest.param(BS1, {"seqlen_kv": 8193}, "serves seqlen_kv up to 8192, got 8193", id="bs1-long"),
    pytest.param(
        DECODE,
        {"seqlen_q": 2},
        "serves one 16-bit query a sequence, got seqlen_q 2 of torch.float16",
        id="two-queries",
    ),
    pytest.param(
        DECODE,
        FP8_FACTS,
        "serves one 16-bit query a sequence, got seqlen_q 1 of torch.float8_e4m3fn",
        id="decode-fp8",
    ),
    pytest.param(FP8, {}, "serves float8_e4m3fn, got torch.float16", id="fp8-of-16-bit"),
    pytest.param(FP8_DECODE, {}, "serves float8_e4m3fn, got torch.float16", id="fp8-decode-16-bit"),
    pytest.param(
        FP8_DECODE,
        {**FP8_FACTS, "seqlen_q": 2},
        "serves one query a sequence, got seqlen_q 2",
        id="fp8-decode-queries",
    ),
    pytest.param(
        PREFILL, FP8_FACTS, "serves float16 and bfloat16, got torch.float8_e4m3fn", id="prefill-fp8"
    ),
    pytest.param(
        PREFILL, {}, "serves two queries a sequence and more, got seqlen_q 1", id="prefill-decode"
    ),
]


@pytest.mark.parametrize(("key", "facts", "reason"), REASONS)
def test_every_limit_says_what_it_saw(key, facts, reason):
    """A kernel refuses with its requirement and the observed value."""
    kernel = GQADenseFwdOp.kernel_types[key]
    assert kernel.refusal(call(**facts)) == reason


@pytest.mark.parametrize("seqlen_kv", [1, 2047, 2048, 2049, 262144])
@pytest.mark.parametrize("heads", [64, 68], ids=["16-heads-a-key-head", "17-heads-a-key-head"])
def test_generic_fp8_does_not_refuse_decoding(seqlen_kv, heads):
    """Precedence, not a refusal, leaves decoding to the kernel made for it, and only there."""
    decoding = call(seqlen_kv=seqlen_kv, heads=heads, **FP8_FACTS)
    assert GQADenseFP8Kernel.refusal(decoding) is None
    assert GQADenseFP8DecodeKernel.refusal(decoding) is None
    selection = GQADenseFwdOp().explain("gqa_dense", decoding)
    assert selection.winner() == FP8_DECODE
    (beaten,) = [one for one in selection.verdicts if one.key == FP8]
    assert beaten.stage.value == "outranked"
    assert_selects(GQADenseFwdOp, "gqa_dense", decoding.with_facts(seqlen_q=2), FP8)


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [
        pytest.param({"heads": 30}, "heads must be a multiple of heads_kv, got 30 and 4"),
        pytest.param({"heads_kv": 0}, "heads must be a multiple of heads_kv, got 32 and 0"),
        pytest.param({"dtype": torch.float32}, "dtype must be float16, bfloat16 or float8_e4m3fn"),
        pytest.param({"is_fp8": True}, "is_fp8 must say whether dtype is float8_e4m3fn, got True"),
        pytest.param({"dtype": F8}, "is_fp8 must say whether dtype is float8_e4m3fn, got False"),
        pytest.param({"out_dtype": torch.float32}, "out_dtype must be float16 or bfloat16"),
        pytest.param(
            {"is_causal": True, "seqlen_q": 4097}, "must not outnumber keys, got seqlen_q 4097"
        ),
    ],
)
def test_calls_that_no_op_makes(facts, fragment):
    """The call spec says which facts do not go together."""
    assert fragment in call(**facts).impossible()
    assert call().impossible() is None


def test_the_decoding_region():
    """One 16-bit query a sequence, whatever else is asked for."""
    assert call().dense_decode_region
    assert call(fuse_rope=True, batch=7, is_causal=True).dense_decode_region
    assert not call(seqlen_q=2).dense_decode_region
    assert not call(**FP8_FACTS).dense_decode_region


def test_defaults_of_scale_and_result():
    """Scores are scaled by the root of the width, and results have a 16-bit dtype."""
    assert call(dim=64).softmax_scale == 0.125
    assert call(sm_scale=2.0).softmax_scale == 2.0
    assert call(dtype=BF16).result_dtype == BF16
    assert call(**FP8_FACTS).result_dtype == BF16
    assert call(**FP8_FACTS, out_dtype=F16).result_dtype == F16
