"""The rule `untested-key`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Entry, Project

_OP = (
    "from tileops.backend import Kernel\nfrom tileops.ops.op import Op\n\n\n"
    "class GemmKernel(Kernel): ...\n\n\n"
    "class GemmFwdOp(Op):\n    kernel_types = {'gemm': GemmKernel, 'gemm_wide': GemmKernel}\n"
)
_MESSAGE = (
    'no test of key_for mentions key "%s" of GemmFwdOp, so nobody notices when it is selected no '
    "longer; test its range and its boundaries"
)


class UntestedKey(Rule):
    """Every key of an op occurs in a test of ``key_for``.

    One case per range of applicability, and one per boundary between ranges.

    Why:
        A refusal or a preference that is changed moves calls to another key without any error.

    Limits:
        A key counts as tested when a test file that asks ``key_for`` has it in a string. Where such
        a file reads ``kernel_types``, or no file asks ``key_for`` at all, nothing is reported.
        Keys of ops in tests are not judged, nor are keys in constants.
    """

    id = "untested-key"
    severity = Severity.PEDANTIC
    cross_file = True

    VALID = (
        Valid(
            "every key",
            {
                "src/tileops/ops/gemm.py": _OP,
                "tests/test_gemm.py": (
                    "def test(op, call):\n    assert op.key_for('gemm', call) == 'gemm_wide'\n"
                ),
            },
        ),
        Valid(
            "parametrised from the op",
            {
                "src/tileops/ops/gemm.py": _OP,
                "tests/test_gemm.py": (
                    "def test(op, call):\n"
                    "    assert {op.key_for('gemm', call)} <= set(op.kernel_types)\n"
                ),
            },
        ),
        Valid("no tests at hand", {"src/tileops/ops/gemm.py": _OP}),
        Valid(
            "an op of a test",
            {
                "tests/test_gemm.py": _OP + "\n\ndef test(call):\n"
                "    assert GemmFwdOp().key_for('x', call) == KEY\n",
            },
        ),
        Valid(
            "suppressed",
            {
                "src/tileops/ops/gemm.py": _OP.replace(
                    "{'gemm': GemmKernel, 'gemm_wide': GemmKernel}",
                    "{\n        'gemm': GemmKernel,\n"
                    "        'gemm_wide': GemmKernel,  # tileops: ignore[untested-key] -- new\n"
                    "    }",
                ),
                "tests/test_gemm.py": (
                    "def test(op, call):\n    assert op.key_for('gemm', call) == 'gemm'\n"
                ),
            },
        ),
    )
    INVALID = (
        Invalid(
            "one key",
            {
                "src/tileops/ops/gemm.py": _OP.replace("'gemm_wide'", "[|'gemm_wide'|]"),
                "tests/test_gemm.py": (
                    "def test(op, call):\n    assert op.key_for('gemm', call) == 'gemm'\n"
                ),
            },
            _MESSAGE % "gemm_wide",
        ),
        Invalid(
            "mentioned only where key_for is not asked",
            {
                "src/tileops/ops/gemm.py": _OP.replace("'gemm_wide'", "[|'gemm_wide'|]"),
                "tests/test_gemm.py": (
                    "import pytest\n\n\n@pytest.mark.parametrize('key', ['gemm'])\n"
                    "def test(op, call, key):\n    assert op.key_for('x', call) == key\n"
                ),
                "tests/test_other.py": "KEY = 'gemm_wide'\n",
            },
            _MESSAGE % "gemm_wide",
        ),
        Invalid(
            "a registered key",
            {
                "src/tileops/ops/gemm.py": _OP,
                "src/acme/__init__.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.ops.gemm import GemmKernel\n\n"
                    "register_kernel_type('GemmFwdOp', [|'acme'|], GemmKernel)\n"
                ),
                "tests/test_gemm.py": (
                    "def test(op, call):\n    assert op.key_for('gemm', call) == 'gemm_wide'\n"
                ),
            },
            _MESSAGE % "acme",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report keys that no test asking for keys has in a string."""
        tests = [m for m in project.own_modules if m.is_test and "key_for" in m.facts.names]
        if not tests or any("kernel_types" in test.facts.names for test in tests):
            return
        mentioned = {text for test in tests for text in test.facts.texts}
        for table in project.tables:
            own = table.kernel_types
            # A mapping that is inherited is reported where it is stated.
            stated = own.entries if own is not None and own.owner is table.op else ()
            for entry in (*stated, *table.registered):
                if _is_judged(entry) and entry.key not in mentioned:
                    message = (
                        f'no test of key_for mentions key "{entry.key}" of {table.op.name}, so '
                        "nobody notices when it is selected no longer; "
                        "test its range and its boundaries"
                    )
                    key = entry.stated_key
                    yield self.report(key.module, key.value.span, message, symbol=table.op.name)


def _is_judged(entry: Entry) -> bool:
    where = entry.stated_key
    named = entry.key is not None and where.value.kind == "str"
    return named and not where.module.external and not where.module.is_test
