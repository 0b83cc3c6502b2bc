"""The rule `dispatch-test-raises-match`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project

_MESSAGE = (
    "pytest.raises around key_for has no match=, so it passes whatever the reason; "
    "match the reason the refusal gives"
)


class DispatchTestRaisesMatch(Rule):
    """A test that expects ``key_for`` to raise says with which message.

    Why:
        An unserved call, an ambiguous one and a misspelt interface raise errors of related
        classes; without ``match`` the test passes for another reason than it was written for.

    Limits:
        Seen is a ``key_for`` call in the body of ``with pytest.raises(...)``, in files of tests.
    """

    id = "dispatch-test-raises-match"
    severity = Severity.PEDANTIC

    VALID = (
        Valid(
            "matched",
            {
                "tests/test_gemm.py": (
                    "import pytest\n\n\ndef test(op, call):\n"
                    "    with pytest.raises(ValueError, match='serves n'):\n"
                    "        op.key_for('gemm', call)\n"
                ),
            },
        ),
        Valid(
            "not in a test",
            {
                "src/tileops/probe.py": (
                    "import pytest\n\n\ndef probe(op, call):\n"
                    "    with pytest.raises(ValueError):\n        op.key_for('gemm', call)\n"
                ),
            },
        ),
        Valid(
            "something else raises",
            {
                "tests/test_gemm.py": (
                    "import pytest\n\n\ndef test(op, call):\n    op.key_for('gemm', call)\n"
                    "    with pytest.raises(ValueError):\n        op.explain('gemm', call)\n"
                ),
            },
        ),
        Valid(
            "suppressed",
            {
                "tests/test_gemm.py": (
                    "import pytest\n\n\ndef test(op, call):\n"
                    "    with pytest.raises(KeyError):\n"
                    "        op.key_for('x', call)  # tileops: ignore[dispatch-test-raises-match]\n"
                ),
            },
        ),
    )
    INVALID = (
        Invalid(
            "no match",
            {
                "tests/ops/test_gemm.py": (
                    "import pytest\n\n\ndef test(op, call):\n"
                    "    with pytest.raises(ValueError):\n        [|op.key_for('gemm', call)|]\n"
                ),
            },
            _MESSAGE,
        ),
        Invalid(
            "raises imported by name, with more statements",
            {
                "tests/test_gemm.py": (
                    "from pytest import raises\n\n\ndef test(op, call):\n"
                    "    with raises(ValueError) as caught:\n        call = call.wide()\n"
                    "        [|op.key_for('gemm', call)|]\n    assert caught\n"
                ),
            },
            _MESSAGE,
        ),
        Invalid(
            "an op that is constructed there",
            {
                "src/tileops/ops/test_ops.py": (
                    "import pytest\n\n\ndef test(call):\n    with pytest.raises(ValueError):\n"
                    "        assert [|GemmFwdOp().key_for('gemm', call)|] == 'gemm'\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report ``key_for`` calls in tests whose error may be any."""
        for module, site in project.sites("key_for"):
            if site.raises == "bare" and module.is_test:
                symbol = ".".join(filter(None, (site.owner, site.function)))
                yield self.report(module, site.call.span, _MESSAGE, symbol=symbol)
