"""The index of the installed library: current, and enough to lint another package with."""

from pathlib import Path

import tileops.lint._library as library
from tileops.lint import Request, lint

BACKEND = """\
from tileops.backend import Kernel, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormFwdInterface


class AcmeLayerNorm(Kernel, LayerNormFwdInterface):
    preferred_over = frozenset({"layer_nrom"})

    @classmethod
    def refusal(cls, call):
        return None if call.n_rows < 4 else f"serves up to 4 rows, got {call.n_rows}"

    def forward(self, x, weight, bias): ...


register_kernel_type("LayerNormFwdOp", "acme", AcmeLayerNorm)
"""


def test_index_is_current():
    """Run ``python -m tileops.lint._library`` when this fails."""
    written = (Path(library.__file__).parent / "_index.json").read_text("utf-8")
    assert written == library.index_text()


def test_backend_is_linted_against_the_library(tmp_path):
    """Keys and facts of the installed library are known where only a backend is at hand."""
    (tmp_path / "tileops_acme.py").write_text(BACKEND)
    rules = ("preferred-over-unknown-key", "unknown-call-fact")
    run = lint(Request(("tileops_acme.py",), select=rules, cache=False), tmp_path)
    assert [(f.rule, f.range.line) for f in run.findings] == [
        ("preferred-over-unknown-key", 6),
        ("unknown-call-fact", 10),
        ("unknown-call-fact", 10),
    ]
    assert run.findings[0].message.endswith('did you mean "layer_norm"?')
