"""The rule `kernel-for-states-device-fact`."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._asked import spec_of
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import device_facts
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Value
from tileops.lint.index import Kind, Module, Project, Requested

if TYPE_CHECKING:
    import libcst as cst

_COPIES = ("with_device", "with_facts")
_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n\n"
_MESSAGE = (
    "the call spec for %s states %s, but a kernel is built for the device of the call, so this "
    "raises; leave %s out, or ask key_for"
)
_KERNEL_FOR = _MESSAGE % ("kernel_for", "arch", "arch")
_OP = "class GemmFwdOp(Op):\n    def __call__(self, a):\n"


class KernelForStatesDeviceFact(Rule):
    """A call spec that a kernel is built for states no device facts.

    They follow from ``device``; only ``key_for`` and ``explain`` take them, to ask about another
    machine. It holds for ``kernel_for`` and for the pairs that ``requests`` of an op returns.

    Why:
        A kernel for an architecture the call does not run on cannot be launched, so ``kernel_for``
        raises ``this call spec states ['arch']``.

    Limits:
        A spec is followed through one local and one lambda. Facts in a spread mapping are not
        seen, nor is anything inside ``pytest.raises`` judged.
    """

    id = "kernel-for-states-device-fact"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "only the device",
            _SPEC
            + _OP
            + "        return self.kernel_for('gemm', GemmCall(device=a.device, m=4))(a)\n",
        ),
        Valid(
            "key_for, None, a spread mapping and a spec of unknown origin",
            _SPEC + _OP + "        facts = dict(arch=90)\n"
            "        self.key_for('gemm', GemmCall(arch=90, m=4))\n"
            "        self.kernel_for('gemm', GemmCall(arch=None, m=4))\n"
            "        self.kernel_for('gemm', GemmCall(**facts))\n"
            "        self.kernel_for('gemm', self.call(arch=90))\n",
        ),
        Valid(
            "a test that expects the error",
            {
                "tests/test_gemm.py": (
                    "import pytest\n\nfrom tileops.backend import CallSpec\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmCall(CallSpec): ...\n\n\n"
                    "def test_stated():\n    with pytest.raises(TypeError, match='states'):\n"
                    "        Op().kernel_for('gemm', GemmCall(arch=90))\n"
                ),
            },
        ),
        Valid(
            "suppressed",
            _SPEC + _OP + "        self.kernel_for(\n            'gemm',\n"
            "            # tileops: ignore[kernel-for-states-device-fact] -- shown\n"
            "            GemmCall(arch=90),\n        )\n",
        ),
    )
    INVALID = (
        Invalid(
            "an architecture",
            _SPEC + _OP + "        return self.kernel_for('gemm', GemmCall(m=4, arch=[|90|]))(a)\n",
            _KERNEL_FOR,
            fixed=_SPEC + _OP + "        return self.kernel_for('gemm', GemmCall(m=4))(a)\n",
        ),
        Invalid(
            "two facts, through a local",
            _SPEC + _OP + "        call = GemmCall(\n            arch=[|90|],\n"
            "            m=4,  # rows\n            sm_count=[|132|],\n        )\n"
            "        return self.kernel_for(interface='gemm', call=call)(a)\n",
            (_KERNEL_FOR, _MESSAGE % ("kernel_for", "sm_count", "sm_count")),
            fixed=_SPEC + _OP + "        call = GemmCall(\n            m=4,  # rows\n        )\n"
            "        return self.kernel_for(interface='gemm', call=call)(a)\n",
        ),
        Invalid(
            "positional, and in a copy",
            _SPEC + _OP + "        call = GemmCall(m=4)\n"
            "        self.kernel_for('gemm', GemmCall(a.device, [|90|]))\n"
            "        self.kernel_for('gemm', dataclasses.replace(call, arch=[|90|]))\n"
            "        self.kernel_for('gemm', call.with_facts(m=5, arch=[|90|]))\n",
            (_KERNEL_FOR,) * 3,
            fixed=_SPEC + _OP + "        call = GemmCall(m=4)\n"
            "        self.kernel_for('gemm', GemmCall(a.device))\n"
            "        self.kernel_for('gemm', dataclasses.replace(call))\n"
            "        self.kernel_for('gemm', call.with_facts(m=5))\n",
        ),
        Invalid(
            "the requests of an op, with a spec of another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm import call_spec\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    def requests(self, a):\n"
                    "        return (('gemm', call_spec.GemmCall(smem_budget=[|99 * 1024|])),)\n"
                ),
            },
            _MESSAGE % ("requests", "smem_budget", "smem_budget"),
            fixed={
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm import call_spec\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    def requests(self, a):\n"
                    "        return (('gemm', call_spec.GemmCall()),)\n"
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report device facts in the specs of requests that build."""
        names = device_facts(project)
        for asked in project.requested:
            if asked.via == "key_for" or asked.site.raises or not _is_request(asked):
                continue
            stated = list(_stated(project, asked, names))
            if not stated or asked.made is None:
                continue
            build = partial(_edits, asked.module, asked.made, frozenset(v.span for _, v in stated))
            repair = Repair(Applicability.UNSAFE, "leave it out", build)
            for name, value in stated:
                message = (
                    f"the call spec for {asked.via} states {name}, but a kernel is built for the "
                    f"device of the call, so this raises; leave {name} out, or ask key_for"
                )
                symbol = ".".join(filter(None, (asked.site.owner, asked.site.function)))
                yield self.report(asked.module, value.span, message, symbol=symbol, repair=repair)


