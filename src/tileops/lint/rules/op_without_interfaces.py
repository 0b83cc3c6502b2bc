"""The rule `op-without-interfaces`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import distinct, entries
from tileops.lint._rule import Report, Rule
from tileops.lint.index import OpTable, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface): ...


"""
_MESSAGE = (
    "NormFwdOp holds kernels and has no kernel interfaces, so constructing it raises; "
    "declare interfaces"
)


class OpWithoutInterfaces(Rule):
    """An op that holds kernels declares ``interfaces``, itself or through a base.

    Both mappings are resolved through the op's bases and through constants of other modules.

    Why:
        Without an interface no key belongs to anything the op could call. Constructing the op
        raises.

    Limits:
        Silent where an interface mapping exists but cannot be read.
    """

    id = "op-without-interfaces"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "declared",
            _HEAD
            + "class NormFwdOp(Op):\n"
            + "    kernel_types = {'norm': NormKernel}\n"
            + "    interfaces = {'norm': NormFwdInterface}\n",
        ),
        Valid(
            "declared by the parent",
            _HEAD
            + "class ParentOp(Op):\n    interfaces = {'norm': NormFwdInterface}\n\n\n"
            + "class NormFwdOp(ParentOp):\n    kernel_types = {'norm': NormKernel}\n",
        ),
        Valid("no kernels", "class NormFwdOp(Op):\n    kernel_types = {}\n"),
        Valid(
            "interfaces that cannot be read",
            _HEAD
            + "class NormFwdOp(Op):\n"
            + "    kernel_types = {'norm': NormKernel}\n    interfaces = computed()\n",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormFwdOp(Op):  # tileops: ignore[op-without-interfaces] -- shows the error\n"
            + "    kernel_types = {'norm': NormKernel}\n",
        ),
    )
    INVALID = (
        Invalid(
            "kernels alone",
            _HEAD + "class [|NormFwdOp|](Op):\n    kernel_types = {'norm': NormKernel}\n",
            _MESSAGE,
        ),
        Invalid(
            "an empty mapping",
            _HEAD
            + "class [|NormFwdOp|](Op):\n"
            + "    interfaces = {}\n    kernel_types = {'norm': NormKernel}\n",
            _MESSAGE,
        ),
        Invalid(
            "kernels from a constant of another module",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n\n\n"
                    "class NormKernel(Kernel, NormFwdInterface): ...\n\n\n"
                    "KERNELS = {'norm': NormKernel}\n"
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import KERNELS\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class [|NormFwdOp|](Op):\n    kernel_types = KERNELS\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the ops with keys and certainly without interfaces."""
        for table in distinct(project):
            if entries(table) and _none(table):
                message = (
                    f"{table.op.name} holds kernels and has no kernel interfaces, so constructing "
                    "it raises; declare interfaces"
                )
                yield self.report(
                    table.op.module, table.op.facts.name_span, message, symbol=table.op.name
                )


def _none(table: OpTable) -> bool:
    stated = table.interfaces
    return table.known and (stated is None or (stated.complete and not stated.entries))
