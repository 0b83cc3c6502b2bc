"""The rule `value-from-implementation`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._entry_members import handles_kernels, interfaces_asked, is_declared
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import ClassFacts, FunctionFacts, Note, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body
    from tileops.lint._selected import Selected

_HEAD = (
    "class GemmFwdInterface(KernelInterface):\n"
    "    @classmethod\n    def workspace(cls, call): ...\n\n"
    "class GemmKernel(Kernel, GemmFwdInterface):\n    tile = 64\n\n"
    "class GemmFwdOp(Op):\n    kernel_types = {'gemm': GemmKernel}\n"
    "    interfaces = {'gemm': GemmFwdInterface}\n\n"
)
_MESSAGE = (
    "GemmFwdOp reads %s of %s, which GemmFwdInterface does not declare, so it need not hold for "
    "other implementations; compute it in a class method of the interface"
)


class ValueFromImplementation(BodyRule):
    """An op reads no values from the implementation that is selected or registered.

    What every implementation must agree on is a class method of the interface, computed from the
    call spec. Members of the interface and of ``Kernel`` are fine.

    Why:
        The value is that of one implementation: another key, an added implementation or another
        device makes the op allocate or check by the wrong number.

    Limits:
        Kernels are followed through one local, classes through ``kernel_types``, ``type()`` and
        their own names. Methods that are called on a kernel are the business of
        ``entry-method-not-in-interface``. An attribute read of a class that the method calls
        nothing of is not seen.
    """

    id = "value-from-implementation"
    severity = Severity.WARNING
    cross_file = True
    kinds = frozenset({Kind.OP})

    VALID = (
        Valid(
            "the interface",
            _HEAD + "    def bind(self, kernels, *inputs):\n        (kernel,) = kernels\n"
            "        kernel.workspace(4)\n        type(kernel).workspace(4)\n"
            "        GemmFwdInterface.workspace(4)\n        GemmKernel.workspace(4)\n"
            "        return self.kernel_types['gemm'].workspace(4)\n",
        ),
        Valid(
            "members of Kernel",
            _HEAD + "    def archs(self):\n"
            "        return [k.supported_archs for k in self.kernel_types.values()]\n",
        ),
        Valid(
            "an interface that is not known",
            _HEAD + "    def size(self, key, a):\n        return self.kernel_for(key, a).tile\n",
        ),
        Valid("no op", "def size(op, a):\n    return op.kernel_for('gemm', a).tile\n"),
        Valid(
            "suppressed",
            _HEAD + "    def size(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        return kernel.tile  # tileops: ignore[value-from-implementation] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "a kernel",
            _HEAD + "    def size(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        return [|kernel.tile|] + [|self.kernel_for('gemm', a).rows|]\n\n"
            "    def bind(self, kernels, *inputs):\n"
            "        return [|type(kernels[0]).tile|], [|kernels[0].__class__.rows|]\n",
            (
                _MESSAGE % ("tile", "a selected kernel"),
                _MESSAGE % ("rows", "a selected kernel"),
                _MESSAGE % ("tile", "a selected kernel"),
                _MESSAGE % ("rows", "a selected kernel"),
            ),
        ),
        Invalid(
            "a registered class",
            _HEAD + "    def size(self, key):\n        chosen = self.kernel_types[key]\n"
            "        rows = [[|one.rows|] for one in self.kernel_types.values()]\n"
            "        return [|chosen.tile|] + [|self.kernel_types['gemm'].plan|](4)\n",
            (
                _MESSAGE % ("rows", "a registered class"),
                _MESSAGE % ("tile", "a registered class"),
                _MESSAGE % ("plan", "a registered class"),
            ),
        ),
        Invalid(
            "an implementation of another file by its name",
            {
                "src/tileops/kernels/gemm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n"
                    "class GemmFwdInterface(KernelInterface): ...\n\n\n"
                    "class GemmKernel(Kernel, GemmFwdInterface):\n    tile = 64\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm import GemmKernel\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    def size(self, m):\n"
                    "        return [|GemmKernel.rows|](m) * [|GemmKernel.tile|]\n"
                ),
            },
            (_MESSAGE % ("rows", "GemmKernel"), _MESSAGE % ("tile", "GemmKernel")),
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Visit methods that hold kernels, or classes of kernels."""
        if method is None:
            return False
        reads = any(read.attribute == "kernel_types" for read in method.reads)
        return reads or handles_kernels(method) or any(map(_of_class, method.calls))

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the attributes read of kernels and of classes."""
        from tileops.lint._selected import Selected

        kernels = Selected(body)
        for node, use, call in kernels.attributes():
            name = node.attr.value
            if call is None and not name.startswith("__"):
                yield body.note(self.id, node, name=name, key=use.key, literal=use.literal)
        yield from self._classes(body, kernels)

    def _classes(self, body: "Body", kernels: "Selected") -> Iterator[Note]:
        import libcst as cst

        registered = set(_registered(body, kernels))
        for node in body.of(cst.Attribute):
            holder, name = node.value, node.attr.value
            match holder:
                case (
                    cst.Call(func=cst.Name(value="type"), args=[cst.Arg(value=inner)])
                    | cst.Attribute(value=inner, attr=cst.Name(value="__class__"))
                ):
                    use = kernels.kernel(inner)
                    if use is not None:
                        yield body.note(self.id, node, name=name, key=use.key, literal=use.literal)
                case cst.Name(value=local) if local in registered:
                    yield body.note(self.id, node, name=name, key="", literal=False, of="table")
                case cst.Name(value=local) if local not in kernels.bound and _is_class(local):
                    yield body.note(self.id, node, name=name, of=local)
                case _ if _is_table_item(holder):
                    yield body.note(self.id, node, name=name, key="", literal=False, of="table")

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report what neither the interfaces in question nor ``Kernel`` declare."""
        of, name = note.data.get("of", ""), note.data["name"]
        what = "a registered class" if of == "table" else "a selected kernel"
        if of in ("", "table"):
            interfaces = interfaces_asked(project, owner, note)
        else:
            node = project.resolve_class(owner.module, Value("name", note.span, of))
            if node is None or node.kind is not Kind.IMPLEMENTATION:
                return
            interfaces, what = project.interfaces_of(node)[:1], node.name
        if not interfaces or any(is_declared(project, one, name) for one in interfaces):
            return
        listed = " or ".join(dict.fromkeys(one.name for one in interfaces))
        message = (
            f"{owner.name} reads {name} of {what}, which {listed} "
            f"{'does' if len(interfaces) == 1 else 'do'} not declare, so it need not hold for "
            "other implementations; compute it in a class method of the interface"
        )
        yield self.report(owner.module, note.span, message, symbol=f"{owner.name}.{note.method}")


def _of_class(call: str) -> bool:
    first, _, rest = call.partition(".")
    return bool(rest) and _is_class(first)


def _is_class(name: str) -> bool:
    bare = name.lstrip("_")
    return bare[:1].isupper() and not bare.isupper()


def _registered(body: "Body", kernels: "Selected") -> Iterator[str]:
    """Yield the locals that hold one of the op's registered classes."""
    import libcst as cst

    for name, values in kernels.bound.items():
        if len(values) == 1 and values[0] is not None and _is_table_item(values[0]):
            yield name
    for node in body.nodes:
        match node:
            case (
                cst.For(target=cst.Name(value=name), iter=iterated)
                | cst.CompFor(target=cst.Name(value=name), iter=iterated)
            ):
                match iterated:
                    case cst.Call(
                        func=cst.Attribute(value=table, attr=cst.Name(value="values"))
                    ) if _is_table(table):
                        yield name


def _is_table_item(node: "cst.CSTNode") -> bool:
    import libcst as cst

    return isinstance(node, cst.Subscript) and _is_table(node.value)


def _is_table(node: "cst.CSTNode") -> bool:
    from tileops.lint._syntax import dotted

    return dotted(node) in ("self.kernel_types", "cls.kernel_types")
