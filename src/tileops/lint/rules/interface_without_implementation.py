"""The rule `interface-without-implementation`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import distinct
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Entry, OpTable, Project

_HEAD = """\
class TrainFwdInterface(KernelInterface): ...


class InferFwdInterface(KernelInterface): ...


class NormKernel(Kernel, TrainFwdInterface): ...


"""
_OP = """\
class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel}
    interfaces = {"train": TrainFwdInterface, "infer": %s}
"""
_SAID = (
    'no key of NormFwdOp implements InferFwdInterface, so every call of "infer" raises; register '
    "an implementation, or remove the interface"
)


class InterfaceWithoutImplementation(Rule):
    """Each interface of an op that holds kernels has an implementation among its keys.

    Keys of ``kernel_types`` and registered ones count.

    Why:
        The op can only raise when it asks for such an interface.

    Limits:
        Backends elsewhere may bring the implementation: suppress the warning where that is
        meant. Ops with empty ``kernel_types`` are bases and left alone, and the rule is silent
        where anything of the op cannot be read.
    """

    id = "interface-without-implementation"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "one for each",
            _HEAD
            + "class InferKernel(Kernel, InferFwdInterface): ...\n\n\n"
            + (_OP % "InferFwdInterface").replace("}\n", ', "infer": InferKernel}\n', 1),
        ),
        Valid(
            "no kernels at all",
            _HEAD + "class NormOp(Op):\n    interfaces = {'train': TrainFwdInterface}\n",
        ),
        Valid(
            "registered in a function",
            _HEAD
            + "class InferKernel(Kernel, InferFwdInterface): ...\n\n\n"
            + _OP % "InferFwdInterface"
            + "\n\ndef register():\n"
            + '    register_kernel_type("NormFwdOp", "infer", InferKernel)\n',
        ),
        Valid(
            "a class that cannot be read",
            _HEAD + (_OP % "InferFwdInterface").replace("}\n", ', "infer": made()}\n', 1),
        ),
        Valid(
            "suppressed",
            _HEAD
            + (_OP % "InferFwdInterface").rstrip()
            + "  # tileops: ignore[interface-without-implementation] -- backends bring it\n",
        ),
    )
    INVALID = (
        Invalid("one of two", _HEAD + _OP % "[|InferFwdInterface|]", _SAID),
        Invalid(
            "a subclass with kernels of its own",
            _HEAD
            + "class ParentOp(Op):\n"
            + '    interfaces = {"train": TrainFwdInterface, "infer": InferFwdInterface}\n\n\n'
            + "class [|NormFwdOp|](ParentOp):\n"
            + '    kernel_types = {"norm": NormKernel}\n',
            _SAID,
        ),
        Invalid(
            "kernels of another module",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n" + _HEAD
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import (\n"
                    "    InferFwdInterface,\n    NormKernel,\n    TrainFwdInterface,\n)\n"
                    "from tileops.ops.op import Op\n\n\n" + _OP % "[|InferFwdInterface|]"
                ),
            },
            _SAID,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the interfaces that no key of their op implements."""
        for table in distinct(project):
            stated = table.kernel_types
            if stated is None or not stated.entries or not table.complete:
                continue
            rivals = [*table.keys(), *table.local]
            if any(entry.target is None or not entry.target.complete for entry in rivals):
                continue
            for interface in table.interfaces.entries if table.interfaces else ():
                wanted = interface.target
                if wanted is not None and not any(
                    entry.target is not None and entry.target.inherits(wanted) for entry in rivals
                ):
                    yield self._report(table, interface, wanted.name)

    def _report(self, table: OpTable, interface: Entry, name: str) -> Report:
        message = (
            f'no key of {table.op.name} implements {name}, so every call of "{interface.key}" '
            "raises; register an implementation, or remove the interface"
        )
        where, span = interface.stated.module, interface.stated.value.span
        if table.interfaces is None or table.interfaces.owner is not table.op:
            where, span = table.op.module, table.op.facts.name_span
        return self.report(where, span, message, symbol=table.op.name)
