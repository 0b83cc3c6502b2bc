"""The rule `op-constructs-kernel`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Kind, Project

_KERNEL = """\
class GemmFwdInterface(KernelInterface): ...

class GemmKernel(Kernel, GemmFwdInterface): ...

"""
_MESSAGE = (
    "GemmFwdOp.forward constructs GemmKernel itself, past selection and the cache of built "
    "kernels; ask self.kernel_for(interface, call) for it"
)


class OpConstructsKernel(Rule):
    """An op does not construct implementations; it asks ``kernel_for`` for a kernel.

    Why:
        A kernel the op makes itself is chosen whatever the device, the architecture and the
        registered backends say, and is built again wherever the op forgets to keep it.

    Limits:
        A class reached through a mapping or passed as an argument is not recognised. Objects that
        are no implementation of an interface, such as a fallback in plain torch, are fine.
    """

    id = "op-constructs-kernel"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "asking for a kernel",
            _KERNEL + "class GemmFwdOp(Op):\n    kernel_types = {'gemm': GemmKernel}\n\n"
            "    def forward(self, a, b):\n        return self.kernel_for('gemm', None)(a, b)\n",
        ),
        Valid(
            "a helper that is no implementation",
            "class Fallback: ...\n\n"
            "class GemmFwdOp(Op):\n    def forward(self, a, b):\n        return Fallback()(a, b)\n",
        ),
        Valid(
            "outside an op",
            _KERNEL + "def measure():\n    return GemmKernel(None)\n\n"
            "class Bench:\n    def run(self):\n        return GemmKernel(None)\n",
        ),
        Valid(
            "suppressed",
            _KERNEL + "class GemmFwdOp(Op):\n    def forward(self, a, b):\n"
            "        return GemmKernel(1)(a, b)  # tileops: ignore[op-constructs-kernel]\n",
        ),
    )
    INVALID = (
        Invalid(
            "in forward",
            _KERNEL + "class GemmFwdOp(Op):\n    def forward(self, a, b):\n"
            "        return [|GemmKernel(a.shape[0])|](a, b)\n",
            _MESSAGE,
        ),
        Invalid(
            "in a lambda, and kept",
            _KERNEL + "class GemmFwdOp(Op):\n    def forward(self, a, b):\n"
            "        self._kernel = [|GemmKernel(1)|]\n        return lambda: [|GemmKernel(2)|]\n",
            (_MESSAGE, _MESSAGE),
        ),
        Invalid(
            "through another module's re-export",
            {
                "src/tileops/kernels/gemm/__init__.py": (
                    "from tileops.kernels.gemm.tiled import GemmKernel\n"
                ),
                "src/tileops/kernels/gemm/tiled.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n" + _KERNEL
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels import gemm\nfrom tileops.ops.op import Op\n\n\n"
                    "class GemmFwdOp(Op):\n    def forward(self, a, b):\n"
                    "        return [|gemm.GemmKernel(a)|](b)\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the implementations that methods of ops call."""
        for module, site, node in project.constructed:
            owner = module.classes.get(site.owner)
            if node.kind is not Kind.IMPLEMENTATION or owner is None or owner.kind is not Kind.OP:
                continue
            symbol = f"{owner.name}.{site.function}"
            message = (
                f"{symbol} constructs {node.name} itself, past selection and the cache of built "
                "kernels; ask self.kernel_for(interface, call) for it"
            )
            yield self.report(module, site.call.span, message, symbol=symbol)
