"""The rule `forward-signature`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint._wording import parameters
from tileops.lint.facts import FunctionFacts, Param, Value
from tileops.lint.index import ClassNode, Kind, Project

_TRANSPARENT = frozenset(
    {
        "abc.abstractmethod",
        "builtins.classmethod",
        "builtins.staticmethod",
        "torch.inference_mode",
        "torch.no_grad",
    }
)
_INTERFACE = """\
class GemmFwdInterface(KernelInterface):
    @abstractmethod
    def forward(self, a, b, *, out): ...

"""
_OP = """
class GemmFwdOp(Op):
    kernel_types = {"tiled": GemmKernel}
    interfaces = {"gemm": GemmFwdInterface}
"""
_CLASS = _INTERFACE + "class GemmKernel(Kernel, GemmFwdInterface):\n"


def _message(given: str, problem: str, expected: str = "(a, b, *, out)") -> str:
    return (
        f"GemmKernel.forward{given} {problem}, so it cannot be called with the arguments of "
        f"GemmFwdInterface.forward{expected}; take its parameters"
    )


class ForwardSignature(Rule):
    """A registered implementation's ``forward`` can be called as its interface's.

    The op passes the positional parameters of the interface by position and the keyword-only ones
    by name. Other names, additional parameters with defaults, and ``*args`` are fine.

    Why:
        Constructing the op raises ``forward does not take the interface's arguments``. Without that
        check the call would fail after selection, in the middle of a forward pass.

    Limits:
        A ``forward`` under a decorator that may change its parameters is not judged, nor is a class
        some base of which cannot be resolved.
    """

    id = "forward-signature"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "other names",
            _CLASS + "    def forward(self, left, right, *, out): ...\n" + _OP,
        ),
        Valid(
            "defaults, variadics and a transparent decorator",
            _CLASS + "    @torch.no_grad()\n"
            "    def forward(self, a, *rest, scale=None, **named): ...\n" + _OP,
        ),
        Valid(
            "a static method, and a keyword taken positionally",
            _CLASS + "    @staticmethod\n    def forward(a, b, out): ...\n" + _OP,
        ),
        Valid(
            "under a decorator that cannot be resolved",
            "from acme import curried\n\n"
            + _CLASS
            + "    @curried\n    def forward(self): ...\n"
            + _OP,
        ),
        Valid("not registered", _CLASS + "    def forward(self, a): ...\n"),
        Valid(
            "suppressed",
            _CLASS + "    def forward(self, a):  # tileops: ignore[forward-signature] -- shown\n"
            "        ...\n" + _OP,
        ),
    )
    INVALID = (
        Invalid(
            "too few parameters",
            _CLASS + "    def [|forward|](self, a, *, out): ...\n" + _OP,
            _message("(a, *, out)", "takes 1 of the 2 positional arguments"),
        ),
        Invalid(
            "one parameter too many",
            _CLASS + "    def [|forward|](self, a, b, bias, *, out): ...\n" + _OP,
            _message("(a, b, bias, *, out)", "requires bias, which is not passed"),
        ),
        Invalid(
            "a keyword under another name",
            _CLASS + "    def [|forward|](self, a, b, *, result=None): ...\n" + _OP,
            _message("(a, b, *, result=...)", "has no parameter out"),
        ),
        Invalid(
            "a keyword that is taken by position, and one that is required",
            _INTERFACE
            + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            + "    def [|forward|](self, out, b, *, scale): ...\n"
            + _OP,
            _message("(out, b, *, scale)", "gets out twice"),
        ),
        Invalid(
            "no self",
            _CLASS + "    def [|forward|](): ...\n" + _OP,
            _message("()", "has no parameter for the kernel itself"),
        ),
        Invalid(
            "an inherited forward, across files",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from abc import abstractmethod\n\n"
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n"
                    "    @abstractmethod\n    def forward(self, a, b): ...\n"
                ),
                "src/tileops/kernels/gemm/tiled.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n\n\n"
                    "class TiledBase(Kernel, GemmFwdInterface):\n"
                    "    def forward(self, a, *, b): ...\n\n\n"
                    "class [|GemmKernel|](TiledBase): ...\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n"
                    "from tileops.kernels.gemm.tiled import GemmKernel\n"
                    "from tileops.ops.op import Op\n\n" + _OP
                ),
            },
            _message("(a, *, b)", "takes 1 of the 2 positional arguments", "(a, b)"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registered classes whose ``forward`` does not bind the arguments."""
        for dispatch in project.dispatches:
            for entry in dispatch.entries.values():
                if entry.target is not None:
                    yield from self._judge(project, entry.target, dispatch.interface)

    def _judge(self, project: Project, node: ClassNode, interface: ClassNode) -> Iterator[Report]:
        stated, found = interface.lookup("forward"), node.lookup("forward")
        if stated.owner is None or stated.owner.kind is Kind.ROOT or stated.method is None:
            return
        if found.owner is None or found.method is None or found.method is stated.method:
            return
        names = {project.imported(found.owner.module, d) or "?" for d in _callees(found.method)}
        if not names <= _TRANSPARENT:
            return
        given = list(found.method.params)
        expected = list(stated.method.params[1:])
        static = "builtins.staticmethod" in names
        itself = given[0].name if given and not static else ""
        problem = "" if static else _drop_self(given)
        problem = problem or _problem(given, expected, itself)
        if problem:
            message = (
                f"{node.name}.forward{parameters(given)} {problem}, so it cannot be called with "
                f"the arguments of {interface.name}.forward{parameters(expected)}; take its "
                "parameters"
            )
            span = found.method.name_span if found.owner is node else node.facts.name_span
            yield self.report(node.module, span, message, symbol=f"{node.name}.forward")


def _callees(method: FunctionFacts) -> Iterator[Value]:
    """Yield the decorators, those with arguments as what they call."""
    for decorator in method.decorators:
        yield decorator.items[0] if decorator.kind == "call" else decorator


def _drop_self(params: list[Param]) -> str:
    """Take the kernel itself off the parameters; return what is wrong when none can hold it."""
    if params and params[0].kind == "positional":
        del params[0]
        return ""
    taken = any(param.kind == "variadic" for param in params)
    return "" if taken else "has no parameter for the kernel itself"


def _problem(given: list[Param], expected: list[Param], itself: str) -> str:
    """Return why the parameters do not bind what the op passes, or "".

    ``itself`` is the parameter that holds the kernel.
    """
    passed = [param.name for param in expected if param.kind == "positional"]
    named = [param.name for param in expected if param.kind == "keyword"]
    positional = [param for param in given if param.kind == "positional"]
    kinds = {param.kind for param in given}
    if len(positional) < len(passed) and "variadic" not in kinds:
        return f"takes {len(positional)} of the {len(passed)} positional arguments"
    filled = {itself, *(param.name for param in positional[: len(passed)])}
    left = positional[len(passed) :] + [param for param in given if param.kind == "keyword"]
    for name in named:
        if name in filled:
            return f"gets {name} twice"
        if "mapping" not in kinds and name not in {param.name for param in left}:
            return f"has no parameter {name}"
    lacking = [p.name for p in left if p.default is None and p.name not in named]
    return f"requires {', '.join(lacking)}, which is not passed" if lacking else ""
