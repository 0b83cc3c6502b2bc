"""The rule `op-kernel-cache`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import ClassFacts, FunctionFacts, Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body
    from tileops.lint._selected import Selected

_SOURCES = ("entry_for", "kernel_for")
_STORES = ("add", "append", "setdefault", "update")
_CACHES = ("functools.cache", "functools.cached_property", "functools.lru_cache")
_OP = "class GemmFwdOp(Op):\n"
_MESSAGE = (
    "GemmFwdOp keeps a kernel in %s beyond the call it was selected for; "
    "ask kernel_for every time, which keeps what it built"
)


class OpKernelCache(BodyRule):
    """An op keeps no kernels of its own.

    What ``kernel_for`` and ``bind`` are given or return, an implementation and the factory of an
    entry are not stored on the op, in a module, or by a caching decorator.

    Why:
        ``kernel_for`` caches by interface, implementation, build identity and device. A second
        cache serves a kernel after the dtype, the device or tuned mode has changed.

    Limits:
        The stored value decides, never the name it is stored under: caches of tensors are fine. A
        kernel is followed through locals and displays, not through helpers. The function that
        ``bind`` returns may hold kernels.
    """

    id = "op-kernel-cache"
    severity = Severity.ERROR
    cross_file = True
    kinds = frozenset({Kind.OP})

    VALID = (
        Valid(
            "asked every time",
            _OP + "    def __call__(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        self.last = kernel(a)\n        return self.last\n",
        ),
        Valid(
            "tensors",
            _OP + "    def bind(self, kernels, *inputs):\n        (kernel,) = kernels\n"
            "        self._ones[inputs[0].dtype] = inputs[0].new_ones(4)\n"
            "        return lambda a: kernel(a, self._ones)\n",
        ),
        Valid(
            "locals",
            _OP + "    def kernels(self, calls):\n        found = {}\n        for call in calls:\n"
            "            found[call] = self.kernel_for('gemm', call)\n        return found\n",
        ),
        Valid(
            "no op",
            "class Plan:\n    def __init__(self, op, call):\n"
            "        self.kernel = op.kernel_for('gemm', call)\n",
        ),
        Valid(
            "suppressed",
            _OP + "    def __call__(self, a):\n"
            "        self.k = self.kernel_for('g', a)  # tileops: ignore[op-kernel-cache] -- no\n",
        ),
    )
    INVALID = (
        Invalid(
            "on the op",
            _OP + "    def __call__(self, a):\n"
            "        [|self._kernel|] = self.kernel_for('gemm', a)\n"
            "        kernel = self.kernel_for('gemm', a)\n"
            "        [|self._kernels[a.dtype]|] = kernel\n"
            "        return [|self._kernels.setdefault(a.dtype, kernel)|](a)\n",
            (_MESSAGE % "self._kernel", *(_MESSAGE % "self._kernels",) * 2),
        ),
        Invalid(
            "in the module",
            "KERNELS = {}\n\n" + _OP + "    def __call__(self, a):\n"
            "        if a.dtype not in KERNELS:\n"
            "            [|KERNELS[a.dtype]|] = self.kernel_for('gemm', a)\n"
            "        return KERNELS[a.dtype](a)\n",
            _MESSAGE % "KERNELS",
        ),
        Invalid(
            "what bind is given",
            _OP + "    def bind(self, kernels, *inputs):\n        first, second = kernels\n"
            "        [|self._all|] = kernels\n        [|self._runs|] = [second.forward, 1]\n"
            "        cache = self._cache\n        [|cache[0]|] = first\n        return second\n",
            (_MESSAGE % "self._all", _MESSAGE % "self._runs", _MESSAGE % "self._cache"),
        ),
        Invalid(
            "the factory of an entry",
            _OP + "    def build(self, kernel_type, call):\n"
            "        identity, factory = kernel_type.entry_for(call)\n"
            "        [|self._built[identity]|] = factory()\n"
            "        [|self._factories[identity]|] = factory\n",
            (_MESSAGE % "self._built", _MESSAGE % "self._factories"),
        ),
        Invalid(
            "a caching decorator",
            "import functools\n\n" + _OP + "    @functools.lru_cache(maxsize=None)\n"
            "    def [|kernel|](self, call):\n        return self.kernel_for('gemm', call)\n",
            "GemmFwdOp keeps a kernel in the cache of GemmFwdOp.kernel beyond the call it was "
            "selected for; ask kernel_for every time, which keeps what it built",
        ),
        Invalid(
            "an implementation of another file",
            {
                "src/tileops/kernels/gemm.py": (
                    "from tileops.backend import Kernel\n\n\nclass GemmKernel(Kernel): ...\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm import GemmKernel\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    def __init__(self, n):\n"
                    "        self._kernel = [|GemmKernel(n)|]\n"
                ),
            },
            _MESSAGE % "self._kernel",
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Visit methods that are given kernels or ask for what makes them."""
        if method is None:
            return False
        asks = any(call.rpartition(".")[2] in _SOURCES for call in method.calls)
        return asks or method.name == "bind"

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note where kernels are stored, and methods that return one."""
        import libcst as cst

        from tileops.lint._selected import Selected
        from tileops.lint._syntax import returns

        kernels = Selected(body)
        for node in body.nodes:
            match node:
                case cst.Assign(targets=targets, value=value) if kernels.holds(value):
                    for target in targets:
                        yield from self._stored(body, kernels, target.target, target.target)
                case cst.AnnAssign(target=target, value=value) if kernels.holds(value):
                    yield from self._stored(body, kernels, target, target)
                case cst.Call(
                    func=cst.Attribute(value=where, attr=cst.Name(value=name)), args=args
                ) if name in _STORES and any(kernels.holds(arg.value) for arg in args):
                    yield from self._stored(body, kernels, node, where, inside=True)
        assert body.method is not None
        if body.method.decorators and any(kernels.holds(r.value) for r in returns(body.function)):
            yield body.note(self.id, body.method.name_span, place="")

    def _stored(
        self,
        body: "Body",
        kernels: "Selected",
        node: "cst.CSTNode",
        target: "cst.CSTNode",
        *,
        inside: bool = False,
    ) -> Iterator[Note]:
        import libcst as cst

        if isinstance(target, cst.Subscript):
            target, inside = target.value, True
        place = _place(body, kernels, target, inside=inside)
        if place:
            yield body.note(self.id, node, place=place)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report what is stored in an op, or kept by a decorator of the standard library."""
        place = note.data["place"]
        if not place:
            method = owner.facts.method(note.method)
            decorators = () if method is None else method.decorators
            callees = (d.items[0] if d.kind == "call" else d for d in decorators)
            if all(project.imported(owner.module, callee) not in _CACHES for callee in callees):
                return
            place = f"the cache of {owner.name}.{note.method}"
        yield self._kept(owner, note.span, place, note.method)

    def check(self, project: Project) -> Iterator[Report]:
        """Judge the notes, and implementations that an op constructs and stores."""
        yield from super().check(project)
        for module, site, node in project.constructed:
            owner = module.classes.get(site.owner)
            if owner is None or owner.kind is not Kind.OP:
                continue
            if node.kind in (Kind.IMPLEMENTATION, Kind.KERNEL) and "self." in site.target:
                place = site.target.removesuffix("[]")
                yield self._kept(owner, site.call.span, place, site.function)

    def _kept(
        self, owner: ClassNode, span: tuple[int, int, int, int], place: str, method: str
    ) -> Report:
        message = (
            f"{owner.name} keeps a kernel in {place} beyond the call it was selected for; "
            "ask kernel_for every time, which keeps what it built"
        )
        return self.report(owner.module, span, message, symbol=f"{owner.name}.{method}")


def _place(body: "Body", kernels: "Selected", target: "cst.CSTNode", *, inside: bool) -> str:
    """Return what outlives the call when a name, or a container it names, is stored to, or ""."""
    import libcst as cst

    from tileops.lint._syntax import dotted, parameter

    holder = parameter(body.function, 0)
    name = dotted(target)
    values = kernels.bound.get(name, [])
    if inside and len(values) == 1 and isinstance(values[0], cst.Attribute):
        name = dotted(values[0])
    first, _, rest = name.partition(".")
    if first == holder:
        return name if rest else ""
    params = body.method.params if body.method is not None else ()
    local = first in kernels.bound or any(param.name == first for param in params)
    return name if inside and not local else ""
