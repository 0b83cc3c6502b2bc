"""The rule `kernel-key-snake-case`."""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.index import Entry, Project

_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# Where one word of a mixed name ends and the next begins.
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface): ...


"""
_OP = """\
class NormFwdOp(Op):
    kernel_types = {%s: NormKernel}
    interfaces = {"norm": NormFwdInterface}
"""


class KernelKeySnakeCase(Rule):
    """The key of an implementation is in snake_case, as in ``gqa_dense_fp8``.

    A small letter, then small letters and digits in words joined by single underscores. The keys of
    ``kernel_types`` count, and those given to ``register_kernel_type``.

    Why:
        Keys are typed on command lines and in ``preferred_over``, and stand in reports beside each
        other. One spelling makes them findable.

    Limits:
        Computed keys are unknown. The fix renames the key in mappings, registrations,
        preferences and tests; it is withheld where a constant states the key.
    """

    id = "kernel-key-snake-case"
    severity = Severity.WARNING
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid("digits inside", _HEAD + _OP % '"gqa_dense_fp8"'),
        Valid("computed", _HEAD + _OP % "key()"),
        Valid(
            "the name of an interface",
            _HEAD + (_OP % '"norm"').replace('"norm": NormF', '"Norm": NormF'),
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormFwdOp(Op):\n"
            + '    interfaces = {"norm": NormFwdInterface}\n'
            + '    kernel_types = {"SM90": NormKernel}'
            + "  # tileops: ignore[kernel-key-snake-case] -- the name of the device\n",
        ),
    )
    INVALID = (
        Invalid(
            "camel case",
            _HEAD + _OP % "[|'normFP8Wide'|]",
            'key "normFP8Wide" of NormFwdOp is not in snake_case; write "norm_fp8_wide"',
            fixed=_HEAD + _OP % "'norm_fp8_wide'",
        ),
        Invalid(
            "hyphens and a trailing underscore",
            _HEAD + _OP % '[|"norm-wide_"|]',
            'key "norm-wide_" of NormFwdOp is not in snake_case; write "norm_wide"',
            fixed=_HEAD + _OP % '"norm_wide"',
        ),
        Invalid(
            "no word to begin with, stated by a constant",
            'KEY = "8bit"\n\n\n' + _HEAD + _OP % "[|KEY|]",
            'key "8bit" of NormFwdOp is not in snake_case; begin with a small letter and join '
            "words with single underscores",
        ),
        Invalid(
            "registered by a backend, with a preference and a test",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _HEAD + _OP % '"norm"'
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NormFwdInterface\n\n\n"
                    "class Short(Kernel, NormFwdInterface): ...\n\n\n"
                    "class Shorter(Kernel, NormFwdInterface):\n"
                    "    preferred_over = frozenset({'norm', 'acmeShort'})\n\n\n"
                    'register_kernel_type("NormFwdOp", [|"acmeShort"|], Short)\n'
                    'register_kernel_type("NormFwdOp", "acme_shorter", Shorter)\n'
                ),
                "tests/test_acme.py": (
                    "from tileops.ops.norm import NormFwdOp\n\n\n"
                    "def test_short(call):\n"
                    "    op = NormFwdOp()\n"
                    '    assert op.key_for("norm", call) == "acmeShort"  # not "norm"\n'
                ),
            },
            'key "acmeShort" of NormFwdOp is not in snake_case; write "acme_short"',
            fixed={
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NormFwdInterface\n\n\n"
                    "class Short(Kernel, NormFwdInterface): ...\n\n\n"
                    "class Shorter(Kernel, NormFwdInterface):\n"
                    "    preferred_over = frozenset({'norm', 'acme_short'})\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme_short", Short)\n'
                    'register_kernel_type("NormFwdOp", "acme_shorter", Shorter)\n'
                ),
                "tests/test_acme.py": (
                    "from tileops.ops.norm import NormFwdOp\n\n\n"
                    "def test_short(call):\n"
                    "    op = NormFwdOp()\n"
                    '    assert op.key_for("norm", call) == "acme_short"  # not "norm"\n'
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the keys that are not in snake_case where they are stated."""
        for table in project.tables:
            owner = table.kernel_types.owner.name if table.kernel_types else ""
            for entry in table.kernel_types.entries if table.kernel_types else ():
                yield from self._entry(project, entry, owner)
            for entry in (*table.registered, *table.local):
                yield from self._entry(project, entry, table.op.name)

    def _entry(self, project: Project, entry: Entry, op: str) -> Iterator[Report]:
        if entry.key is None or _SNAKE.fullmatch(entry.key):
            return
        better = _better(entry.key)
        repair = None
        hint = "begin with a small letter and join words with single underscores"
        if better:
            hint = f'write "{better}"'
            build = partial(_rename, project, entry.key, better)
            repair = Repair(Applicability.UNSAFE, f'rename it "{better}" in every file', build)
        message = f'key "{entry.key}" of {op} is not in snake_case; {hint}'
        where = entry.stated_key
        yield self.report(where.module, where.value.span, message, symbol=op, repair=repair)


def _better(key: str) -> str:
    """Return the key in snake_case, "" when its words do not make one."""
    words = re.split(r"[^A-Za-z0-9]+", _SEAM.sub("_", key))
    better = "_".join(word.lower() for word in words if word)
    return better if _SNAKE.fullmatch(better) else ""


def _rename(project: Project, old: str, new: str, sources: Sources) -> Iterable[Edit]:
    from tileops.lint._keys import rename_key

    return rename_key(project, sources, old, new)
