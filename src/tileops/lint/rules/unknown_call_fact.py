"""The rule `unknown-call-fact`."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import FunctionFacts, Param, Read
from tileops.lint.index import ClassNode, Kind, Module, Project

_METHODS = ("refusal", "entry_for", "__init__")
_EVERY_OBJECT = frozenset(dir(object)) | {"__dict__", "__dataclass_fields__"}
_SPEC = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    m: int = 0
    trans_b: bool = True

    @property
    def is_vector(self):
        return self.m == 1

class GemmFwdInterface(KernelInterface):
    request = GemmCall

"""


@dataclass(frozen=True)
class _Taker:
    """A parameter that takes a call spec.

    ``requests`` are the specs it may be given, None for one that is unknown; with ``each`` a fact
    has to be on every one of them, else on one.
    """

    module: Module
    function: FunctionFacts
    symbol: str
    param: str
    stated: ClassNode | None
    requests: Sequence[ClassNode | None]
    each: bool = False

    def lacking(self, name: str) -> ClassNode | None:
        """Return a spec that certainly lacks a fact which it would have to have."""
        found = [spec for spec in self.requests if spec and _lacks(spec, self.stated, name)]
        wrong = bool(found) and (self.each or len(found) == len(self.requests))
        return found[0] if wrong else None


