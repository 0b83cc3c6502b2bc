"""The rule `call-spec-wrong-request`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._asked import interface_of, spec_of
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project

_HEAD = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    m: int = 0

@dataclass(frozen=True)
class WideCall(GemmCall):
    n: int = 0

@dataclass(frozen=True)
class NormCall(CallSpec):
    n: int = 0

class GemmFwdInterface(KernelInterface):
    request = GemmCall

class GemmFwdOp(Op):
    interfaces = {"gemm": GemmFwdInterface}

"""
_MESSAGE = (
    'interface "gemm" of GemmFwdOp takes a GemmCall call spec, so asking it with a NormCall '
    "raises; make a GemmCall"
)


class CallSpecWrongRequest(Rule):
    """An op is asked with the call spec that its interface requests.

    A subclass of the ``request`` is fine. It holds for ``kernel_for``, ``key_for`` and the pairs
    that ``requests`` of an op returns.

    Why:
        The op raises ``takes a <Request> call spec``, since implementations read the facts of that
        class.

    Limits:
        The op is ``self``, or one that is constructed in the same function or at module level. A
        spec is followed through one local. Nothing inside ``pytest.raises`` is judged.
    """

    id = "call-spec-wrong-request"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "the request and a subclass",
            _HEAD + "op = GemmFwdOp()\nop.key_for('gemm', GemmCall(m=4))\n"
            "op.key_for('gemm', WideCall(n=4))\n",
        ),
        Valid(
            "what is not known",
            _HEAD + "def test(op, call):\n    op.key_for('gemm', NormCall())\n"
            "    GemmFwdOp().key_for('gemm', call)\n"
            "    GemmFwdOp().key_for('norm', NormCall())\n",
        ),
        Valid(
            "a test that expects the error",
            "import pytest\n\n" + _HEAD + "def test():\n"
            "    with pytest.raises(TypeError):\n"
            "        GemmFwdOp().key_for('gemm', NormCall())\n",
        ),
        Valid(
            "suppressed",
            _HEAD + "GemmFwdOp().key_for(\n    'gemm',\n"
            "    NormCall(),  # tileops: ignore[call-spec-wrong-request] -- shown\n)\n",
        ),
    )
    INVALID = (
        Invalid(
            "an op of the same function",
            _HEAD + "def key():\n    op = GemmFwdOp()\n"
            "    return op.key_for('gemm', [|NormCall(n=4)|])\n",
            _MESSAGE,
        ),
        Invalid(
            "through a local, in a method",
            _HEAD + "class OtherFwdOp(GemmFwdOp):\n    def __call__(self, a):\n"
            "        call = NormCall(n=4)\n"
            "        return self.kernel_for(interface='gemm', call=[|call|])(a)\n",
            _MESSAGE.replace("GemmFwdOp", "OtherFwdOp"),
        ),
        Invalid(
            "the bare class",
            _HEAD + "GemmFwdOp().key_for('gemm', [|CallSpec()|])\n",
            _MESSAGE.replace("NormCall", "CallSpec"),
        ),
        Invalid(
            "the requests of an op in another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n"
                    "class GemmCall(CallSpec): ...\n\n\nclass NormCall(CallSpec): ...\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface, NormCall\n"
                    "from tileops.ops.op import Op\n\n\n"
                    'GEMM = "gemm"\n\n\n'
                    "class GemmFwdOp(Op):\n    interfaces = {GEMM: GemmFwdInterface}\n\n"
                    "    def requests(self, a):\n        return ((GEMM, [|NormCall(n=4)|]),)\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report requests whose spec is certainly not of the class the interface requests."""
        for asked in project.requested:
            interface = interface_of(project, asked)
            spec = spec_of(project, asked)
            if interface is None or spec is None or asked.site.raises:
                continue
            request = project.request(interface)
            if request is None or spec.inherits(request) or not spec.complete:
                continue
            assert asked.op is not None
            assert asked.key is not None
            assert asked.spec is not None
            name = project.evaluate(asked.module, asked.key).value.text
            message = (
                f'interface "{name}" of {asked.op.name} takes a {request.name} call spec, so '
                f"asking it with a {spec.name} raises; make a {request.name}"
            )
            symbol = ".".join(filter(None, (asked.site.owner, asked.site.function)))
            yield self.report(asked.module, asked.spec.span, message, symbol=symbol)
