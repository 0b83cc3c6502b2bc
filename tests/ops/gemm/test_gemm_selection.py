"""Which key serves which matrix product, on both sides of every boundary."""

import pytest
import torch

from tileops.errors import OpNotAvailableError, UnservedCallError
from tileops.kernels.gemm.call_spec import LARGEST_SIZE, GemmCall
from tileops.ops.gemm.gemm import GemmFwdOp
from tileops.testing import assert_selects, selection_cases

GENERAL, TMA, SKINNY, GEMV = "gemm_cp_async", "gemm_tma", "gemm_skinny", "gemv"
LAYOUTS = {"nn": (False, False), "nt": (False, True), "tn": (True, False), "tt": (True, True)}


def call(m, n, k, layout="nt", arch=90, dtype=torch.bfloat16):
    trans_a, trans_b = LAYOUTS[layout]
    return GemmCall(arch=arch, m=m, n=n, k=k, dtype=dtype, trans_a=trans_a, trans_b=trans_b)


@pytest.mark.parametrize(
    ("m", "n", "k", "key"),
    [
        pytest.param(1, 4096, 4096, GEMV, id="one-row"),
        pytest.param(2, 4096, 4096, SKINNY, id="two-rows"),
        pytest.param(4, 4095, 4096, TMA, id="four-rows-odd-n"),
        pytest.param(128, 4096, 4096, SKINNY, id="128-rows"),
        pytest.param(129, 4096, 4096, TMA, id="129-rows"),
        pytest.param(4096, 4096, 4096, TMA, id="many-rows"),
        pytest.param(1, 4095, 4096, GEMV, id="one-row-odd-n"),
        pytest.param(5, 4095, 4096, TMA, id="few-rows-odd-n"),
        pytest.param(256, 21843, 1024, TMA, id="odd-vocabulary"),
        pytest.param(1, 4096, 4095, GENERAL, id="one-row-odd-k"),
        pytest.param(64, 4096, 4100, GENERAL, id="half-a-vector-left"),
        pytest.param(4096, 4096, 4095, GENERAL, id="odd-k"),
        pytest.param(1, 1, 8, GEMV, id="smallest"),
        pytest.param(64, 64, 7, None, id="k-7"),
        pytest.param(64, 64, 0, None, id="k-0"),
        pytest.param(LARGEST_SIZE, 1, 8, TMA, id="most-rows"),
        pytest.param(1, LARGEST_SIZE, 8, GEMV, id="most-columns"),
    ],
)
def test_a_linear_layer_on_hopper(m, n, k, key):
    """By rows GEMV, skinny and TMA; other kernels where rows are no whole vectors."""
    assert_selects(GemmFwdOp, "gemm", call(m, n, k), key)


@pytest.mark.parametrize("arch", [80, 86, 89])
@pytest.mark.parametrize(
    ("m", "k", "key"),
    [
        pytest.param(4, 4096, GEMV, id="four-rows"),
        pytest.param(5, 4096, GENERAL, id="five-rows"),
        pytest.param(4096, 4096, GENERAL, id="many-rows"),
        pytest.param(4, 4095, GENERAL, id="odd-k"),
        pytest.param(64, 7, None, id="k-7"),
    ],
)
def test_a_linear_layer_before_hopper(arch, m, k, key):
    """Without TMA and clusters the general kernel serves all but very few rows."""
    assert_selects(GemmFwdOp, "gemm", call(m, 4096, k, arch=arch), key)


@pytest.mark.parametrize(
    ("layout", "m", "n", "k", "key"),
    [
        pytest.param("nn", 512, 4096, 4096, TMA, id="nn"),
        pytest.param("nn", 512, 4095, 4096, GENERAL, id="nn-odd-n"),
        pytest.param("nn", 512, 4096, 4095, GENERAL, id="nn-odd-k"),
        pytest.param("nn", 1, 4096, 4095, GEMV, id="nn-one-row-odd-k"),
        pytest.param("nn", 2, 4096, 4095, GENERAL, id="nn-few-rows-odd-k"),
        pytest.param("nn", 2, 4096, 4096, SKINNY, id="nn-few-rows"),
        pytest.param("nn", 2, 4095, 4096, GENERAL, id="nn-few-rows-odd-n"),
        pytest.param("tn", 512, 4096, 4095, TMA, id="tn-odd-k"),
        pytest.param("tn", 513, 4096, 4096, GENERAL, id="tn-odd-m"),
        pytest.param("tn", 512, 4095, 4096, GENERAL, id="tn-odd-n"),
        pytest.param("tn", 1, 4096, 4096, GEMV, id="tn-one-row"),
        pytest.param("tn", 2, 4096, 4096, GENERAL, id="tn-two-rows"),
        pytest.param("tn", 8, 4096, 4096, SKINNY, id="tn-eight-rows"),
        pytest.param("tt", 512, 4095, 4096, TMA, id="tt-odd-n"),
        pytest.param("tt", 512, 4096, 4095, GENERAL, id="tt-odd-k"),
        pytest.param("tt", 513, 4096, 4096, GENERAL, id="tt-odd-m"),
    ],
)
def test_other_layouts_on_hopper(layout, m, n, k, key):
    """What must be a whole number of vectors is the row of an operand as it is stored."""
    assert_selects(GemmFwdOp, "gemm", call(m, n, k, layout), key)


