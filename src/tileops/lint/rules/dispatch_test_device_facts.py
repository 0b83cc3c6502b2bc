"""The rule `dispatch-test-device-facts`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._asked import interface_of, spec_of
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import device_facts
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import FunctionFacts, Value
from tileops.lint.index import ClassNode, Module, Project, Requested

_LIBRARY = {
    "src/tileops/kernels/gemm.py": (
        "from dataclasses import dataclass\n\n"
        "from tileops.backend import CallSpec, KernelInterface\n\n\n"
        "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n\n\n"
        "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n"
    ),
    "src/tileops/ops/gemm.py": (
        "from tileops.kernels.gemm import GemmFwdInterface\nfrom tileops.ops.op import Op\n\n\n"
        "class GemmFwdOp(Op):\n    interfaces = {'gemm': GemmFwdInterface}\n"
    ),
}
_TEST = (
    "import pytest\nimport torch\n\nfrom tileops.kernels.gemm import GemmCall\n"
    "from tileops.ops.gemm import GemmFwdOp\n\n\n"
)
_MESSAGE = (
    "GemmCall states no arch, so the key is that of the machine the test runs on; "
    "state arch and sm_count"
)


def _test(body: str) -> dict[str, str]:
    return {**_LIBRARY, "tests/test_gemm.py": _TEST + body}


class DispatchTestDeviceFacts(Rule):
    """A test of ``key_for`` states the device facts of the call.

    With ``arch`` stated, the facts that are not are those of a board of that architecture.

    Why:
        Without them the answer depends on the machine: the test fails, or tests something else, on
        one with another GPU or without.

    Limits:
        Only specs that are constructed in the call or bound to one local are judged. A spec with a
        spread mapping, a device that is not CUDA or not known, and tests marked ``gpu`` are fine.
    """

    id = "dispatch-test-device-facts"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "stated",
            _test(
                "def test():\n    op = GemmFwdOp()\n"
                "    assert op.key_for('gemm', GemmCall(m=4, arch=90, sm_count=132)) == 'gemm'\n"
                "    assert op.key_for('gemm', GemmCall(m=4, arch=90)) == 'gemm'\n"
            ),
        ),
        Valid(
            "on the CPU, or a device that is not known",
            _test(
                "def test(device):\n    op = GemmFwdOp()\n    op.key_for('gemm', GemmCall('cpu'))\n"
                "    op.key_for('gemm', GemmCall(device=torch.device('meta')))\n"
                "    op.key_for('gemm', GemmCall(device=device))\n"
            ),
        ),
        Valid(
            "what is not known",
            _test(
                "FACTS = {'arch': 90}\n\n\ndef test(call):\n    op = GemmFwdOp()\n"
                "    op.key_for('gemm', GemmCall(m=4, **FACTS))\n    op.key_for('gemm', call)\n"
                "    op.key_for('gemm', call.with_facts(m=5))\n    op.key_for('norm', GemmCall())\n"
            ),
        ),
        Valid(
            "a test that needs a GPU",
            _test(
                "@pytest.mark.gpu\ndef test():\n    GemmFwdOp().key_for('gemm', GemmCall(m=4))\n"
            ),
        ),
        Valid(
            "kernel_for, and no test",
            {
                **_LIBRARY,
                "src/probe.py": _TEST + "GemmFwdOp().key_for('gemm', GemmCall(m=4))\n",
                "tests/test_gemm.py": _TEST
                + "def test():\n    GemmFwdOp().kernel_for('gemm', GemmCall(m=4))\n",
            },
        ),
        Valid(
            "suppressed",
            _test(
                "def test():\n    GemmFwdOp().key_for(\n        'gemm',\n"
                "        # tileops: ignore[dispatch-test-device-facts] -- any machine\n"
                "        GemmCall(m=4),\n    )\n"
            ),
        ),
    )
    INVALID = (
        Invalid(
            "no facts",
            _test(
                "def test():\n    op = GemmFwdOp()\n"
                "    assert op.key_for('gemm', [|GemmCall(m=4)|]) == 'gemm'\n"
            ),
            _MESSAGE,
        ),
        Invalid(
            "some facts, through a local, where a refusal is expected",
            _test(
                "def test():\n    call = GemmCall(m=4, sm_count=132)\n"
                "    with pytest.raises(ValueError, match='serves'):\n"
                "        GemmFwdOp().key_for('gemm', [|call|])\n"
            ),
            _MESSAGE,
        ),
        Invalid(
            "a CUDA device",
            _test(
                "OP = GemmFwdOp()\n\n\ndef test():\n"
                "    OP.key_for('gemm', [|GemmCall('cuda:0', m=4)|])\n"
                "    OP.key_for('gemm', [|GemmCall(device=torch.device('cuda'))|])\n"
            ),
            (_MESSAGE, _MESSAGE),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report specs whose device facts depend on the machine."""
        names = device_facts(project)
        for asked in project.requested:
            if asked.via != "key_for" or not asked.module.is_test or asked.spec is None:
                continue
            spec, interface = spec_of(project, asked), interface_of(project, asked)
            if spec is None or interface is None or asked.made is None:
                continue
            if _wants_machine(asked) or not _depends(project, asked.module, asked.made, names):
                continue
            request = project.request(interface)
            if request is not None and spec.inherits(request):
                yield self._report(asked, spec)

    def _report(self, asked: Requested, spec: ClassNode) -> Report:
        assert asked.spec is not None
        message = (
            f"{spec.name} states no arch, so the key is that of the machine the test runs on; "
            "state arch and sm_count"
        )
        symbol = ".".join(filter(None, (asked.site.owner, asked.site.function)))
        return self.report(asked.module, asked.spec.span, message, symbol=symbol)


def _depends(project: Project, module: Module, made: Value, names: tuple[str, ...]) -> bool:
    """Say whether a constructed spec certainly takes its facts from the machine's GPU."""
    positional = made.arguments
    if "**" in made.names or any(value.kind == "starred" for value in positional):
        return False
    given = dict([*zip(names, positional, strict=False), *made.keywords])
    arch, device = given.get("arch"), given.get("device")
    if arch is not None and arch.kind != "none":
        return False
    if device is None or device.kind == "none":
        return True
    if device.kind == "call" and project.imported(module, device.items[0]) == "torch.device":
        device = device.arguments[0] if device.arguments else device
    text = project.evaluate(module, device).value.text
    return text is not None and text.partition(":")[0] == "cuda"


def _wants_machine(asked: Requested) -> bool:
    """Say whether the test, its class or its file is marked to need a GPU."""
    module = asked.module
    marks = [module.facts.constants.get("pytestmark")]
    owner = module.classes.get(asked.site.owner)
    method: FunctionFacts | None = None
    if owner is not None:
        marks += owner.facts.decorators
        method = owner.facts.method(asked.site.function)
    else:
        method = module.functions.get(asked.site.function)
    marks += () if method is None else method.decorators
    return any(mark is not None and _names_gpu(mark) for mark in marks)


def _names_gpu(mark: Value) -> bool:
    return mark.name.endswith("mark.gpu") or any(map(_names_gpu, mark.items))
