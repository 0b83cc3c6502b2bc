"""Which key serves which region of gated linear attention's calls, with the device facts stated."""

import pytest
import torch

from tileops.device import BOARDS
from tileops.errors import OpNotAvailableError, UnservedCallError
from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.ops.linear_attention.gla import GLAFwdOp
from tileops.testing import assert_selects, selection_cases

WIDTHS = (32, 64, 128, 256)


def gla_call(arch=90, **facts):
    """A call of 16 heads of the usual width, unless stated otherwise."""
    return GLACall(arch=arch, **{"batch": 1, "heads": 16, "dim_k": 128, "dim_v": 128, **facts})


def expected(call):
    """The key by the documented regions, written down a second time."""
    if call.arch not in (80, 86, 89, 90):
        return None
    if call.dim_k not in WIDTHS or call.dim_v not in WIDTHS:
        return None
    if call.seq_len == 1:
        return "gla_decode"
    if (call.dim_k == 256 and call.arch != 90) or call.seq_len > 2**30:
        return None
    few = call.batch * call.heads <= (32 if call.dim_v == 256 else 64)
    return "gla_partitioned" if few and call.seq_len >= 1024 else "gla_prefill"


@pytest.mark.parametrize("arch", [80, 86, 89, 90])
@pytest.mark.parametrize(
    ("seq_len", "key"),
    [
        pytest.param(0, "gla_prefill", id="no-step"),
        pytest.param(1, "gla_decode", id="one-step"),
        pytest.param(2, "gla_prefill", id="two-steps"),
        pytest.param(1023, "gla_prefill", id="just-short"),
        pytest.param(1024, "gla_partitioned", id="long"),
        pytest.param(131072, "gla_partitioned", id="very-long"),
        pytest.param(2**30, "gla_partitioned", id="longest"),
        pytest.param(2**30 + 1, None, id="too-long"),
    ],
)
def test_the_length_decides(arch, seq_len, key):
    """One step decodes; long sequences of few heads are cut into parts; the rest is general."""
    assert_selects(GLAFwdOp, "gla", gla_call(arch, seq_len=seq_len), key)


@pytest.mark.parametrize(
    ("batch", "heads", "key"),
    [
        pytest.param(1, 1, "gla_partitioned", id="one"),
        pytest.param(1, 64, "gla_partitioned", id="64-heads"),
        pytest.param(1, 65, "gla_prefill", id="65-heads"),
        pytest.param(64, 1, "gla_partitioned", id="64-batch"),
        pytest.param(65, 1, "gla_prefill", id="65-batch"),
        pytest.param(4, 16, "gla_partitioned", id="4-by-16"),
        pytest.param(3, 22, "gla_prefill", id="3-by-22"),
        pytest.param(8, 32, "gla_prefill", id="8-by-32"),
    ],
)
def test_many_sequences_need_no_parts(batch, heads, key):
    """Where batch times heads fills the device, every sequence is walked from end to end."""
    assert_selects(GLAFwdOp, "gla", gla_call(batch=batch, heads=heads, seq_len=4096), key)


@pytest.mark.parametrize(
    ("heads", "key"), [(1, "gla_partitioned"), (32, "gla_partitioned"), (33, "gla_prefill")]
)
def test_half_as_many_sequences_of_the_widest_values_need_no_parts(heads, key):
    """Their values are cut in two, and either half keeps a block busy."""
    assert_selects(GLAFwdOp, "gla", gla_call(heads=heads, seq_len=4096, dim_v=256), key)


@pytest.mark.parametrize("sequences", [1, 64, 65, 4096])
def test_one_step_is_decoded_whatever_the_batch(sequences):
    """Nothing but the length and the widths matters to decoding."""
    assert_selects(GLAFwdOp, "gla", gla_call(batch=sequences, heads=1, seq_len=1), "gla_decode")


@pytest.mark.parametrize("seq_len", [1, 512, 4096])
@pytest.mark.parametrize(
    "width", [1, 31, 32, 33, 48, 63, 64, 96, 127, 128, 192, 255, 256, 257, 512]
)
def test_widths(width, seq_len):
    """Widths of 32, 64, 128 and 256 are served, of keys and of values."""
    for facts in ({"dim_k": width}, {"dim_v": width}):
        call = gla_call(seq_len=seq_len, **facts)
        assert_selects(GLAFwdOp, "gla", call, expected(call) if width in WIDTHS else None)


@pytest.mark.parametrize("arch", [80, 86, 89])
def test_the_widest_keys_need_hopper_for_more_than_a_step(arch):
    """A chunk of 256-wide keys fits no smaller block; one step, or wide values, are no chunk."""
    assert_selects(GLAFwdOp, "gla", gla_call(arch, seq_len=2, dim_k=256), None)
    assert_selects(GLAFwdOp, "gla", gla_call(arch, seq_len=1, dim_k=256), "gla_decode")
    assert_selects(GLAFwdOp, "gla", gla_call(arch, seq_len=2, dim_v=256), "gla_prefill")
    assert_selects(GLAFwdOp, "gla", gla_call(90, seq_len=2, dim_k=256), "gla_prefill")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("has_initial_state", [False, True], ids=["from-zeros", "continued"])
