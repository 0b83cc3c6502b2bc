"""The rule `unknown-interface-key`."""

import difflib
from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import listed
from tileops.lint._rule import Report, Rule
from tileops.lint.index import ClassNode, OpTable, Project, Requested

_HEAD = """\
class TrainFwdInterface(KernelInterface): ...


class InferFwdInterface(KernelInterface): ...


class NormFwdOp(Op):
    interfaces = {"train": TrainFwdInterface, "infer": InferFwdInterface}
"""
_HAS = 'its interfaces are "train" and "infer"'


class UnknownInterfaceKey(Rule):
    """An op is asked for a kernel or a key by the name of one of its interfaces.

    Calls of ``kernel_for`` and ``key_for``, and the pairs a ``requests`` method returns, are
    checked against the ``interfaces`` of the op, or of an op that derives from it.

    Why:
        Any other name raises when the op is called. A key of ``kernel_types`` is no name of an
        interface.

    Limits:
        Computed names are unknown. Outside the op's methods the op is known where it is
        constructed in the same function. Calls expected to raise are left alone.
    """

    id = "unknown-interface-key"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "an interface",
            _HEAD + '\n    def requests(self, x):\n        return (("train", Call(n=1)),)\n',
        ),
        Valid(
            "a computed name",
            _HEAD + "\n    def run(self, name):\n        return self.kernel_for(name, None)\n",
        ),
        Valid(
            "an interface of every subclass",
            "class TrainFwdInterface(KernelInterface): ...\n\n\n"
            "class NormOp(Op):\n    interfaces = {}\n\n"
            '    def run(self, call):\n        return self.kernel_for("train", call)\n\n\n'
            'class NormFwdOp(NormOp):\n    interfaces = {"train": TrainFwdInterface}\n',
        ),
        Valid(
            "interfaces that cannot be read",
            "class NormFwdOp(Op):\n    interfaces = computed()\n\n"
            '    def run(self, call):\n        return self.kernel_for("train", call)\n',
        ),
        Valid(
            "expected to raise",
            _HEAD
            + "\n\ndef test_unknown(call):\n    op = NormFwdOp()\n"
            + '    with pytest.raises(LookupError, match="no interface"):\n'
            + '        op.key_for("nrom", call)\n',
        ),
        Valid(
            "suppressed",
            _HEAD
            + "\n    def run(self, call):\n"
            + '        return self.kernel_for("old", call)'
            + "  # tileops: ignore[unknown-interface-key] -- registered late\n",
        ),
    )
    INVALID = (
        Invalid(
            "misspelt in a method",
            _HEAD
            + '\n    def run(self, call):\n        return self.kernel_for([|"tain"|], call)\n',
            f'NormFwdOp has no interface "tain", so the call raises: {_HAS}; did you mean "train"?',
        ),
        Invalid(
            "in the pairs of requests",
            _HEAD + '\n    def requests(self, x):\n        return (([|"fwd"|], Call(n=1)),)\n',
            f'NormFwdOp has no interface "fwd", so the call raises: {_HAS}',
        ),
        Invalid(
            "a test in another file, name in a constant",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _HEAD
                ),
                "tests/test_norm.py": (
                    "from tileops.ops.norm import NormFwdOp\n\n"
                    'NAME = "norm"\n\n\n'
                    "def test_key(call):\n    op = NormFwdOp()\n"
                    "    assert op.key_for([|NAME|], call)\n"
                ),
            },
            f'NormFwdOp has no interface "norm", so the call raises: {_HAS}',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the names that are certainly no interface of the op that is asked."""
        below = _below(project)
        for request in project.requested:
            if request.op is None or request.key is None or request.site.raises:
                continue
            name = project.evaluate(request.module, request.key).value.text
            if name is None:
                continue
            tables = [project.table(request.op)]
            if _inside(request):
                tables += [project.table(op) for op in below.get(id(request.op), ())]
            if any(table is None or name in _names(table, name) for table in tables):
                continue
            yield self._report(request, request.op, name, _names(tables[0], name))

    def _report(self, request: Requested, op: ClassNode, name: str, known: list[str]) -> Report:
        assert request.key is not None
        has = "it has none"
        if known:
            verb = "interface is" if len(known) == 1 else "interfaces are"
            quoted = listed([f'"{other}"' for other in known])
            has = f"its {verb} {quoted}"
        near = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        message = f'{op.name} has no interface "{name}", so the call raises: {has}{hint}'
        return self.report(request.module, request.key.span, message, symbol=op.name)


def _inside(request: Requested) -> bool:
    """Say whether the op asked is the one whose method asks, or any that derives from it."""
    return request.via == "requests" or request.site.callee.partition(".")[0] in ("self", "cls")


def _below(project: Project) -> dict[int, list[ClassNode]]:
    found: dict[int, list[ClassNode]] = {}
    for table in project.tables:
        for above in table.op.mro[1:]:
            found.setdefault(id(above), []).append(table.op)
    return found


def _names(table: OpTable | None, name: str) -> list[str]:
    """Return the interfaces of an op by name; ``name`` among them when they cannot all be read."""
    if table is None or not table.known or (table.interfaces and not table.interfaces.complete):
        return [name]
    stated = table.interfaces.entries if table.interfaces else ()
    return [entry.key for entry in stated if entry.key is not None]
