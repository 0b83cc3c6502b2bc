"""The rule `several-general`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project

_SPEC = """\
from tileops.backend import Kernel, KernelInterface
from tileops.ops.op import Op


class DecodeFwdInterface(KernelInterface): ...


class PrefillFwdInterface(KernelInterface): ...


class DecodeKernel(Kernel, DecodeFwdInterface):
    general = True


"""
_OP = """

class DecodeFwdOp(Op):
    kernel_types = {"decode": DecodeKernel, "other": %s}
    interfaces = {"decode": DecodeFwdInterface, "prefill": PrefillFwdInterface}
"""


class SeveralGeneral(Rule):
    """An interface of an op has at most one general implementation.

    Keys count, not classes: a general class nobody registers, or two general keys of
    different interfaces, are fine.

    Why:
        The general implementation ranks below every other one, so two of them tie.
        Constructing the op raises ``has more than one general implementation``.

    Limits:
        A subclass that inherits ``general`` from another registered class is left to
        `general-inherited`. Keys other distributions register are not seen.
    """

    id = "several-general"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "one general key",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class FastKernel(Kernel, DecodeFwdInterface): ...\n"
                + _OP % "FastKernel",
            },
        ),
        Valid(
            "two interfaces",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class PrefillKernel(Kernel, PrefillFwdInterface):\n    general = True\n"
                + _OP % "PrefillKernel",
            },
        ),
        Valid(
            "a general base that is not registered",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class Base(Kernel, DecodeFwdInterface):\n    general = True\n\n\n"
                + "class FastKernel(Base):\n    general = False\n"
                + _OP % "FastKernel",
            },
        ),
        Valid(
            "an inherited value",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class FastKernel(DecodeKernel): ...\n"
                + _OP % "FastKernel",
            },
        ),
        Valid(
            "suppressed",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class FastKernel(Kernel, DecodeFwdInterface):\n    general = True\n\n\n"
                + "class DecodeFwdOp(Op):\n"
                "    interfaces = {'decode': DecodeFwdInterface}\n"
                "    kernel_types = {'decode': DecodeKernel, 'other': FastKernel}"
                "  # tileops: ignore[several-general] -- shows the error\n",
            },
        ),
    )
    INVALID = (
        Invalid(
            "two general keys",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class FastKernel(Kernel, DecodeFwdInterface):\n    general = True\n"
                + _OP % "[|FastKernel|]",
            },
            "DecodeFwdOp has more than one general implementation of DecodeFwdInterface: "
            '"decode" and "other"',
        ),
        Invalid(
            "general by inheritance from a class that is not registered",
            {
                "src/tileops/ops/decode.py": _SPEC
                + "class Base(Kernel, DecodeFwdInterface):\n    general: bool = True\n\n\n"
                + "class FastKernel(Base): ...\n"
                + _OP % "[|FastKernel|]",
            },
            "DecodeFwdOp has more than one general implementation of DecodeFwdInterface: "
            '"decode" and "other"',
        ),
        Invalid(
            "registered by a backend, through a re-export and constants",
            {
                "src/tileops/kernels/decode/__init__.py": (
                    "from .decode import DecodeFwdInterface, DecodeKernel\n"
                ),
                "src/tileops/kernels/decode/decode.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n"
                    "YES = True\n\n\n"
                    "class DecodeFwdInterface(KernelInterface): ...\n\n\n"
                    "class DecodeKernel(Kernel, DecodeFwdInterface):\n    general = YES\n"
                ),
                "src/tileops/ops/decode.py": (
                    "from tileops.kernels.decode import DecodeFwdInterface, DecodeKernel\n"
                    "from tileops.ops.op import Op\n\n"
                    'KEY = "decode"\n\n\n'
                    "class DecodeFwdOp(Op):\n"
                    "    kernel_types = {KEY: DecodeKernel}\n"
                    "    interfaces = {KEY: DecodeFwdInterface}\n"
                ),
                "src/tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.kernels.decode import DecodeFwdInterface\n\n\n"
                    "class AcmeDecodeKernel(Kernel, DecodeFwdInterface):\n    general = True\n\n\n"
                    'register_kernel_type("DecodeFwdOp", "acme", [|AcmeDecodeKernel|])\n'
                ),
            },
            "DecodeFwdOp has more than one general implementation of DecodeFwdInterface: "
            '"decode" and "acme"',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the last of several general keys of one dispatch."""
        for dispatch in project.dispatches:
            general = project.general_keys(dispatch)
            if len(general) < 2:
                continue
            names = [f'"{key}"' for key in general]
            last = dispatch.entries[general[-1]].stated
            message = (
                f"{dispatch.op.name} has more than one general implementation of "
                f"{dispatch.interface.name}: {', '.join(names[:-1])} and {names[-1]}"
            )
            yield self.report(last.module, last.value.span, message, symbol=dispatch.op.name)
