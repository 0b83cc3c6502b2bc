"""The example classes of the specification, against regions stated here from its prose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from specified import GQA, LAYER_NORM, AttentionCall, explored

from tileops.introspect.calls import sample_calls
from tileops.introspect.formula import evaluate, write
from tileops.introspect.validation import validate
from tileops.kernels.norm.call_spec import LayerNormCall


def gqa_outcome(call: Any) -> str:
    """Long context beats batch 1, which runs on SM90 alone; decode is general."""
    if call.paged or call.seqlen_q != 1 or call.arch not in (80, 89, 90):
        return "unserved"
    long_context = (
        not call.fuse_rope
        and call.seqlen_kv >= 1024
        and call.batch == 1
        and (call.heads, call.heads_kv, call.dim) == (32, 4, 128)
        and call.dtype == torch.float16
        and call.softcap == 0.0
    )
    if long_context:
        return "key:long_context"
    return "key:bs1" if call.batch == 1 and call.arch == 90 else "key:decode"


def layer_norm_outcome(call: Any) -> str:
    """Short rows win on every architecture; the in-tree kernel serves the rest of four."""
    if call.n <= 256:
        return "key:torch_short_rows"
    return "key:layer_norm" if call.arch in (80, 86, 89, 90) else "unserved"


@pytest.mark.parametrize(
    ("spec", "kernels", "stated"),
    [
        pytest.param(AttentionCall, GQA, gqa_outcome, id="gqa-decode"),
        pytest.param(LayerNormCall, LAYER_NORM, layer_norm_outcome, id="layer-norm"),
    ],
)
def test_formulas_say_what_the_prose_says(
    spec: Any, kernels: dict[str, Any], stated: Callable[[Any], str]
) -> None:
    """Every sampled call has the outcome that the prose gives it, in formulas and in code."""
    found = explored(spec, **kernels)
    validation = validate(found, 3000)

    assert validation.calls == 3000
    assert validation.disagreements == ()
    outcomes = found.model.outcomes()
    for values in sample_calls(found.model, 3000, seed=7):
        named = [name for name, term in outcomes.items() if evaluate(term, values)]
        assert named == [stated(found.form.call(values))]


@pytest.mark.parametrize(
    ("arch", "seqlen_kv", "expected"),
    [
        pytest.param(90, 4096, "key:long_context", id="sm90-long"),
        pytest.param(90, 512, "key:bs1", id="sm90-short"),
        pytest.param(80, 4096, "key:long_context", id="sm80-long"),
        pytest.param(80, 512, "key:decode", id="sm80-short"),
        pytest.param(90, 1024, "key:long_context", id="sm90-least-long"),
        pytest.param(90, 1023, "key:bs1", id="sm90-just-short"),
        pytest.param(86, 512, "unserved", id="sm86-no-kernel"),
    ],
)
def test_batch_1_decode_by_architecture(arch: int, seqlen_kv: int, expected: str) -> None:
    """The formulas give the table of selected keys, and the steps between its rows."""
    found = explored(AttentionCall, **GQA)
    values = found.form.values(AttentionCall(arch=arch, seqlen_kv=seqlen_kv))

    assert [name for name, term in found.model.outcomes().items() if evaluate(term, values)] == [
        expected
    ]


def test_the_formula_of_a_conjunction_reads_like_the_code() -> None:
    """One refusal with nine conditions becomes one formula with these conditions, in order."""
    model = explored(AttentionCall, **GQA).model.implementation("long_context")

    assert model.unmodelled == ()
    assert write(model.serves) == (
        "(and (in arch 80 89 90) (in paged false) (eq seqlen_q 1) (in fuse_rope false) "
        "(ge seqlen_kv 1024) (eq batch 1) (eq heads 32) (eq heads_kv 4) (eq dim 128) "
        "(in dtype float16) (eq softcap 0))"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "kernels"), [(AttentionCall, GQA), (LayerNormCall, LAYER_NORM)])
def test_a_hundred_thousand_calls_agree(spec: Any, kernels: dict[str, Any]) -> None:
    """Formulas and code do not disagree on any of many random and boundary calls."""
    validation = validate(explored(spec, **kernels), 100_000, seed=3)

    assert validation.calls == 100_000
    assert validation.disagreements == ()