class UnknownCallFact(Rule):
    """``refusal``, ``entry_for`` and the constructor read facts that the call spec has.

    The spec is the ``request`` of every interface the class implements; where the parameter is
    annotated with a related spec, that one's facts count as well. A base class without an
    interface is judged by its annotation, and by the specs that derive from it; so is a function
    of a module.

    Why:
        A misspelt fact raises ``AttributeError`` in the middle of selection, on the first call
        that gets that far.

    Limits:
        A fact that the same function also reads through ``getattr`` with a default is taken to be
        guarded. Specs with a base that cannot be resolved are not judged. The constructor is
        judged only where a parameter is annotated with a call spec or called ``call``.
    """

    id = "unknown-call-fact"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "a base class, whose fact a derived spec has",
            _SPEC + "@dataclass(frozen=True)\nclass WideCall(GemmCall):\n    k: int = 0\n\n"
            "class Base(Kernel):\n"
            "    @classmethod\n    def entry_for(cls, call: GemmCall):\n"
            "        return call.k, lambda: cls(call.m)\n",
        ),
        Valid(
            "fields, inherited facts and properties",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return call.is_vector or call.arch or call.m or call.__class__\n",
        ),
        Valid(
            "functions, of which one takes something else",
            _SPEC + "def area(call: GemmCall):\n    return call.m\n\n\n"
            "def width(call: Phone):\n    return call.width\n",
        ),
        Valid(
            "guarded by getattr",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return call.groups if getattr(call, 'groups', None) else None\n",
        ),
        Valid(
            "a related spec in the annotation",
            _SPEC + "@dataclass(frozen=True)\nclass GroupedCall(GemmCall):\n    groups: int = 1\n\n"
            "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call: GroupedCall):\n"
            "        return call.groups\n",
        ),
        Valid(
            "a spec with a base that cannot be resolved",
            "from acme import Facts\n\n@dataclass(frozen=True)\n"
            "class AnyCall(CallSpec, Facts): ...\n\n"
            "class AnyFwdInterface(KernelInterface):\n    request = AnyCall\n\n"
            "class AnyKernel(Kernel, AnyFwdInterface):\n"
            "    def __init__(self, call):\n        self.n = call.whatever\n",
        ),
        Valid(
            "suppressed",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return call.groups  # tileops: ignore[unknown-call-fact] -- set by the op\n",
        ),
    )
    INVALID = (
        Invalid(
            "a base class, judged by its annotation",
            _SPEC + "class Base(Kernel):\n"
            "    @classmethod\n    def entry_for(cls, call: GemmCall):\n"
            "        return [|call.k|], lambda: cls(call.m)\n",
            'GemmCall has no fact "k"',
        ),
        Invalid(
            "a function, judged by its annotation",
            _SPEC + "def area(call: GemmCall):\n    return call.m * [|call.width|]\n",
            'GemmCall has no fact "width"',
        ),
        Invalid(
            "a misspelt fact in refusal",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return 'serves b transposed' if not [|call.tran_b|] else None\n",
            'GemmCall has no fact "tran_b"; did you mean "trans_b"?',
            fixed=_SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return 'serves b transposed' if not call.trans_b else None\n",
        ),
        Invalid(
            "nothing like it, in entry_for",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def entry_for(cls, spec):\n"
            "        return spec.m, lambda: cls([|spec.window|])\n",
            'GemmCall has no fact "window"',
        ),
        Invalid(
            "the constructor",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    def __init__(self, call):\n        self.k = [|call.k_size|]\n",
            'GemmCall has no fact "k_size"',
        ),
        Invalid(
            "one of two interfaces, in other files",
            {
                "src/tileops/kernels/norm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec, KernelInterface\n\n\n"
                    "@dataclass(frozen=True)\nclass NormCall(CallSpec):\n    n: int = 0\n\n\n"
                    "@dataclass(frozen=True)\nclass WideCall(CallSpec):\n"
                    "    n: int = 0\n    wide: bool = False\n\n\n"
                    "class NormFwdInterface(KernelInterface):\n    request = NormCall\n\n\n"
                    "class WideNormFwdInterface(KernelInterface):\n    request = WideCall\n"
                ),
                "src/tileops/kernels/norm/norm.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.norm.call_spec import (\n"
                    "    NormFwdInterface,\n    WideNormFwdInterface,\n)\n\n\n"
                    "class NormKernel(Kernel, NormFwdInterface, WideNormFwdInterface):\n"
                    "    @classmethod\n    def refusal(cls, call):\n"
                    "        return [|call.wide|] and call.n or None\n"
                ),
            },
            'NormCall has no fact "wide"',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the facts no spec has that implementations and functions read."""
        for taker in _takers(project):
            guarded = {read.attribute for read in taker.function.reads if read.guarded}
            for read in taker.function.reads:
                if read.param != taker.param or read.attribute in guarded | _EVERY_OBJECT:
                    continue
                lacking = taker.lacking(read.attribute)
                if lacking is not None:
                    yield self._report(taker, read, lacking)

    def _report(self, taker: _Taker, read: Read, spec: ClassNode) -> Report:
        near = difflib.get_close_matches(read.attribute, _facts(spec), n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        message = f'{spec.name} has no fact "{read.attribute}"{hint}'
        repair = None
        if near:
            build = partial(_edit, taker.module, read, near[0])
            repair = Repair(Applicability.UNSAFE, f"read {near[0]}", build)
        return self.report(taker.module, read.span, message, symbol=taker.symbol, repair=repair)


def _takers(project: Project) -> Iterator[_Taker]:
    for node in project.of_kind(Kind.IMPLEMENTATION, Kind.KERNEL):
        requests = [project.request(interface) for interface in project.interfaces_of(node)]
        for method in node.facts.methods:
            symbol = f"{node.name}.{method.name}"
            for param in _spec_params(project, node, method):
                stated = _class(project, node.module, param)
                each = node.kind is Kind.IMPLEMENTATION
                given = requests if each else _served(project, stated)
                yield _Taker(node.module, method, symbol, param.name, stated, given, each)
    for module in project.own_modules:
        for function in module.facts.functions:
            read = {one.param for one in function.reads}
            for param in (one for one in function.params if one.name in read):
                stated = _class(project, module, param)
                served = _served(project, stated)
                yield _Taker(module, function, function.name, param.name, stated, served)


def _spec_params(project: Project, node: ClassNode, method: FunctionFacts) -> list[Param]:
    """Return the parameters that take a call spec."""
    if method.name not in _METHODS:
        return []
    if method.name != "__init__":
        return list(method.params[1:2])
    return [p for p in method.params[1:] if p.name == "call" or _class(project, node.module, p)]


def _class(project: Project, module: Module, param: Param) -> ClassNode | None:
    """Return the call spec a parameter is annotated with."""
    if param.annotation is None:
        return None
    found = project.resolve_class(module, param.annotation)
    return found if found is not None and found.kind in (Kind.CALL_SPEC, Kind.ROOT) else None


def _served(project: Project, stated: ClassNode | None) -> list[ClassNode | None]:
    """Return the specs that a base of implementations may be given, the stated one first.

    It knows no interface; one of the specs has to have what it reads.
    """
    if stated is None or stated.kind is not Kind.CALL_SPEC:
        return []
    derived = (node for node in project.known_classes if node.inherits(stated))
    return [stated, *(node for node in derived if node is not stated)]


def _lacks(spec: ClassNode, stated: ClassNode | None, name: str) -> bool:
    """Say whether a spec, and the related one an annotation states, certainly have no such fact."""
    found = spec.lookup(name)
    if not found.known or found.owner is not None:
        return False
    if stated is None or not (stated.inherits(spec) or spec.inherits(stated)):
        return True
    other = stated.lookup(name)
    return other.known and other.owner is None


def _facts(spec: ClassNode) -> list[str]:
    """Return the names of a spec's fields, properties and methods."""
    names = {a.name: None for base in spec.mro for a in base.facts.attributes}
    names |= {m.name: None for base in spec.mro for m in base.facts.methods}
    return [name for name in names if not name.startswith("_")]


def _edit(module: Module, read: Read, near: str, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    def change(found: cst.BaseExpression) -> cst.BaseExpression | None:
        return found.with_changes(attr=cst.Name(near)) if isinstance(found, cst.Attribute) else None

    return rewrite(sources[module.path], read.span, change)
