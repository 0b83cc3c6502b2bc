"""The rule `refusal-device-query`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import FunctionFacts, Note, Value
from tileops.lint.index import ClassNode, Foreign, FunctionNode, Kind, Module, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

# Outside the project: what asks the machine, by full name or by the start of it.
_MACHINE = (
    *("torch.cuda.", "torch.xpu.", "torch.mps.", "torch.accelerator.", "triton.runtime.driver."),
    *("pynvml.", "pycuda.", "cuda.", "tvm.cuda", "tvm.device", "subprocess."),
    *("os.environ", "os.getenv", "os.cpu_count", "tilelang.carver.arch."),
    *("tilelang.utils.target.", "tilelang.utils.device.", "tilelang.utils.determine_target"),
)
# Where the name cannot be resolved, the last part of it still says so.
_QUERIES = frozenset(
    {"current_device", "device_count", "get_device_capability", "get_device_properties"}
    | {"get_device_name", "getenv"}
)
# A refusal without any of these words is not looked at further.
_WORDS = _QUERIES | {
    *("accelerator", "cpu_count", "cuda", "driver", "environ", "mps", "pycuda", "pynvml"),
    *("subprocess", "tilelang", "tvm", "xpu"),
}
_OPT_IN = "shared_memory_per_block_optin"
_HOPS = 2
_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"
_NAME = "class AKernel(Kernel):\n    @classmethod\n    def [|refusal|](cls, call):\n"


def _message(through: str) -> str:
    return (
        f"AKernel.refusal asks the machine through {through}, so that key_for answers differently "
        "elsewhere for the same facts; read call.arch, call.sm_count or call.smem_budget"
    )


class RefusalDeviceQuery(BodyRule):
    """``refusal`` decides by the facts of the call, and asks neither driver nor environment.

    Queries of ``torch.cuda`` and its like, of the driver and of ``os.environ`` are flagged, in
    ``refusal`` and in the project's functions and class methods that it calls, two calls deep.

    Why:
        Selection has to give the same answer for the same call spec, so that a selection can be
        tested and explained on any machine. The facts a refusal needs are in the spec: ``arch``,
        ``sm_count``, ``smem_budget``.

    Limits:
        A query deeper than two calls, and reading ``os.environ`` in a helper without calling a
        method of it, are not seen. The fix replaces only the opt-in shared memory of the call's
        own device, by ``smem_budget``.
    """

    id = "refusal-device-query"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "facts of the call",
            _CLASS + "        if call.device is None or call.arch < 90:\n"
            "            return 'serves sm_90'\n"
            "        return None if call.smem_budget > 4 else 'serves large shared memory'\n",
        ),
        Valid(
            "helpers that compute",
            "import math\n\ndef tiles(n):\n    return math.ceil(n / 64) + max(n, 1)\n\n"
            "class AKernel(Kernel):\n"
            "    @classmethod\n    def wide(cls, call):\n        return tiles(call.n) > 4\n\n"
            "    @classmethod\n    def refusal(cls, call):\n"
            "        return 'serves few tiles' if cls.wide(call) else super().refusal(call)\n",
        ),
        Valid(
            "a query at the launch",
            "class AKernel(Kernel):\n    def forward(self, x):\n"
            "        return torch.cuda.current_device()\n",
        ),
        Valid(
            "a fact of that name, and a helper three calls deep",
            "def a(call):\n    return b(call)\n\ndef b(call):\n    return c(call)\n\n"
            "def c(call):\n    return torch.cuda.device_count()\n\n"
            + _CLASS
            + "        return call.current_device() or a(call)\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        # One machine only.\n"
            "        if torch.cuda.device_count():  # tileops: ignore[refusal-device-query]\n"
            "            return 'serves nothing'\n",
        ),
    )
    INVALID = (
        Invalid(
            "the driver",
            _CLASS + "        budget = [|torch.cuda.get_device_properties"
            "(call.device).shared_memory_per_block_optin|]\n"
            "        return None if budget > 4 else 'serves large shared memory'\n",
            _message("torch.cuda.get_device_properties(call.device)"),
            fixed=_CLASS + "        budget = call.smem_budget\n"
            "        return None if budget > 4 else 'serves large shared memory'\n",
        ),
        Invalid(
            "another property of it",
            _CLASS + "        properties = [|torch.cuda.get_device_properties(call.device)|]\n"
            "        return None if properties.major > 8 else 'serves sm_90'\n",
            _message("torch.cuda.get_device_properties(call.device)"),
        ),
        Invalid(
            "the environment",
            "import os\nfrom os import environ\n\n"
            + _CLASS
            + "        if [|os.environ.get('FAST')|] or [|os.environ|]['SLOW']:\n"
            + "            return None\n"
            + "        return 'serves nothing' if 'FAST' in [|environ|] else None\n",
            (
                _message("os.environ.get('FAST')"),
                _message("os.environ"),
                _message("environ"),
            ),
        ),
        Invalid(
            "under another name",
            "from torch.cuda import get_device_name as model\n\n"
            + _NAME
            + "        return None if 'H200' in model() else 'serves H200'\n",
            _message("torch.cuda.get_device_name"),
        ),
        Invalid(
            "through a class method and a function in other files",
            {
                "src/tileops/kernels/a/limits.py": (
                    "import torch\n\n\ndef budget():\n"
                    "    return torch.cuda.get_device_properties(0).total_memory\n"
                ),
                "src/tileops/kernels/a/base.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.a.limits import budget\n\n\n"
                    "class Base(Kernel):\n    @classmethod\n    def fits(cls, call):\n"
                    "        return call.n < budget()\n"
                ),
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class AKernel(Base):\n    @classmethod\n    def [|refusal|](cls, call):\n"
                    "        return None if cls.fits(call) else 'serves what fits'\n"
                ),
            },
            _message("cls.fits, budget and torch.cuda.get_device_properties"),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what is written as a query in ``refusal`` itself."""
        import libcst as cst

        from tileops.lint._syntax import dotted, parameter
        from tileops.lint._wording import brief

        if _WORDS.isdisjoint(node.value for node in body.of(cst.Name)):
            return
        call = parameter(body.function, 1)
        seen: set[int] = set()
        for node in body.nodes:
            if id(node) in seen or not isinstance(node, cst.Attribute | cst.Call | cst.Name):
                continue
            inner = _opt_in(node, call)
            asked = node if inner is None else inner
            name = dotted(asked.func) if isinstance(asked, cst.Call) else ""
            environment = "environ" in dotted(asked).split(".")[-2:]
            if (name and not name.startswith(f"{call}.") and _reads_as_query(name)) or environment:
                seen.update(id(inner) for inner in _below(asked))
                budget = "" if inner is None else f"{call}.smem_budget"
                name = name or dotted(asked)
                yield body.note(self.id, node, name=name, text=brief(asked), budget=budget)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note unless the name means something of the project."""
        if not _asks(project, owner.module, note.data["name"]):
            return
        repair = None
        if note.data["budget"]:
            build = partial(_edits, owner, note)
            repair = Repair(Applicability.UNSAFE, f"read {note.data['budget']}", build)
        yield self._report(owner, note.span, note.data["text"], repair)

    def check(self, project: Project) -> Iterator[Report]:
        """Judge the notes, and follow what each ``refusal`` calls."""
        yield from super().check(project)
        for node in project.of_kind(*self.kinds):
            method = node.facts.method("refusal")
            trail = _trail(project, node, node.module, method, _HOPS) if method else []
            if trail and method is not None:
                *helpers, query = trail
                through = f"{', '.join(helpers)} and {query}" if helpers else query
                yield self._report(node, method.name_span, through, None)

    def _report(
        self,
        owner: ClassNode,
        span: tuple[int, int, int, int],
        through: str,
        repair: Repair | None,
    ) -> Report:
        message = (
            f"{owner.name}.refusal asks the machine through {through}, so that key_for answers "
            "differently elsewhere for the same facts; read call.arch, call.sm_count or "
            "call.smem_budget"
        )
        symbol = f"{owner.name}.refusal"
        return self.report(owner.module, span, message, symbol=symbol, repair=repair)


def _below(node: "cst.CSTNode") -> Iterator["cst.CSTNode"]:
    """Yield a query, what it is an attribute of and what it calls: all one finding."""
    import libcst as cst

    while True:
        yield node
        if isinstance(node, cst.Call):
            node = node.func
        elif isinstance(node, cst.Attribute):
            yield node.attr
            node = node.value
        else:
            return


def _opt_in(node: "cst.CSTNode", call: str) -> "cst.Call | None":
    """Return the query whose opt-in shared memory of the call's own device an expression reads."""
    import libcst as cst

    from tileops.lint._syntax import dotted

    match node:
        case cst.Attribute(value=cst.Call(args=[device]) as query, attr=cst.Name(value=attr)):
            asked = dotted(query.func).rpartition(".")[2] == "get_device_properties"
            if asked and attr == _OPT_IN and dotted(device.value) == f"{call}.device":
                return query
    return None


