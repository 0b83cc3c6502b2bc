"""The rule `archs-need-one-device`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._availability import device_types, supported_archs
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import listed, registered
from tileops.lint._rule import Report, Rule
from tileops.lint.index import ClassNode, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


"""
_OP = """

class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel}
    interfaces = {"norm": NormFwdInterface}
"""
_SAID = (
    'NormKernel states supported_archs [80, 90] and runs on "acme" and "cuda", so constructing an '
    "op with it raises: an architecture means something on one device type; name that one in "
    "devices"
)


class ArchsNeedOneDevice(Rule):
    """A registered implementation that states ``supported_archs`` runs on one device type.

    Both members count, stated or inherited.

    Why:
        The number of an architecture belongs to one device type. With several, or none,
        constructing the op raises.

    Limits:
        Computed devices are unknown. Classes that are not registered are bases and may leave
        ``devices`` to their subclasses.
    """

    id = "archs-need-one-device"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "one device",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"acme"})\n    supported_archs = [1, 2]\n'
            + _OP,
        ),
        Valid(
            "the default device",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n    supported_archs = [80]\n"
            + _OP,
        ),
        Valid(
            "computed devices",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + "    devices = frozenset({torch.device(run_device()).type})\n"
            + "    supported_archs = [80]\n"
            + _OP,
        ),
        Valid(
            "several devices without architectures",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"acme", "cuda"})\n    supported_archs = None\n'
            + _OP,
        ),
        Valid(
            "a base",
            _HEAD
            + "class Base(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"acme", "cuda"})\n    supported_archs = [80]\n\n\n'
            + 'class NormKernel(Base):\n    devices = frozenset({"cuda"})\n'
            + _OP,
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"acme", "cuda"})\n'
            + "    supported_archs = [80]  # tileops: ignore[archs-need-one-device] -- shown\n"
            + _OP,
        ),
    )
    INVALID = (
        Invalid(
            "two devices",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"cuda", "acme"})\n'
            + "    [|supported_archs|] = [80, 90]\n"
            + _OP,
            _SAID,
        ),
        Invalid(
            "no device",
            _HEAD
            + "class Base(Kernel, NormFwdInterface):\n    supported_archs = (90,)\n\n\n"
            + "class NormKernel(Base):\n    [|devices|] = frozenset()\n"
            + _OP,
            _SAID.replace("[80, 90]", "[90]").replace('"acme" and "cuda"', "no device type"),
        ),
        Invalid(
            "both inherited from another file",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n"
                    "HOPPER = [80, 90]\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n\n\n"
                    "class Base(Kernel, NormFwdInterface):\n"
                    '    devices = {"acme", "cuda"}\n    supported_archs = HOPPER\n'
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import Base, NormFwdInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class [|NormKernel|](Base): ...\n" + _OP
                ),
            },
            _SAID,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registered classes with architectures of several devices, or of none."""
        for node in registered(project):
            known, archs = supported_archs(project, node)
            if not known or archs is None:
                continue
            types = device_types(project, node)
            if types is not None and len(types) != 1:
                yield self._report(node, archs, types)

    def _report(self, node: ClassNode, archs: tuple[int, ...], types: tuple[str, ...]) -> Report:
        where = listed([f'"{name}"' for name in sorted(types)]) if types else "no device type"
        message = (
            f"{node.name} states supported_archs {list(archs)} and runs on {where}, so "
            "constructing an op with it raises: an architecture means something on one device "
            "type; name that one in devices"
        )
        stated = node.facts.attribute("supported_archs") or node.facts.attribute("devices")
        span = node.facts.name_span if stated is None else stated.name_span
        return self.report(node.module, span, message, symbol=node.name)
