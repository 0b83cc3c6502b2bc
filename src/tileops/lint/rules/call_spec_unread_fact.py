"""The rule `call-spec-unread-fact`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import device_facts, own_fields
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import FunctionFacts
from tileops.lint.index import ClassNode, Kind, Module, Project

_WHOLE = frozenset({"asdict", "astuple", "facts", "fields", "replace", "vars"})
_SPEC = (
    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n    window: int = 0\n\n"
)
_HEAD = _SPEC + "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n\n"
_KERNEL = (
    "class GemmKernel(Kernel, GemmFwdInterface):\n    @classmethod\n    def refusal(cls, call):\n"
)
_MESSAGE = (
    "no implementation, op, interface or spec reads GemmCall.%s, but it still splits the cache of "
    "kernels; drop it, or read it where it matters"
)


class CallSpecUnreadFact(Rule):
    """Some implementation, op, interface or spec reads every fact of a call spec.

    Why:
        A fact that decides nothing still takes part in equality and, by default, in the build
        identity: calls that differ in it alone build the same kernel twice.

    Limits:
        Reading is any attribute of that name in the project outside its tests, so a fact is missed
        when something else has its name. A spec is judged once an implementation of an interface
        that requests it is known, and not where its family goes through all fields at once.
    """

    id = "call-spec-unread-fact"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "read, by getattr too",
            _HEAD + _KERNEL + "        return call.m or getattr(call, 'window')\n",
        ),
        Valid(
            "read by a property of the spec",
            _HEAD.replace(
                "window: int = 0\n",
                "window: int = 0\n    @property\n    def wide(self): return self.window\n",
            )
            + _KERNEL
            + "        return call.m or call.wide\n",
        ),
        Valid("nobody implements it yet", _HEAD),
        Valid(
            "all fields at once",
            _HEAD + _KERNEL + "        return str(dataclasses.asdict(call))\n",
        ),
        Valid(
            "suppressed",
            _HEAD.replace(
                "window: int = 0",
                "window: int = 0  # tileops: ignore[call-spec-unread-fact] -- why",
            )
            + _KERNEL
            + "        return call.m\n",
        ),
    )
    INVALID = (
        Invalid(
            "one fact",
            _HEAD.replace("window", "[|window|]") + _KERNEL + "        return call.m\n",
            _MESSAGE % "window",
        ),
        Invalid(
            "an inherited request",
            _HEAD.replace("    m:", "    [|m|]:").replace("window", "[|window|]")
            + "class WideFwdInterface(GemmFwdInterface): ...\n\n"
            "class WideKernel(Kernel, WideFwdInterface): ...\n",
            (_MESSAGE % "m", _MESSAGE % "window"),
        ),
        Invalid(
            "read only by a test, in other files",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
                    "    m: int = 0\n    [|window|]: int = 0\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n    request = GemmCall\n"
                ),
                "src/tileops/kernels/gemm/gemm.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n\n\n"
                    "class GemmKernel(Kernel, GemmFwdInterface):\n"
                    "    @classmethod\n    def refusal(cls, call):\n        return call.m\n"
                ),
                "tests/test_gemm.py": "def test(call):\n    assert call.window\n",
            },
            _MESSAGE % "window",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the fields whose names no file outside the tests reads."""
        modules = [module for module in project.own_modules if not module.is_test]
        read = {name for module in modules for name in module.facts.names}
        base = frozenset(device_facts(project))
        families = _families(project)
        for spec in project.of_kind(Kind.CALL_SPEC):
            family = families.get(spec)
            if family is None or spec.module.is_test or any(map(_reads_all, family)):
                continue
            for attribute in own_fields(project, spec):
                if attribute.name in read or attribute.name in base:
                    continue
                symbol = f"{spec.name}.{attribute.name}"
                message = (
                    f"no implementation, op, interface or spec reads {symbol}, but it still "
                    "splits the cache of kernels; drop it, or read it where it matters"
                )
                yield self.report(spec.module, attribute.name_span, message, symbol=symbol)


def _families(project: Project) -> dict[ClassNode, set[Module]]:
    """Return the modules that handle each spec, for those some implementation serves."""
    found: dict[ClassNode, set[Module]] = {}
    for node in project.of_kind(Kind.IMPLEMENTATION):
        if node.module.is_test:
            continue
        for interface in project.interfaces_of(node):
            request = project.request(interface)
            for spec in request.mro if request is not None else ():
                if spec.kind is Kind.CALL_SPEC:
                    family = found.setdefault(spec, {spec.module})
                    family |= {node.module, interface.module}
    for table in project.tables:
        for entry in table.interfaces.entries if table.interfaces else ():
            request = project.request(entry.target) if entry.target is not None else None
            if request in found:
                found[request].add(table.op.module)
    return found


def _reads_all(module: Module) -> bool:
    """Say whether a module goes through all fields of something."""
    methods = (method for owner in module.facts.classes for method in owner.methods)
    return any(map(_goes_through, (*module.facts.functions, *methods)))


def _goes_through(function: FunctionFacts) -> bool:
    return any(call.rpartition(".")[2] in _WHOLE for call in function.calls)