@pytest.mark.parametrize("scale", [0.0, 128**-0.5, -1.0])
def test_neither_dtype_nor_scale_nor_state_takes_part(dtype, has_initial_state, scale):
    """They change the build, not the choice."""
    for seq_len, key in ((1, "gla_decode"), (2, "gla_prefill"), (2048, "gla_partitioned")):
        call = gla_call(
            seq_len=seq_len, dtype=dtype, scale=scale, has_initial_state=has_initial_state
        )
        assert_selects(GLAFwdOp, "gla", call, key)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_by_board(board):
    """Every known board but the B200 runs every key."""
    facts = board.facts
    for seq_len in (1, 2, 4096):
        call = GLACall(
            arch=facts.arch,
            sm_count=facts.sm_count,
            smem_budget=facts.smem_budget,
            batch=1,
            seq_len=seq_len,
            heads=16,
            dim_k=128,
            dim_v=128,
        )
        assert_selects(GLAFwdOp, "gla", call, None if board.name == "b200" else expected(call))


@pytest.mark.parametrize("arch", [75, 87, 100, 120])
def test_other_architectures_are_named(arch):
    """The error of an architecture that is not among them names them all."""
    with pytest.raises(UnservedCallError, match=f"supports arch 80, 86, 89, 90, got {arch}"):
        GLAFwdOp().key_for("gla", gla_call(arch, seq_len=16))


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param({"dim_k": 96}, "serves dim_k 32, 64, 128 or 256, got 96", id="keys"),
        pytest.param({"dim_v": 512}, "serves dim_v 32, 64, 128 or 256, got 512", id="values"),
        pytest.param(
            {"seq_len": 2, "dim_k": 96}, "gla_decode: serves seq_len 1, got 2", id="not-one-step"
        ),
        pytest.param(
            {"seq_len": 1023, "dim_k": 96},
            "gla_partitioned: serves seq_len of at least 1024, got 1023",
            id="too-short",
        ),
        pytest.param(
            {"heads": 65, "dim_k": 96},
            "gla_partitioned: serves batch \\* heads of at most 64, got 65",
            id="too-many",
        ),
        pytest.param(
            {"heads": 33, "dim_k": 96, "dim_v": 256},
            "gla_partitioned: serves batch \\* heads of at most 32 where dim_v is 256, got 33",
            id="too-many-wide",
        ),
        pytest.param(
            {"dim_k": 256, "arch": 86}, "serves dim_k 256 on arch 90, got arch 86", id="room"
        ),
        pytest.param(
            {"seq_len": 2**30 + 1},
            "serves seq_len of at most 1073741824, got 1073741825",
            id="uncountable",
        ),
    ],
)
def test_reasons(facts, reason):
    """A refusal states what is served and what was asked."""
    call = gla_call(**{"seq_len": 4096, **facts})
    with pytest.raises(UnservedCallError, match=reason):
        GLAFwdOp().key_for("gla", call)


@pytest.mark.parametrize("device", ["cpu", "meta", "xpu:0"])
def test_off_cuda(device):
    """On another device type no in-tree key runs, whatever the call."""
    call = GLACall(device=device, batch=1, seq_len=1, heads=1, dim_k=32, dim_v=32)
    with pytest.raises(OpNotAvailableError, match="in-tree kernels do not run on"):
        GLAFwdOp().key_for("gla", call)


@selection_cases(GLAFwdOp)
def test_boundaries(case):
    """Both sides of every boundary of the selection are what the regions say."""
    assert_selects(case.op, case.interface, case.call, expected(case.call))


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        pytest.param({"batch": 0}, "batch must be at least 1, got 0", id="batch"),
        pytest.param({"seq_len": -1}, "seq_len must not be negative, got -1", id="length"),
        pytest.param({"heads": 0}, "heads must be at least 1, got 0", id="heads"),
        pytest.param({"dim_k": 0}, "dim_k must be at least 1, got 0", id="keys"),
        pytest.param({"dim_v": 0}, "dim_v must be at least 1, got 0", id="values"),
        pytest.param(
            {"dtype": torch.float32},
            "dtype must be float16 or bfloat16, got torch.float32",
            id="dtype",
        ),
        pytest.param({"seq_len": 0}, None, id="no-step-is-possible"),
        pytest.param({"dim_k": 96}, None, id="unserved-is-possible"),
    ],
)
def test_impossible_calls(facts, problem):
    """No op makes a call without sequences, or of another dtype."""
    assert gla_call(**{"seq_len": 4, **facts}).impossible() == problem
