"""The rule `missing-abstract-method`."""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import FunctionFacts, Param
from tileops.lint.index import ClassNode, Project

_ABSTRACT = "abc.abstractmethod"
_INTERFACE = """\
class GemmFwdInterface(KernelInterface):
    @abstractmethod
    def forward(self, a, b): ...

    @abstractmethod
    def workspace(self, rows, *, pad=0): ...

"""
_OP = """
class GemmFwdOp(Op):
    kernel_types = {"tiled": GemmKernel}
    interfaces = {"gemm": GemmFwdInterface}
"""
_CLASS = _INTERFACE + "class GemmKernel(Kernel, GemmFwdInterface):\n"


def _message(name: str) -> str:
    return (
        f"GemmKernel is registered and does not implement {name}, which GemmFwdInterface declares "
        "abstract, so it cannot be instantiated; implement it"
    )


class MissingAbstractMethod(Rule):
    """A registered implementation implements every abstract method it inherits.

    Bases that are not registered themselves may leave methods to their subclasses.

    Why:
        An abstract class cannot be instantiated: constructing the op raises, and without that check
        the factory would, at the first call that selects the implementation.

    Limits:
        A class with a base that cannot be resolved is not judged, since a mixin may supply the
        method. The fix adds a stub that raises ``NotImplementedError``.
    """

    id = "missing-abstract-method"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "every method, one of them inherited and one assigned",
            _INTERFACE + "class Base(Kernel, GemmFwdInterface):\n"
            "    def forward(self, a, b): ...\n\n"
            "class GemmKernel(Base):\n    workspace = Base.forward\n" + _OP,
        ),
        Valid("not registered", _CLASS + "    def forward(self, a, b): ...\n"),
        Valid(
            "a mixin of unknown origin",
            "from acme import Workspaces\n\n"
            + _INTERFACE
            + "class GemmKernel(Workspaces, Kernel, GemmFwdInterface):\n"
            "    def forward(self, a, b): ...\n" + _OP,
        ),
        Valid(
            "suppressed",
            _INTERFACE + "class GemmKernel(  # tileops: ignore[missing-abstract-method] -- shown\n"
            "    Kernel, GemmFwdInterface\n):\n"
            "    def forward(self, a, b): ...\n" + _OP,
        ),
    )
    INVALID = (
        Invalid(
            "one method of two",
            _INTERFACE + "class [|GemmKernel|](Kernel, GemmFwdInterface):\n"
            "    def forward(self, a, b): ...\n" + _OP,
            _message("workspace"),
            fixed=_CLASS + "    def workspace(self, rows, *, pad=0): raise NotImplementedError\n"
            "    def forward(self, a, b): ...\n" + _OP,
        ),
        Invalid(
            "all of them",
            _INTERFACE + "class [|[|GemmKernel|]|](Kernel, GemmFwdInterface): ...\n" + _OP,
            (_message("forward"), _message("workspace")),
        ),
        Invalid(
            "abstract again",
            _INTERFACE + "class [|GemmKernel|](Kernel, GemmFwdInterface):\n"
            "    def forward(self, a, b): ...\n\n"
            "    @abstractmethod\n    def workspace(self, rows): ...\n" + _OP,
            _message("workspace").replace("GemmFwdInterface declares", "GemmKernel declares"),
        ),
        Invalid(
            "a class method, registered by a backend in another file",
            {
                "src/tileops/kernels/gemm.py": (
                    "from abc import abstractmethod\n\n"
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n"
                    "    @classmethod\n    @abstractmethod\n    def workspace(cls, call): ...\n\n\n"
                    "class GemmFwdOp(Op):\n    interfaces = {'gemm': GemmFwdInterface}\n"
                ),
                "src/acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.kernels.gemm import GemmFwdInterface\n\n\n"
                    "class [|GemmKernel|](Kernel, GemmFwdInterface):\n"
                    "    def forward(self, a, b): ...\n\n\n"
                    "register_kernel_type('GemmFwdOp', 'acme', GemmKernel)\n"
                ),
            },
            _message("workspace"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the abstract methods of registered classes whose bases are all known."""
        entries = chain.from_iterable(table.keys() for table in project.tables)
        targets = {entry.target for entry in entries}
        abstract: dict[ClassNode, list[FunctionFacts]] = {}
        for node in targets:
            if node is None or not node.complete or node.module.external:
                continue
            for base in node.mro:
                if base not in abstract:
                    abstract[base] = [
                        m for m in base.facts.methods if _is_abstract(project, base, m)
                    ]
                for method in abstract[base]:
                    if node.lookup(method.name).method is method:
                        yield self._report(node, base, method)

    def _report(self, node: ClassNode, base: ClassNode, method: FunctionFacts) -> Report:
        message = (
            f"{node.name} is registered and does not implement {method.name}, which {base.name} "
            "declares abstract, so it cannot be instantiated; implement it"
        )
        repair = None
        stub = _stub(method)
        if stub and base is not node:
            build = partial(_insert, node, stub)
            repair = Repair(Applicability.UNSAFE, f"add a stub of {method.name}", build)
        span = node.facts.name_span
        return self.report(node.module, span, message, symbol=node.name, repair=repair)


def _is_abstract(project: Project, owner: ClassNode, method: FunctionFacts) -> bool:
    return any(project.imported(owner.module, d) == _ABSTRACT for d in method.decorators)


def _stub(method: FunctionFacts) -> str:
    """Return a plain method that raises, "" when the abstract one is of another form."""
    if len(method.decorators) > 1 or method.asynchronous:
        return ""
    parts: list[str] = []
    starred = False
    for param in method.params:
        text = _param(param)
        if not text:
            return ""
        if param.kind == "keyword" and not starred:
            parts.append("*")
        starred = starred or param.kind in ("keyword", "variadic")
        parts.append(text)
    return f"def {method.name}({', '.join(parts)}): raise NotImplementedError"


def _param(param: Param) -> str:
    prefix = {"variadic": "*", "mapping": "**"}.get(param.kind, "")
    if param.default is None:
        return f"{prefix}{param.name}"
    if param.default.kind not in ("none", "bool", "int", "float", "str"):
        return ""
    return f"{param.name}={param.default.data!r}"


def _insert(node: ClassNode, stub: str, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import insert_member

    return insert_member(sources[node.module.path], node.facts, stub)
