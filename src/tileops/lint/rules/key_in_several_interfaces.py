"""The rule `key-in-several-interfaces`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import distinct, entries, label, listed, served
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Project

_HEAD = """\
class TrainFwdInterface(KernelInterface): ...


class InferFwdInterface(KernelInterface): ...


class NormKernel(Kernel, TrainFwdInterface): ...


class BothKernel(Kernel, TrainFwdInterface, InferFwdInterface): ...


"""
_OP = """\
class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "both": %s}
    interfaces = {"train": TrainFwdInterface, "infer": InferFwdInterface}
"""
_SAID = (
    'BothKernel, key "both" of NormFwdOp, implements TrainFwdInterface and InferFwdInterface and '
    "is selected for both, though a key belongs to one interface; register one class for each"
)


class KeyInSeveralInterfaces(Rule):
    """The class of a key implements one of the op's interfaces, not several.

    Interfaces of different ops are another matter: a class may be registered in each.

    Why:
        A key belongs to the interface its class subclasses. With two, the same ``refusal``,
        ``entry_for`` and ``preferred_over`` have to be right for both call contracts.

    Limits:
        The op works: the key is a candidate for each of the interfaces.
    """

    id = "key-in-several-interfaces"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "one of two",
            _HEAD
            + _OP.replace("%s", "InferKernel")
            + "\n\nclass InferKernel(Kernel, InferFwdInterface): ...\n",
        ),
        Valid(
            "interfaces of two ops",
            _HEAD
            + "class TrainFwdOp(Op):\n"
            + '    kernel_types = {"both": BothKernel}\n'
            + '    interfaces = {"train": TrainFwdInterface}\n\n\n'
            + "class InferFwdOp(Op):\n"
            + '    kernel_types = {"both": BothKernel}\n'
            + '    interfaces = {"infer": InferFwdInterface}\n',
        ),
        Valid(
            "an unknown interface",
            _HEAD + (_OP % "BothKernel").replace('"infer": InferFwdInterface', "**more()"),
        ),
        Valid(
            "suppressed",
            _HEAD
            + (_OP % "BothKernel").replace(
                "}\n", "}  # tileops: ignore[key-in-several-interfaces] -- one program\n", 1
            ),
        ),
    )
    INVALID = (
        Invalid("two interfaces", _HEAD + _OP % "[|BothKernel|]", _SAID),
        Invalid(
            "inherited from two bases",
            _HEAD
            + "class BaseKernel(Kernel, InferFwdInterface): ...\n\n\n"
            + "class MixedKernel(NormKernel, BaseKernel): ...\n\n\n"
            + _OP % "[|MixedKernel|]",
            _SAID.replace("BothKernel", "MixedKernel"),
        ),
        Invalid(
            "registered by a backend",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _HEAD + _OP % "NormKernel"
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import register_kernel_type\n"
                    "from tileops.ops.norm import BothKernel\n\n\n"
                    "class AcmeKernel(BothKernel): ...\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", [|AcmeKernel|])\n'
                ),
            },
            _SAID.replace("BothKernel", "AcmeKernel").replace('"both"', '"acme"'),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the keys whose class inherits several interfaces of the op."""
        for table in distinct(project):
            for entry in entries(table):
                if entry.target is None:
                    continue
                found = served(table, entry.target)
                names = list(dict.fromkeys(one.target.name for one in found if one.target))
                if len(names) < 2:
                    continue
                each = "both" if len(names) == 2 else "each"
                message = (
                    f"{entry.target.name}, {label(entry)} of {table.op.name}, implements "
                    f"{listed(names)} and is selected for {each}, though a key belongs to one "
                    "interface; register one class for each"
                )
                where = entry.stated
                yield self.report(where.module, where.value.span, message, symbol=table.op.name)
