"""Every minimal change that makes a call select a key, confirmed by the real code."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from specified import GQA, AttentionCall, GemmCall, SkinnyGemm, SplitKGemm, TiledGemm, explored

from tileops.introspect.symbolic.exploration import Explored
from tileops.introspect.why_not import WhyNot, why_not
from tileops.selection import select

GEMM = {"tiled": TiledGemm, "split_k": SplitKGemm, "skinny": SkinnyGemm}


def answers(found: WhyNot) -> list[dict[str, Any]]:
    return [
        {change.fact: change.new for change in one.changes if change.fact not in _DEVICE}
        | ({"board": one.board} if one.board else {})
        for one in found.found
    ]


_DEVICE = ("sm_count", "smem_budget", "arch", "device_type")


@pytest.mark.parametrize(
    ("call", "key", "expected"),
    [
        pytest.param(AttentionCall(arch=90, seqlen_kv=512), "long_context",
                     [{"seqlen_kv": 1024}], id="one-fact"),
        pytest.param(AttentionCall(arch=80, seqlen_kv=512), "bs1", [{"board": "h100"}],
                     id="another-machine"),
        pytest.param(AttentionCall(arch=80, seqlen_kv=512, paged=True, batch=4), "bs1",
                     [{"board": "h100", "batch": 1, "paged": False}], id="three-facts"),
        pytest.param(AttentionCall(arch=80, seqlen_kv=512, paged=True, batch=4, dim=64),
                     "long_context", [], id="four-facts-are-another-call"),
        pytest.param(GemmCall(arch=90, m=4096, n=4096, k=1024), "split_k",
                     [{"m": 512, "k": 4096}, {"n": 512, "k": 4096}], id="two-ways"),
        pytest.param(GemmCall(arch=90, m=8, n=8, k=8), "tiled", [{"m": 17}], id="upwards"),
        pytest.param(GemmCall(arch=90, m=4096, n=4096, k=1024), "skinny", [{"m": 16}],
                     id="downwards"),
    ],
)  # fmt: skip
def test_minimal_changes(call: Any, key: str, expected: list[dict[str, Any]]) -> None:
    """The nearest values of every minimal set of facts, and nothing else."""
    kernels = GQA if isinstance(call, AttentionCall) else GEMM
    found = explored(type(call), **kernels)
    answer = why_not(found, found.form.values(call), key)

    assert answers(answer) == expected
    assert not answer.undecided
    assert not answer.unreachable
    for one in answer.found:
        selected = one.witness.selection.selected
        assert selected is not None
        assert selected.key == key
        assert one.witness.selection.call.impossible() is None


def test_a_selected_key_needs_no_change() -> None:
    """A key that is selected already is said to be."""
    found = explored(AttentionCall, **GQA)
    values = found.form.values(AttentionCall(arch=90, seqlen_kv=4096))

    assert why_not(found, values, "long_context") == WhyNot("long_context", True, ())


def test_a_key_that_no_call_selects_is_unreachable() -> None:
    """A key whose refusal is never None cannot be reached by any change."""

    class NeverGemm(SkinnyGemm):
        @classmethod
        def refusal(cls, call: GemmCall) -> str | None:
            return "m cannot be both" if call.m < 4 or call.m >= 4 else None

    found = explored(GemmCall, tiled=TiledGemm, never=NeverGemm)
    answer = why_not(found, found.form.values(GemmCall(arch=90, m=8, n=8, k=8)), "never")

    assert answer.unreachable
    assert answer.found == ()


def _differs(found: Explored, start: dict[str, Any], facts: tuple[str, ...]) -> list[Any]:
    """Return the calls of a small grid that differ from *start* in *facts* only."""
    grid = {"m": (1, 8, 16, 17, 300), "n": (1, 8, 300), "k": (3, 4, 7, 8, 4095, 4096)}
    grid |= {"dtype": ("float16", "float32"), "trans_b": (False, True)}
    calls = [dict(start)]
    for name in facts:
        calls = [{**call, name: value} for call in calls for value in grid[name]]
    return [found.form.call(call) for call in calls]


@pytest.mark.parametrize("key", GEMM)
def test_no_smaller_change_exists(key: str) -> None:
    """Trying every smaller set of facts over a grid never selects the key."""
    found = explored(GemmCall, **GEMM)
    start = found.form.values(GemmCall(arch=90, m=300, n=300, k=3))
    answer = why_not(found, start, key)

    assert answer.found
    sets = [{change.fact for change in one.changes} for one in answer.found]
    for size in range(min(map(len, sets))):
        for facts in combinations(("m", "n", "k", "dtype", "trans_b"), size):
            for call in _differs(found, dict(start), facts):
                selected = select(found.table, call).selected
                assert selected is None or selected.key != key
