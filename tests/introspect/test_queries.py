"""Conditions, boundaries, maps and graphs of selection."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from specified import (
    GQA,
    LAYER_NORM,
    AttentionCall,
    GemmCall,
    GQADecodeLongContextKernel,
    LogarithmGemm,
    SkinnyGemm,
    SplitKGemm,
    TiledGemm,
    explored,
)

from tileops.introspect.boundaries import boundaries, outcome_name
from tileops.introspect.conditions import conditions
from tileops.introspect.formula import compiled
from tileops.introspect.graph import Overlap, precedence_graph
from tileops.introspect.maps import Axis, line, raster
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.selection import select

GEMM = {"tiled": TiledGemm, "split_k": SplitKGemm, "skinny": SkinnyGemm}


def test_every_condition_of_a_conjunction_is_shown_with_value_and_line() -> None:
    """A refusal that says only "does not serve this call" is taken apart into its conditions."""
    found = explored(AttentionCall, **GQA)
    values = found.form.values(AttentionCall(arch=90, seqlen_kv=512, softcap=30.0))
    shown = conditions(found, "long_context", values)
    source, first = inspect.getsourcelines(GQADecodeLongContextKernel.refusal)
    lines = {first + n: line.strip() for n, line in enumerate(source)}

    assert [(one.text, one.holds, one.observed) for one in shown][-9:] == [
        ("seqlen_q == 1", True, "is 1"),
        ("not fuse_rope", True, "is false"),
        ("seqlen_kv >= 1024", False, "is 512"),
        ("batch == 1", True, "is 1"),
        ("heads == 32", True, "is 32"),
        ("heads_kv == 4", True, "is 4"),
        ("dim == 128", True, "is 128"),
        ("dtype is float16", True, "is float16"),
        ("softcap == 0", False, "is 30"),
    ]
    by_text = {one.text: one.place.rpartition(":") for one in shown}
    assert lines[int(by_text["seqlen_kv >= 1024"][2])] == "and call.seqlen_kv >= 1024"
    assert lines[int(by_text["softcap == 0"][2])] == "and call.softcap == 0.0"
    assert by_text["softcap == 0"][0] == "specified.py"


def test_a_computed_condition_shows_what_was_computed() -> None:
    """The left side of a comparison is given its value for the call."""
    found = explored(GemmCall, **GEMM)
    values = found.form.values(GemmCall(arch=90, m=4096, n=4096, k=8192))
    (failed,) = [one for one in conditions(found, "split_k", values) if not one.holds]

    assert failed.text == "-(-m // 128) * -(-n // 128) < sm_count"
    assert failed.observed == "m is 4096, n is 4096, sm_count is 132, which makes 1024"


class EitherKernel(Kernel):
    """Serves rows that are short, or even and not too long, and no float32."""

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        if call.n > 64 and (call.n % 2 != 0 or call.n > 512):
            return f"serves short or even rows, got {call.n}"
        if call.dtype == torch.float32:
            return "serves 16-bit rows, got float32"
        return super().refusal(call)


@pytest.mark.parametrize(
    ("n", "dtype", "failed"),
    [
        pytest.param(65, torch.float16, ["n <= 64 or n % 2 == 0"], id="first-of-two"),
        pytest.param(514, torch.float16, ["n <= 512"], id="second-of-two"),
        pytest.param(
            513,
            torch.float32,
            ["n <= 64 or n % 2 == 0", "n <= 512", "dtype is float16 or bfloat16"],
            id="every-arm-and-what-is-asked-anyway",
        ),
        pytest.param(64, torch.float32, ["dtype is float16 or bfloat16"], id="an-arm-that-holds"),
    ],
)
def test_a_condition_that_fails_names_the_other_arms_of_its_or(
    n: int, dtype: torch.dtype, failed: list[str]
) -> None:
    """What would have made the condition unasked would do as well."""
    found = explored(LayerNormCall, either=EitherKernel)
    values = found.form.values(LayerNormCall(arch=90, n=n, dtype=dtype))
    shown = conditions(found, "either", values)

    assert [one.whole for one in shown if one.holds is False] == failed
    assert all(one.among is None for one in shown if one.holds)


class LayeredKernel(Kernel):
    """Asks in nested statements, in one line by a flag, and in bytes of the dtype."""

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        if call.dtype == torch.bfloat16:
            if call.n > 100:
                return f"serves up to 100 bfloat16, got {call.n}"
            if call.n == 96:
                return "serves no 96 bfloat16"
        if call.eps > 1 and call.n > 300:
            return f"serves up to 300 beside a large eps, got {call.n}"
        if call.n * call.dtype.itemsize > 4096:
            return f"serves up to 4096 bytes, got {call.n}"
        if (call.n if call.eps > 2 else call.n // 4) % 8 != 0:
            return f"serves whole vectors, got {call.n}"
        return super().refusal(call)


@pytest.mark.parametrize(
    ("facts", "failed"),
    [
        pytest.param(
            {"n": 160, "dtype": torch.bfloat16, "eps": 3.0},
            [("dtype is float16 or float32 or n <= 100", "dtype is bfloat16, n is 160")],
            id="a-statement-inside-another",
        ),
        pytest.param(
            {"n": 320, "dtype": torch.float16, "eps": 1.5},
            [("eps <= 1 or n <= 300", "eps is 1.5, n is 320")],
            id="a-real-number",
        ),
        pytest.param(
            {"n": 2080, "dtype": torch.float16, "eps": 0.5},
            [
                ("n * 2 <= 4096", "n is 2080, which makes 4160"),
            ],
            id="bytes-of-another-dtype-are-no-arm",
        ),
    ],
)
def test_which_decisions_make_an_arm(facts: Any, failed: list[tuple[str, str]]) -> None:
    """Those of the line, or else of the function; every fact of a condition has its value."""
    found = explored(LayerNormCall, layered=LayeredKernel)
    values = found.form.values(LayerNormCall(arch=90, **facts))
    shown = [one for one in conditions(found, "layered", values) if one.holds is False]

    assert [(one.whole, one.observed) for one in shown] == failed


class VectorKernel(Kernel):
    """Reads rows or columns in vectors, by the layout."""

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        if (call.k if call.trans_b else call.n) % 8 != 0:
            return f"serves whole vectors, got n {call.n}, k {call.k}"
        return super().refusal(call)


@pytest.mark.parametrize(
    ("trans_b", "observed"),
    [
        pytest.param(True, "trans_b is true, k is 9, which makes 1", id="the-one-layout"),
        pytest.param(False, "trans_b is false, n is 10, which makes 2", id="the-other"),
    ],
)
def test_a_line_that_asks_by_case_is_said_by_case(trans_b: bool, observed: str) -> None:
    """Both cases are named, whichever the call came to, and the values are those of its own."""
    found = explored(GemmCall, vectors=VectorKernel)
    values = found.form.values(GemmCall(arch=90, m=8, n=10, k=9, trans_b=trans_b))
    (failed,) = [one for one in conditions(found, "vectors", values) if not one.holds]

    assert failed.whole == "k % 8 == 0 if trans_b else n % 8 == 0"
    assert failed.observed == observed


class BoundedKernel(Kernel):
    """Asks for a limit, then for a lower one."""

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        for limit in (512, 256):
            if call.n > limit:
                return f"serves up to {limit}, got {call.n}"
        return super().refusal(call)


class ExactKernel(BoundedKernel):
    """Asks for one width, which satisfies the rest."""

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        if call.n != 128:
            return f"serves n 128, got {call.n}"
        return super().refusal(call)


@pytest.mark.parametrize(
    ("kernel", "n", "failed"),
    [
        pytest.param(BoundedKernel, 600, ["n <= 256"], id="a-lower-limit"),
        pytest.param(BoundedKernel, 300, ["n <= 256"], id="the-higher-one-holds"),
        pytest.param(ExactKernel, 600, ["n == 128"], id="an-exact-value"),
    ],
)
def test_what_a_stricter_condition_says_is_not_said_again(
    kernel: type[Kernel], n: int, failed: list[str]
) -> None:
    """Of conditions that fail, one that another implies is left out."""
    found = explored(LayerNormCall, one=kernel)
    values = found.form.values(LayerNormCall(arch=90, n=n))

    assert [one.whole for one in conditions(found, "one", values) if not one.holds] == failed


def test_code_that_is_not_modelled_is_said_among_the_conditions() -> None:
    """A condition that no formula says has no truth, but a reason and a line."""
    found = explored(GemmCall, tiled=TiledGemm, log=LogarithmGemm)
    values = found.form.values(GemmCall(arch=90, m=9, n=8, k=8))
    (unknown,) = [one for one in conditions(found, "log", values) if one.holds is None]

    assert unknown.text == "not modelled"
    assert "math.log2" in unknown.observed
    assert unknown.place.startswith("specified.py:")


@pytest.mark.parametrize("key", GQA)
def test_a_key_applies_where_all_conditions_hold(key: str) -> None:
    """Conditions agree with the code on which calls they refuse."""
    found = explored(AttentionCall, **GQA)
    for batch, kv, paged in [(1, 512, False), (1, 4096, False), (2, 4096, False), (1, 512, True)]:
        call = AttentionCall(arch=90, batch=batch, seqlen_kv=kv, paged=paged)
        verdict = next(v for v in select(found.table, call).verdicts if v.key == key)
        shown = conditions(found, key, found.form.values(call))

        assert shown
        assert all(one.holds for one in shown) == verdict.stage.applicable


@pytest.mark.parametrize(
    ("spec", "kernels", "expected"),
    [
        pytest.param(LayerNormCall, LAYER_NORM,
                     {("n", 256, "torch_short_rows", "layer_norm"),
                      ("n", 256, "torch_short_rows", "unserved")}, id="layer-norm"),
        pytest.param(AttentionCall, GQA,
                     {("seqlen_kv", 1023, "bs1", "long_context"),
                      ("seqlen_kv", 1023, "decode", "long_context"),
                      ("batch", 1, "bs1", "decode"),
                      ("dtype", "float16", "long_context", "bs1"),
                      ("fuse_rope", False, "long_context", "decode"),
                      ("dim", 127, "bs1", "long_context"),
                      ("dim", 128, "long_context", "decode")}, id="gqa"),
    ],
)  # fmt: skip
def test_boundaries_are_adjacent_calls_with_different_outcomes(
    spec: Any, kernels: dict[str, Any], expected: set[Any]
) -> None:
    """Every boundary differs in one fact by one step, and the real code decides otherwise."""
    found = boundaries(explored(spec, **kernels))
    seen = {
        (
            one.fact,
            one.before.values[one.fact],
            outcome_name(one.before.selection),
            outcome_name(one.after.selection),
        )
        for one in found.found
    }

    assert expected <= seen
    assert found.undecided == 0
    for one in found.found:
        before, after = one.before.values, one.after.values
        assert {name for name in before if before[name] != after[name]} == {one.fact}
        if isinstance(before[one.fact], int) and not isinstance(before[one.fact], bool):
            assert after[one.fact] == before[one.fact] + 1
        assert one.after.selection.call.impossible() is None


@pytest.mark.parametrize(
    "high", [pytest.param(8192, id="point-by-point"), pytest.param(2**24, id="by-proof")]
)
def test_a_line_has_exact_intervals(high: int) -> None:
    """Intervals along one fact are gapless and exact, whether tried or proved."""
    found = explored(AttentionCall, **GQA)
    call = found.form.values(AttentionCall(arch=90, seqlen_kv=1))
    mapped = line(found, call, Axis("seqlen_kv", 1, high))

    assert [(one.low, one.high, one.outcome) for one in mapped.intervals] == [
        (1, 1023, "bs1"),
        (1024, high, "long_context"),
    ]
    assert mapped.proved
    assert mapped.complete


def test_a_line_says_where_calls_are_impossible() -> None:
    """Heads that are no multiple of the KV heads belong to no call."""
    found = explored(AttentionCall, **GQA)
    call = found.form.values(AttentionCall(arch=90, seqlen_kv=512))
    mapped = line(found, call, Axis("heads", 30, 36))

    assert [(one.low, one.high, one.outcome) for one in mapped.intervals] == [
        (30, 31, "impossible"),
        (32, 32, "bs1"),
        (33, 35, "impossible"),
        (36, 36, "bs1"),
    ]


def test_a_raster_covers_the_plane_and_proves_cells() -> None:
    """Cells tile the plane; a proved cell has one outcome in all of its calls."""
    found = explored(GemmCall, **GEMM)
    call = found.form.values(GemmCall(arch=90, m=1, n=1, k=8192))
    mapped = raster(found, call, Axis("m", 1, 600), Axis("n", 1, 600), size=12)

    assert sum((c.x[1] - c.x[0] + 1) * (c.y[1] - c.y[0] + 1) for c in mapped.cells) == 600 * 600
    assert mapped.proved_share > 0.8
    outcomes = {name: compiled(term) for name, term in found.model.outcomes().items()}
    for cell in mapped.cells:
        if not cell.proved:
            continue
        for m in (cell.x[0], sum(cell.x) // 2, cell.x[1]):
            for n in (cell.y[0], cell.y[1]):
                values = {**call, "m": m, "n": n}
                held = [name for name, holds in outcomes.items() if holds(values)]
                assert held == [cell.outcome if cell.outcome in outcomes else f"key:{cell.outcome}"]


def test_the_graph_relates_every_two_keys() -> None:
    """Overlaps are declared, undeclared or proved not to be; shared calls are confirmed."""
    pairs = {
        frozenset((one.first, one.second)): one
        for one in precedence_graph(explored(GemmCall, **GEMM)).pairs
    }
    undeclared = pairs[frozenset({"split_k", "skinny"})]

    assert undeclared.overlap is Overlap.UNDECLARED
    assert undeclared.shared is not None
    assert pairs[frozenset({"tiled", "skinny"})].overlap is Overlap.DECLARED
    assert pairs[frozenset({"tiled", "skinny"})].covers

    class WideGemm(SkinnyGemm):
        @classmethod
        def refusal(cls, call: GemmCall) -> str | None:
            return None if call.m > 16 else "serves m above 16"

    (disjoint,) = precedence_graph(explored(GemmCall, skinny=SkinnyGemm, wide=WideGemm)).pairs
    assert disjoint.overlap is Overlap.DISJOINT
    assert disjoint.shared is None