def stored_rows_are_vectors(call):
    first = call.m if call.trans_a else call.k
    second = call.k if call.trans_b else call.n
    return first % 8 == 0, second % 8 == 0


@selection_cases(GemmFwdOp)
def test_boundaries(case):
    """Each step across a boundary of one fact changes the key as the regions above say."""
    call = case.call
    first, second = stored_rows_are_vectors(call)
    if call.arch not in (80, 86, 89, 90) or call.k < 8:
        key = None
    elif call.m == 1 and second:
        key = GEMV
    elif call.arch == 90 and first and second and call.m <= 128 and call.n % 8 == 0:
        key = SKINNY
    elif call.arch != 90 and call.m <= 4 and second and not call.trans_a:
        key = GEMV
    elif call.arch != 90 or not (first and second):
        key = GENERAL
    else:
        key = TMA
    assert_selects(case.op, case.interface, call, key)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("arch", [80, 86, 89, 90])
def test_a_short_sum_names_its_length(layout, dtype, arch):
    """k below one vector is refused by every key that could have run."""
    with pytest.raises(ValueError, match=r"k must span at least one 16-byte vector, .* got 7"):
        GemmFwdOp(*LAYOUTS[layout]).key_for("gemm", call(64, 64, 7, layout, arch, dtype))


@pytest.mark.parametrize(
    ("m", "arch", "reason"),
    [
        pytest.param(32, 90, "serves one row on arch 90, got 32", id="hopper"),
        pytest.param(2, 90, "serves one row on arch 90, got 2", id="hopper-few"),
        pytest.param(32, 80, "serves up to 4 rows, got 32", id="ampere"),
    ],
)
def test_gemv_names_the_rows_that_it_serves_there(m, arch, reason):
    """On Hopper one row, however many more were asked for."""
    found = GemmFwdOp().explain("gemm", call(m, 4096, 4096, arch=arch))

    assert {one.key: one.reason for one in found.verdicts}[GEMV] == reason


@pytest.mark.parametrize("arch", [75, 87, 100])
def test_architectures_that_no_key_supports(arch):
    """The error names the architectures that are."""
    with pytest.raises(UnservedCallError, match="supports arch 80, 86, 89, 90, got"):
        GemmFwdOp().key_for("gemm", call(64, 64, 64, arch=arch))


def test_off_cuda():
    """On another device type no in-tree key runs."""
    with pytest.raises(OpNotAvailableError, match="in-tree kernels do not run on"):
        GemmFwdOp().key_for("gemm", GemmCall(device="cpu", m=64, n=64, k=64))


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        pytest.param({"m": 0}, "m must be 1 to", id="no-rows"),
        pytest.param({"n": 0}, "n must be 1 to", id="no-columns"),
        pytest.param({"k": -1}, "k must be 0 to", id="negative-k"),
        pytest.param({"m": LARGEST_SIZE + 1}, "m must be 1 to", id="too-many-rows"),
        pytest.param({"n": LARGEST_SIZE + 1}, "n must be 1 to", id="too-many-columns"),
        pytest.param({"k": LARGEST_SIZE + 1}, "k must be 0 to", id="too-deep"),
        pytest.param({"dtype": torch.float32}, "dtype must be float16 or bfloat16", id="fp32"),
    ],
)
def test_impossible_calls(facts, problem):
    """A product without elements, of a size beyond 32 bits or in float32 is no call of the op."""
    assert problem in GemmCall(**{"m": 8, "n": 8, "k": 8, **facts}).impossible()


@pytest.mark.parametrize("k", [0, 1, 8, LARGEST_SIZE])
def test_possible_calls(k):
    """A sum over nothing is a call, if one that is refused."""
    assert GemmCall(m=1, n=LARGEST_SIZE, k=k).impossible() is None
