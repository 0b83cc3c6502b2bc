"""Whatever the words, the program answers or says what is wrong with them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEAD = ["explain", "BlendFwdOp", "--import", "acme_blend", "--n", "8", "--arch", "90"]
TENSORS = ["explain", "LayerNormFwdOp", "input=f16[4,8]", "normalized_shape=8", "--arch", "90"]

WORDS = st.sampled_from(
    [
        *("explain", "LayerNormFwdOp", "BlendFwdOp", "--import", "acme_blend", "acme_missing"),
        *("--n", "--n=", "--n=8", "-n", "8", "0", "-1", "1e9", "9" * 30, "0x10", "0x", "--batch"),
        *("--eps", "nan", "inf", "--scale", "none", "--dtype", "bf16", "bool", "--causal"),
        *("--arch", "sm_", "9.0", "--gpu", "h200", "--device", "cpu", "cpu:3", "meta", "cuda:99"),
        *("--sm-count", "--smem-budget", "--interface", "split", "--target", "builtin", "--mode"),
        *(
            "input=f16[32,256]",
            "input=",
            "input=f16[",
            "normalized_shape=256",
            "eps=none",
            "x=f16[0]",
        ),
        *("--workload", "hidden-4096-token-1", "@(1)", "input=f16[4,8]@(1,4)", "=="),
        *("--format", "json", "--schema", "--help", "--", "", "=", "\x00", "\u2603"),
    ]
)


@given(st.sampled_from([["explain"], HEAD, TENSORS]), st.lists(WORDS, max_size=7))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_words_surprise_the_program(cli, head, words):
    """The exit code is one of the documented ones, and no traceback is shown."""
    result = cli(*head, *words)

    assert result.code in (0, 1, 2, 3)
    assert "Traceback" not in result.err
    assert result.out == "" or result.code in (0, 1)
