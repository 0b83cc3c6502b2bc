"""Whatever the words, the program answers or says what is wrong with them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEAD = ["explain", "BlendFwdOp", "--import", "acme_blend", "--n", "8", "--arch", "90"]

WORDS = st.sampled_from(
    [
        *("explain", "LayerNormFwdOp", "BlendFwdOp", "--import", "acme_blend", "acme_missing"),
        *("--n", "--n=", "--n=8", "-n", "8", "0", "-1", "1e9", "9" * 30, "0x10", "0x", "--batch"),
        *("--eps", "nan", "inf", "--scale", "none", "--dtype", "bf16", "bool", "--causal"),
        *("--arch", "sm_", "9.0", "--gpu", "h200", "--device", "cpu", "cpu:3", "meta", "cuda:99"),
        *("--sm-count", "--smem-budget", "--interface", "split", "--target", "builtin", "--mode"),
        *("--format", "json", "--schema", "--help", "--", "", "=", "\x00", "\u2603"),
    ]
)


@given(st.lists(WORDS, max_size=7), st.booleans())
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_words_surprise_the_program(cli, words, with_a_call):
    """The exit code is one of the documented ones, and no traceback is shown."""
    result = cli(*(HEAD if with_a_call else ["explain"]), *words)

    assert result.code in (0, 1, 2, 3)
    assert "Traceback" not in result.err
    assert result.out == "" or result.code in (0, 1)
