"""The rule `registered-class-without-interface`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import distinct, entries, interfaces, label, listed, served
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Kind, OpTable, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class GemmFwdInterface(KernelInterface): ...


class Base(Kernel, NormFwdInterface): ...


"""
_OP = """

class NormFwdOp(Op):
    kernel_types = {"norm": %s}
    interfaces = {"norm": NormFwdInterface}
"""


class RegisteredClassWithoutInterface(Rule):
    """A class registered under a key implements one of the op's kernel interfaces.

    The op's interfaces and the class's bases are both resolved through inheritance.

    Why:
        A key belongs to the interface its class subclasses; a class without one is never
        selected. Constructing the op raises ``keys implement none of its kernel interfaces``.

    Limits:
        Silent where an interface of the op or a base of the class cannot be resolved.
        An op without any interface is left to `op-without-interfaces`.
    """

    id = "registered-class-without-interface"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "inherited from a base",
            _HEAD + "class NormKernel(Base): ...\n" + _OP % "NormKernel",
        ),
        Valid(
            "one interface more than the op has",
            _HEAD + "class NormKernel(Base, GemmFwdInterface): ...\n" + _OP % "NormKernel",
        ),
        Valid(
            "interfaces of a parent op",
            _HEAD
            + "class ParentOp(Op):\n    interfaces = {'norm': NormFwdInterface}\n\n\n"
            + "class NormFwdOp(ParentOp):\n    kernel_types = {'norm': Base}\n",
        ),
        Valid(
            "an unknown base",
            _HEAD
            + "from acme import Mixin\n\n\nclass NormKernel(Kernel, Mixin): ...\n"
            + _OP % "NormKernel",
        ),
        Valid(
            "an interface that cannot be read",
            _HEAD
            + "class NormKernel(Kernel): ...\n"
            + _OP.replace("}\n", ", **more()}\n") % "NormKernel",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormFwdOp(Op):\n"
            + "    interfaces = {'norm': NormFwdInterface}\n"
            + "    # Shows the error.\n"
            + "    kernel_types = {\n"
            + "        'plain': Kernel,  # tileops: ignore[registered-class-without-interface]\n"
            + "    }\n",
        ),
    )
    INVALID = (
        Invalid(
            "no interface",
            _HEAD + "class NormKernel(Kernel): ...\n" + _OP % "[|NormKernel|]",
            'NormKernel, key "norm" of NormFwdOp, implements none of its interfaces, so nothing '
            "selects it; subclass NormFwdInterface",
        ),
        Invalid(
            "the interface of another op",
            _HEAD
            + "class GemmKernel(Kernel, GemmFwdInterface): ...\n\n\n"
            + "class BothOp(Op):\n"
            + "    kernel_types = {'norm': Base, 'gemm': GemmKernel}\n"
            + "    interfaces = {'norm': NormFwdInterface, 'gemm': GemmFwdInterface}\n"
            + _OP % "[|GemmKernel|]",
            'GemmKernel, key "norm" of NormFwdOp, implements none of its interfaces, so nothing '
            "selects it; subclass NormFwdInterface",
        ),
        Invalid(
            "registered by a backend for an op with two interfaces",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class TrainFwdInterface(KernelInterface): ...\n\n\n"
                    "class InferFwdInterface(KernelInterface): ...\n\n\n"
                    "class NormFwdOp(Op):\n"
                    "    interfaces = {'train': TrainFwdInterface, 'infer': InferFwdInterface}\n"
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n\n\n"
                    "class AcmeNorm(Kernel): ...\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", [|AcmeNorm|])\n'
                ),
            },
            'AcmeNorm, key "acme" of NormFwdOp, implements none of its interfaces, so nothing '
            "selects it; subclass TrainFwdInterface or InferFwdInterface",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registered classes that certainly inherit none of the op's interfaces."""
        for table in distinct(project):
            if not _known(table):
                continue
            wanted = listed([one.target.name for one in interfaces(table) if one.target], "or")
            for entry in entries(table):
                node = entry.target
                if node is None or not node.complete or node.kind is Kind.UNKNOWN:
                    continue
                if served(table, node):
                    continue
                message = (
                    f"{node.name}, {label(entry)} of {table.op.name}, implements none of its "
                    f"interfaces, so nothing selects it; subclass {wanted}"
                )
                yield self.report(
                    entry.stated.module, entry.stated.value.span, message, symbol=table.op.name
                )


def _known(table: OpTable) -> bool:
    """Say whether every interface of an op is known, and there is one."""
    stated = table.interfaces
    return bool(table.known and stated and stated.complete and stated.entries)
