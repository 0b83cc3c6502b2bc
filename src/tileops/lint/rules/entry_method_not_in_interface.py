"""The rule `entry-method-not-in-interface`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._entry_members import handles_kernels, interfaces_asked, is_declared
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import ClassFacts, FunctionFacts, Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_INTERFACE = (
    "class GemmFwdInterface(KernelInterface):\n"
    "    @abstractmethod\n    def forward(self, a): ...\n\n"
    "    @abstractmethod\n    def workspace(self, m): ...\n"
)
_OP = '\nclass GemmFwdOp(Op):\n    interfaces = {"gemm": GemmFwdInterface}\n\n'
_HEAD = _INTERFACE + _OP
_MESSAGE = (
    "GemmFwdOp calls %s on a kernel, which GemmFwdInterface does not declare, so other "
    "implementations need not have it; declare it there as an abstract method"
)


class EntryMethodNotInInterface(BodyRule):
    """An op calls only methods of a kernel that its interface declares.

    Beside ``forward`` these are the interface's own methods and those of ``Kernel``. It holds for
    what ``kernel_for`` returns and for the kernels ``bind`` is given.

    Why:
        An implementation is written from the interface alone. One without the method raises
        ``AttributeError`` in the calls that select it.

    Limits:
        A kernel is followed through one local, and through unpacking in ``bind``; there the method
        must be missing from every interface of the op. Interfaces with a base that cannot be
        resolved are not judged. The fix declares the method with the arguments of this call.
    """

    id = "entry-method-not-in-interface"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)
    kinds = frozenset({Kind.OP})

    VALID = (
        Valid(
            "declared, forward, and methods of Kernel",
            _HEAD + "    def __call__(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        kernel.request_tune()\n        kernel.workspace(4)\n"
            "        return kernel.forward(a) or self.kernel_for('gemm', a)(a)\n",
        ),
        Valid(
            "an attribute that is only read",
            _HEAD + "    def __call__(self, a):\n        return self.kernel_for('gemm', a).tiles\n",
        ),
        Valid(
            "an interface that is not known",
            _HEAD + "    def __call__(self, key, a):\n        self.kernel_for('norm', a).plan()\n"
            "        return self.kernel_for(key, a).plan()\n",
        ),
        Valid(
            "a local that is not only the kernel",
            _HEAD + "    def __call__(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        kernel = self.wrap(kernel)\n        return kernel.plan()\n",
        ),
        Valid(
            "suppressed",
            _HEAD + "    def __call__(self, a):\n        kernel = self.kernel_for('gemm', a)\n"
            "        kernel.plan()  # tileops: ignore[entry-method-not-in-interface] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "on a local",
            _HEAD + "    def __call__(self, a, n):\n        kernel = self.kernel_for('gemm', a)\n"
            "        return [|kernel.plan|](a, 4, rows=n)\n",
            _MESSAGE % "plan",
            fixed=_INTERFACE
            + "\n    @abstractmethod\n    def plan(self, a, second, rows): ...\n"
            + _OP
            + "    def __call__(self, a, n):\n        kernel = self.kernel_for('gemm', a)\n"
            "        return kernel.plan(a, 4, rows=n)\n",
        ),
        Invalid(
            "at once, with arguments that cannot be named",
            _HEAD + "    def __call__(self, *a):\n"
            "        return [|self.kernel_for(interface='gemm', call=a).plan|](*a)\n",
            _MESSAGE % "plan",
        ),
        Invalid(
            "in bind, behind a constant, in other files",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n"
                    '    """Multiply."""\n\n    def forward(self, a): ...'
                ),
                "src/tileops/kernels/gemm/keys.py": "GEMM = 'gemm'\n",
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm.call_spec import GemmFwdInterface\n"
                    "from tileops.kernels.gemm.keys import GEMM\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    interfaces = {GEMM: GemmFwdInterface}\n\n"
                    "    def bind(self, kernels, *inputs):\n        (kernel,) = kernels\n"
                    "        size = [|kernels[0].size|]()\n"
                    "        return lambda a: [|kernel.run|](a)\n\n"
                    "    def __call__(self, a):\n"
                    "        return [|self.kernel_for(GEMM, a).run|](a)\n"
                ),
            },
            (_MESSAGE % "size", _MESSAGE % "run", _MESSAGE % "run"),
            fixed={
                "src/tileops/kernels/gemm/call_spec.py": (
                    "import abc\nfrom tileops.backend import KernelInterface\n\n\n"
                    "class GemmFwdInterface(KernelInterface):\n"
                    '    """Multiply."""\n\n    def forward(self, a): ...\n'
                    "\n    @abc.abstractmethod\n    def size(self): ...\n"
                    "\n    @abc.abstractmethod\n    def run(self, a): ...\n"
                ),
            },
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Visit methods that hold kernels."""
        return method is not None and handles_kernels(method)

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the methods that are called on kernels."""
        from tileops.lint._selected import Selected

        for node, use, call in Selected(body).attributes():
            if call is not None:
                yield body.note(
                    self.id,
                    node,
                    name=node.attr.value,
                    key=use.key,
                    literal=use.literal,
                    arguments=_arguments(call),
                )

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the methods that no interface in question has."""
        name = note.data["name"]
        interfaces = interfaces_asked(project, owner, note)
        if not interfaces or any(is_declared(project, one, name) for one in interfaces):
            return
        listed = " or ".join(dict.fromkeys(one.name for one in interfaces))
        what = "does" if len(interfaces) == 1 else "do"
        message = (
            f"{owner.name} calls {name} on a kernel, which {listed} {what} not declare, so other "
            "implementations need not have it; declare it there as an abstract method"
        )
        repair = _repair(interfaces, note) if len(interfaces) == 1 else None
        symbol = f"{owner.name}.{note.method}"
        yield self.report(owner.module, note.span, message, symbol=symbol, repair=repair)


def _arguments(call: "cst.Call") -> list[str] | None:
    """Return names for the parameters a call's arguments go to, None when it spreads one."""
    from tileops.lint._syntax import dotted

    ordinals = ("first", "second", "third", "fourth", "fifth", "sixth")
    names: list[str] = []
    for position, argument in enumerate(call.args):
        if argument.star or position >= len(ordinals):
            return None
        stated = argument.keyword.value if argument.keyword else dotted(argument.value)
        name = stated.rpartition(".")[2]
        names.append(name if name and name not in ("self", *names) else ordinals[position])
    return names


def _repair(interfaces: list[ClassNode], note: Note) -> Repair | None:
    (interface,) = interfaces
    if note.data["arguments"] is None or interface.module.external:
        return None
    build = partial(_edits, interface, note)
    return Repair(Applicability.UNSAFE, f"declare {note.data['name']}", build)


def _edits(interface: ClassNode, note: Note, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import append_member, require_import

    source, facts = sources[interface.module.path], interface.module.facts
    origin = "abc.abstractmethod"
    decorator = next((name for name, named in facts.imports.items() if named == origin), origin)
    if decorator == origin:
        yield from require_import(source, facts, "abc")
    parameters = ", ".join(["self", *note.data["arguments"]])
    yield from append_member(
        source,
        interface.facts,
        [f"@{decorator}", f"def {note.data['name']}({parameters}): ..."],
    )
