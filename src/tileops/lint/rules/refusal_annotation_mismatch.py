"""The rule `refusal-annotation-mismatch`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import Param, Value
from tileops.lint.index import ClassNode, Kind, Project

_METHODS = ("refusal", "entry_for")
_SPECS = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    n: int = 0

@dataclass(frozen=True)
class GroupedCall(GemmCall):
    groups: int = 0

@dataclass(frozen=True)
class NormCall(CallSpec):
    n: int = 0

class GemmFwdInterface(KernelInterface):
    request = GemmCall

class NormFwdInterface(KernelInterface):
    request = NormCall

"""
_CLASS = _SPECS + "class GemmKernel(Kernel, GemmFwdInterface):\n    @classmethod\n"
_MESSAGE = (
    "GemmKernel.{} takes a NormCall by its annotation, but GemmFwdInterface requests GemmCall, "
    "which is unrelated to it; annotate it with GemmCall"
)


class RefusalAnnotationMismatch(Rule):
    """The call spec annotated in ``refusal`` and ``entry_for`` is one the interfaces request.

    The annotation may also name a base or a subclass of the requested spec.

    Why:
        The op hands over the spec of the interface. Under another annotation the reader, and the
        type checker, look up facts that the call does not have.

    Limits:
        A class with several interfaces has to match one of them. Missing annotations, ``Any`` and
        anything but the name of a call spec are not judged.
    """

    id = "refusal-annotation-mismatch"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "the spec, a subclass, a base and none",
            _SPECS + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call: GemmCall): ...\n\n"
            "    @classmethod\n    def entry_for(cls, call: 'GroupedCall'): ...\n\n"
            "class PlainKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call: CallSpec): ...\n\n"
            "    @classmethod\n    def entry_for(cls, call): ...\n",
        ),
        Valid(
            "either of two interfaces",
            _SPECS + "class BothKernel(Kernel, GemmFwdInterface, NormFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call: NormCall): ...\n",
        ),
        Valid(
            "a union, and an interface of unknown request",
            "from acme import AcmeCall\n\n"
            + _SPECS
            + "class AcmeFwdInterface(KernelInterface):\n    request = AcmeCall\n\n"
            + "class AKernel(Kernel, AcmeFwdInterface):\n"
            + "    @classmethod\n    def refusal(cls, call: NormCall): ...\n\n"
            + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            + "    @classmethod\n    def refusal(cls, call: NormCall | GemmCall): ...\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "    def refusal(  # tileops: ignore[refusal-annotation-mismatch] -- shown\n"
            "        cls, call: NormCall\n    ): ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "an unrelated spec",
            _CLASS + "    def refusal(cls, call: [|NormCall|]): ...\n",
            _MESSAGE.format("refusal"),
        ),
        Invalid(
            "in quotes, in entry_for",
            _CLASS + "    def entry_for(cls, call: [|'NormCall'|]): ...\n",
            _MESSAGE.format("entry_for"),
        ),
        Invalid(
            "a spec in another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n" + _SPECS
                ),
                "src/tileops/kernels/gemm/gemm.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.gemm import call_spec\n\n\n"
                    "class GemmKernel(Kernel, call_spec.GemmFwdInterface):\n"
                    "    @classmethod\n"
                    "    def refusal(cls, call: [|call_spec.NormCall|]): ...\n"
                ),
            },
            _MESSAGE.format("refusal"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report annotations of specs that no interface of the class requests."""
        for node in project.of_kind(Kind.IMPLEMENTATION):
            for name in _METHODS:
                method = node.facts.method(name)
                if method is not None and len(method.params) > 1:
                    yield from self._judge(project, node, name, method.params[1])

    def _judge(
        self, project: Project, node: ClassNode, method: str, param: Param
    ) -> Iterator[Report]:
        stated = _spec(project, node, param.annotation)
        if stated is None or param.annotation is None:
            return
        interfaces = project.interfaces_of(node)
        requests = [project.request(interface) for interface in interfaces]
        for request in requests:
            if request is None or not request.complete:
                return
            if stated.inherits(request) or request.inherits(stated):
                return
        if requests and requests[0] is not None:
            message = (
                f"{node.name}.{method} takes a {stated.name} by its annotation, but "
                f"{interfaces[0].name} requests {requests[0].name}, which is unrelated to it; "
                f"annotate it with {requests[0].name}"
            )
            symbol = f"{node.name}.{method}"
            yield self.report(node.module, param.annotation.span, message, symbol=symbol)


def _spec(project: Project, node: ClassNode, annotation: Value | None) -> ClassNode | None:
    """Return the call spec an annotation names, in quotes or not."""
    if annotation is None:
        return None
    if annotation.text is not None:
        annotation = Value("name", annotation.span, annotation.text)
    found = project.resolve_class(node.module, annotation)
    known = found is not None and found.kind is Kind.CALL_SPEC and found.complete
    return found if known else None
