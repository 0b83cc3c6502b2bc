"""The rule `interface-forward-abstract`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._interfaces import Abstract
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import FunctionFacts
from tileops.lint.index import ClassNode, Kind, Project

_ABSTRACT = "abc.abstractmethod"
_HEAD = "class GemmFwdInterface(KernelInterface):\n"
_CONCRETE = (
    "GemmFwdInterface.forward is not abstract, so an implementation without a forward of its own "
    "can be built; decorate it with @abstractmethod"
)
_BODY = (
    "GemmFwdInterface.forward has a body, but an interface only states what implementations do; "
    "leave its docstring"
)


class InterfaceForwardAbstract(Rule):
    """A kernel interface has an abstract ``forward`` without a body.

    Its parameters are the arguments the op passes, its docstring is the contract.

    Why:
        Implementations are checked against the parameters, and a class that lacks ``forward`` is
        caught only because the method is abstract. What the body does, no op runs.

    Limits:
        A docstring, ``...``, ``pass`` and ``raise NotImplementedError`` are no body. Decorators
        that cannot be resolved are trusted. An interface that only serves as a base of others and
        that no op names needs no ``forward``. The fix decorates a ``forward`` without a body.
    """

    id = "interface-forward-abstract"
    severity = Severity.ERROR
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid(
            "abstract",
            _HEAD + '    @abstractmethod\n    def forward(self, a):\n        """Multiply."""\n',
        ),
        Valid(
            "raises",
            "import abc\n\n" + _HEAD + "    @abc.abstractmethod\n    def forward(self, a):\n"
            '        """Multiply."""\n        raise NotImplementedError\n',
        ),
        Valid(
            "inherited, and a base of interfaces",
            "class _AnyFwdInterface(KernelInterface): ...\n\n"
            "class GemmFwdInterface(_AnyFwdInterface):\n"
            "    @abstractmethod\n    def forward(self, a): ...\n\n"
            "class WideGemmFwdInterface(GemmFwdInterface): ...\n",
        ),
        Valid(
            "a decorator that cannot be resolved",
            "from acme import contract\n\n"
            + _HEAD
            + "    @contract\n    def forward(self, a): ...\n",
        ),
        Valid(
            "an implementation",
            _HEAD + "    @abstractmethod\n    def forward(self, a): ...\n\n"
            "class GemmKernel(Kernel, GemmFwdInterface):\n    def forward(self, a):\n"
            "        return a\n",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "    def forward(self, a):  # tileops: ignore[interface-forward-abstract] -- no\n"
            "        ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "not decorated",
            _HEAD
            + '    request = CallSpec\n\n    def [|forward|](self, a):\n        """Multiply."""\n',
            _CONCRETE,
            fixed=_HEAD
            + "    request = CallSpec\n\n    @abstractmethod\n    def forward(self, a):\n"
            '        """Multiply."""\n',
        ),
        Invalid(
            "without the import",
            {
                "src/tileops/kernels/gemm/gemm.py": (
                    '"""Products."""\n\nfrom tileops.backend import KernelInterface\n\n\n'
                    + _HEAD
                    + "    def [|forward|](self, a): ...\n"
                ),
            },
            _CONCRETE,
            fixed={
                "src/tileops/kernels/gemm/gemm.py": (
                    '"""Products."""\n\nimport abc\n'
                    "from tileops.backend import KernelInterface\n\n\n"
                    + _HEAD
                    + "    @abc.abstractmethod\n    def forward(self, a): ...\n"
                ),
            },
        ),
        Invalid(
            "a body",
            _HEAD + "    @abstractmethod\n    def [|forward|](self, a):\n        return a\n",
            _BODY,
        ),
        Invalid(
            "a body and no decorator",
            _HEAD + "    def [|forward|](self, a):\n        return a\n",
            _BODY + " and decorate it with @abstractmethod",
        ),
        Invalid(
            "missing",
            "class [|GemmFwdInterface|](KernelInterface):\n    request = CallSpec\n",
            "GemmFwdInterface has no forward, so it does not say what an op passes; "
            "add an abstract forward with those parameters",
        ),
        Invalid(
            "no method",
            _HEAD + "    [|forward|] = None\n",
            "GemmFwdInterface.forward is no method, so it does not say what an op passes; "
            "add an abstract forward with those parameters",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report interfaces that lack an abstract ``forward``."""
        abstract = Abstract(project)
        for node in project.of_kind(Kind.INTERFACE):
            if node not in abstract or node.defines("forward") is not None:
                yield from self._judge(project, node)

    def _judge(self, project: Project, node: ClassNode) -> Iterator[Report]:
        found = node.lookup("forward")
        symbol, span, repair = node.name, node.facts.name_span, None
        if not found.known:
            return
        if found.owner is None or found.owner.kind is Kind.ROOT:
            fault = " has no forward, so it does not say what an op passes"
            advice = "add an abstract forward with those parameters"
        elif found.owner is not node:
            # The class that defines it is reported.
            return
        elif found.method is None:
            span = found.attribute.name_span if found.attribute else span
            fault = ".forward is no method, so it does not say what an op passes"
            advice = "add an abstract forward with those parameters"
        else:
            method = found.method
            symbol, span = f"{node.name}.forward", method.name_span
            concrete = _is_abstract(project, node, method) is False
            if not method.trivial:
                fault = ".forward has a body, but an interface only states what implementations do"
                advice = "leave its docstring"
                advice += " and decorate it with @abstractmethod" if concrete else ""
            elif concrete:
                fault = (
                    ".forward is not abstract, so an implementation without a forward of its own "
                    "can be built"
                )
                advice = "decorate it with @abstractmethod"
                build = partial(_edits, node, method)
                repair = Repair(Applicability.SAFE, "add @abstractmethod", build)
            else:
                return
        message = f"{node.name}{fault}; {advice}"
        yield self.report(node.module, span, message, symbol=symbol, repair=repair)


def _is_abstract(project: Project, node: ClassNode, method: FunctionFacts) -> bool | None:
    """Say whether the decorators make a method abstract; None when one cannot be resolved."""
    names = [project.imported(node.module, decorator) for decorator in method.decorators]
    if _ABSTRACT in names:
        return True
    return None if names else False


def _edits(node: ClassNode, method: FunctionFacts, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import decorate

    source, line = sources[node.module.path], method.name_span[0]
    return decorate(source, node.module.facts, line, _ABSTRACT)
