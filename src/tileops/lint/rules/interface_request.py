"""The rule `interface-request`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._interfaces import Abstract
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import Span, Value
from tileops.lint.index import ClassNode, Foreign, Kind, Project

_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n\n"


class InterfaceRequest(Rule):
    """The ``request`` of a kernel interface is a call spec.

    It is stated in the class, or inherited from another interface.

    Why:
        Ops check the call spec they are asked with against ``request``, and tools read the facts
        of a call off it. Constructing an op whose interface has none raises.

    Limits:
        A value that cannot be resolved is not judged, nor is an interface that only serves as a
        base of others and that no op names.
    """

    id = "interface-request"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "stated", _SPEC + "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n"
        ),
        Valid(
            "inherited, annotated and through a constant",
            _SPEC + "REQUEST = GemmCall\n\n"
            "class GemmFwdInterface(KernelInterface):\n    request: type[CallSpec] = REQUEST\n\n"
            "class WideGemmFwdInterface(GemmFwdInterface): ...\n",
        ),
        Valid(
            "a base of interfaces",
            _SPEC + "class GemmFwdInterface(KernelInterface): ...\n\n"
            "class WideGemmFwdInterface(GemmFwdInterface):\n    request = GemmCall\n",
        ),
        Valid(
            "a spec that cannot be resolved",
            "from acme import AcmeCall\n\n"
            "class GemmFwdInterface(KernelInterface):\n    request = AcmeCall\n",
        ),
        Valid(
            "an implementation",
            _SPEC + "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n\n"
            "class GemmKernel(Kernel, GemmFwdInterface): ...\n",
        ),
        Valid(
            "suppressed",
            "class GemmFwdInterface(  # tileops: ignore[interface-request] -- shown\n"
            "    KernelInterface\n): ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "missing",
            "class [|GemmFwdInterface|](KernelInterface): ...\n",
            "GemmFwdInterface states no request, so no op can use it; "
            "set request to the call spec it takes",
        ),
        Invalid(
            "a builtin",
            "class GemmFwdInterface(KernelInterface):\n    request = [|int|]\n",
            "GemmFwdInterface requests int, which is no call spec, so no op can use it; "
            "set request to the class",
        ),
        Invalid(
            "no call spec",
            "@dataclass(frozen=True)\nclass GemmCall:\n    m: int = 0\n\n"
            "class GemmFwdInterface(KernelInterface):\n    request = [|GemmCall|]\n",
            "GemmFwdInterface requests GemmCall, which is no call spec, so no op can use it; "
            "derive GemmCall from CallSpec",
        ),
        Invalid(
            "an instance, a name and None",
            _SPEC + "class GemmFwdInterface(KernelInterface):\n    request = [|GemmCall()|]\n\n"
            "class GemmBwdInterface(KernelInterface):\n    request = [|'GemmCall'|]\n\n"
            "class NormFwdInterface(KernelInterface):\n    request = [|None|]\n",
            (
                "GemmFwdInterface requests an instance, which is no call spec, so no op can use "
                "it; set request to the class",
                "GemmBwdInterface requests a str, which is no call spec, so no op can use it; "
                "set request to the class",
                "NormFwdInterface requests None, which is no call spec, so no op can use it; "
                "set request to the class",
            ),
        ),
        Invalid(
            "annotated only, in a base that an op names",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n"
                    "class [|GemmFwdInterface|](KernelInterface):\n"
                    "    request: type[CallSpec]\n\n\n"
                    "class [|WideGemmFwdInterface|](GemmFwdInterface): ...\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    'class GemmFwdOp(Op):\n    interfaces = {"gemm": GemmFwdInterface}\n'
                ),
            },
            (
                "GemmFwdInterface states no request, so no op can use it; "
                "set request to the call spec it takes",
                "WideGemmFwdInterface states no request, so no op can use it; "
                "set request to the call spec it takes",
            ),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report interfaces whose ``request`` is certainly no call spec."""
        abstract = Abstract(project)
        for node in project.of_kind(Kind.INTERFACE):
            found = None if node in abstract else _fault(project, node)
            if found is not None:
                fault, span = found
                message = f"{node.name} {fault}"
                yield self.report(node.module, span, message, symbol=node.name)


def _fault(project: Project, node: ClassNode) -> tuple[str, Span] | None:
    found = node.lookup("request")
    if not found.known or found.method is not None:
        return None
    value = None if found.attribute is None else found.attribute.value
    if value is None or found.owner is None:
        fault = "states no request, so no op can use it; set request to the call spec it takes"
        return fault, node.facts.name_span
    if found.owner is not node:
        # The interface that states it is reported.
        return None
    stated = project.evaluate(node.module, value)
    request = project.resolve_class(stated.module, stated.value)
    if request is not None:
        if not request.complete or request.kind is Kind.CALL_SPEC or _is_root(project, request):
            return None
        what, advice = request.name, f"derive {request.name} from CallSpec"
    else:
        what, advice = _named(project, node, value), "set request to the class"
    if not what:
        return None
    return f"requests {what}, which is no call spec, so no op can use it; {advice}", value.span


def _is_root(project: Project, node: ClassNode) -> bool:
    return node is project.roots["call_spec"]


def _named(project: Project, node: ClassNode, value: Value) -> str:
    """Return what a value that is no class is, or ""."""
    match value.kind:
        case "none":
            return "None"
        case "str" | "int" | "float" | "bool" | "list" | "tuple" | "dict" | "set":
            return f"a {value.kind}"
        case "call" if project.resolve_class(node.module, value.items[0]) is not None:
            return "an instance"
    target = project.resolve(node.module, value)
    return value.name if isinstance(target, Foreign) and target.transparent else ""