def _reads_as_query(name: str) -> bool:
    return name.rpartition(".")[2] in _QUERIES or name.startswith(_MACHINE)


def _asks(project: Project, module: Module, name: str) -> str:
    """Return the full name when a name means a query outside the project, or cannot be resolved."""
    target = project.resolver.resolve(module, name)
    if isinstance(target, Foreign):
        return target.name if target.name.startswith(_MACHINE) else ""
    return name if target is None and _reads_as_query(name) else ""


def _trail(
    project: Project, owner: ClassNode | None, module: Module, method: FunctionFacts, hops: int
) -> list[str]:
    """Return what a function calls to get to a query, the query last; empty when it does not.

    Queries ``refusal`` itself writes as such are left to its notes.
    """
    parameters = {param.name for param in method.params} - {"cls", "self"}
    for name in method.calls:
        if name.partition(".")[0] in parameters:
            continue
        query = _asks(project, module, name)
        if query and not (hops == _HOPS and _reads_as_query(name)):
            return [query]
        found = _followed(project, owner, module, name) if hops and not query else None
        if found is not None:
            rest = _trail(project, found[0], found[1], found[2], hops - 1)
            if rest:
                return [name, *rest]
    return []


def _followed(
    project: Project, owner: ClassNode | None, module: Module, name: str
) -> tuple[ClassNode | None, Module, FunctionFacts] | None:
    """Return the function or class method a called name means, with where it is defined."""
    target = project.resolver.resolve(module, name)
    if isinstance(target, FunctionNode):
        return None, target.module, target.facts
    first, _, last = name.rpartition(".")
    if not first:
        return None
    named = owner
    if first not in ("cls", "self"):
        named = project.resolve_class(module, Value("name", (1, 0, 1, 0), first))
    found = named.lookup(last) if named is not None else None
    if found is None or found.owner is None or found.method is None:
        return None
    return named, found.owner.module, found.method


def _edits(owner: ClassNode, note: Note, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import replace

    yield replace(sources[owner.module.path], note.span, note.data["budget"])