def _is_request(asked: Requested) -> bool:
    """Say whether it is a method that is called, or a pair in an op."""
    if asked.via == "requests":
        return asked.op is not None and asked.op.kind is Kind.OP
    callee = asked.site.call.items[0]
    return callee.kind == "attribute" or "." in callee.name


def _stated(
    project: Project, asked: Requested, names: tuple[str, ...]
) -> Iterator[tuple[str, Value]]:
    """Yield the device facts a spec states, with their values."""
    made = asked.made
    if made is None or made.kind != "call":
        return
    if spec_of(project, asked) is not None:
        positional = made.arguments
        spread = any(value.kind == "starred" for value in positional)
        given = [] if spread else list(zip(names, positional, strict=False))
    elif _copies(project, asked.module, made):
        given = []
    else:
        return
    for name, value in [*given, *made.keywords]:
        if name in names[1:] and value.kind != "none":
            yield name, value


def _copies(project: Project, module: Module, made: Value) -> bool:
    """Say whether a call copies a call spec with changes."""
    callee = made.items[0]
    last = str(callee.data) if callee.kind == "attribute" else callee.name.rpartition(".")[2]
    return last in _COPIES or project.imported(module, callee) == "dataclasses.replace"


def _edits(
    module: Module, made: Value, values: frozenset[object], sources: Sources
) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    kept = [value.span not in values for value in made.items[1:]]
    # A positional argument can only go when none stays behind it.
    if any(not this and that for this, that in pairwise(kept[: len(made.arguments)])):
        return

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call) or len(node.args) != len(kept):
            return None
        args = [arg for arg, keeps in zip(node.args, kept, strict=True) if keeps]
        if args:
            args[-1] = args[-1].with_changes(comma=_closing(args[-1], node.args[-1]))
        return node.with_changes(args=args)

    yield from rewrite(sources[module.path], made.span, change)


def _closing(arg: "cst.Arg", last: "cst.Arg") -> "cst.Comma | cst.MaybeSentinel":
    """Return what follows an argument that has become the last, its comment kept."""
    import libcst as cst

    match arg.comma, last.comma:
        case (
            cst.Comma(whitespace_after=cst.ParenthesizedWhitespace() as own),
            cst.Comma(whitespace_after=cst.ParenthesizedWhitespace() as end),
        ):
            return cst.Comma(whitespace_after=own.with_changes(last_line=end.last_line))
    return last.comma
