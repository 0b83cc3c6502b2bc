"""The rule `registered-class-not-kernel`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import distinct, entries, label, served
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Kind, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


"""
_OP = """

class NormFwdOp(Op):
    kernel_types = {"norm": %s}
    interfaces = {"norm": NormFwdInterface}
"""


class RegisteredClassNotKernel(Rule):
    """A class registered under a key subclasses ``Kernel`` as well as a kernel interface.

    The class may do so through any of its bases.

    Why:
        The interface says how the op calls an implementation, and ``Kernel`` how it is selected
        and built. Constructing the op raises ``does not implement <Interface>``.

    Limits:
        A value that is no class by name, a ``functools.partial`` for example, is unknown, and so
        is a class with a base that cannot be resolved.
    """

    id = "registered-class-not-kernel"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "both", _HEAD + "class NormKernel(Kernel, NormFwdInterface): ...\n" + _OP % "NormKernel"
        ),
        Valid(
            "both through bases",
            _HEAD
            + "class Base(Kernel): ...\n\n\nclass NormKernel(Base, NormFwdInterface): ...\n"
            + _OP % "NormKernel",
        ),
        Valid("a call", _HEAD + _OP % "partial(NormFwdInterface)"),
        Valid(
            "an unknown base",
            _HEAD
            + "from acme import Base\n\n\nclass NormKernel(Base, NormFwdInterface): ...\n"
            + _OP % "NormKernel",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormKernel(NormFwdInterface): ...\n\n\n"
            + "class NormFwdOp(Op):\n"
            + "    interfaces = {'norm': NormFwdInterface}\n"
            + "    kernel_types = {'norm': NormKernel}"
            + "  # tileops: ignore[registered-class-not-kernel] -- shows the error\n",
        ),
    )
    INVALID = (
        Invalid(
            "the interface alone",
            _HEAD + "class NormKernel(NormFwdInterface): ...\n" + _OP % "[|NormKernel|]",
            'NormKernel, key "norm" of NormFwdOp, subclasses NormFwdInterface but not Kernel, so '
            "the op cannot build it; subclass both",
        ),
        Invalid(
            "the interface itself",
            _HEAD + _OP % "[|NormFwdInterface|]",
            'NormFwdInterface, key "norm" of NormFwdOp, is the interface itself, not an '
            "implementation; register a class that subclasses both Kernel and NormFwdInterface",
        ),
        Invalid(
            "registered by a backend",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import KernelInterface\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n"
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import NormFwdInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class NormFwdOp(Op):\n"
                    "    interfaces = {'norm': NormFwdInterface}\n"
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.kernels.norm import NormFwdInterface\n\n\n"
                    "class AcmeNorm(NormFwdInterface): ...\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", [|AcmeNorm|])\n'
                ),
            },
            'AcmeNorm, key "acme" of NormFwdOp, subclasses NormFwdInterface but not Kernel, so '
            "the op cannot build it; subclass both",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registered classes that are certainly no kernels."""
        for table in distinct(project):
            for entry in entries(table):
                node = entry.target
                if node is None or node.kind is not Kind.INTERFACE:
                    continue
                wanted = next((one.target for one in served(table, node)), None)
                if wanted is None:
                    continue
                what = f"{node.name}, {label(entry)} of {table.op.name},"
                message = (
                    f"{what} subclasses {wanted.name} but not Kernel, so the op cannot build it; "
                    "subclass both"
                )
                if node is wanted:
                    message = (
                        f"{what} is the interface itself, not an implementation; register a class "
                        f"that subclasses both Kernel and {wanted.name}"
                    )
                yield self.report(
                    entry.stated.module, entry.stated.value.span, message, symbol=table.op.name
                )
