"""The rule `device-facts-missing`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._availability import device_types, devices, supported_archs
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import registered
from tileops.lint._registrations import distribution, in_tests, registrations, text
from tileops.lint._rule import Report, Rule
from tileops.lint.index import ClassNode, Project

_HEAD = """\
from tileops.backend import Kernel, KernelInterface, register_device_facts, register_kernel_type
from tileops.ops.op import Op


class NormFwdInterface(KernelInterface): ...


class NormFwdOp(Op):
    interfaces = {"norm": NormFwdInterface}


class AcmeNorm(Kernel, NormFwdInterface):
    %s


register_kernel_type("NormFwdOp", "acme", AcmeNorm)
"""
_SAID = (
    'AcmeNorm runs on "acme", and nothing here registers the facts of such devices, so its call '
    'specs know no arch, sm_count or smem_budget; call register_device_facts("acme", ...)'
)


class DeviceFactsMissing(Rule):
    """A distribution that runs kernels on a device type of its own registers the device facts.

    Facts of ``cuda`` are built in, and a kernel on ``cpu`` needs some only where it states
    ``supported_archs``; every other device type named in ``devices`` of a registered implementation
    needs ``register_device_facts``.

    Why:
        Without facts, ``arch``, ``sm_count`` and ``smem_budget`` of the call spec are None on such
        a device, and no implementation that states ``supported_archs`` is ever available.

    Limits:
        Another distribution may register the facts: suppress the warning where that is so. Computed
        device types are unknown, and tests are left alone.
    """

    id = "device-facts-missing"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "registered",
            (_HEAD % 'devices = frozenset({"acme"})') + 'register_device_facts("acme", read)\n',
        ),
        Valid("the built-in device", _HEAD % 'devices = frozenset({"cuda"})'),
        Valid("a processor without facts", _HEAD % 'devices = frozenset({"cpu"})'),
        Valid("computed devices", _HEAD % "devices = frozenset({device().type})"),
        Valid(
            "a computed registration",
            (_HEAD % 'devices = frozenset({"acme"})') + "register_device_facts(name(), read)\n",
        ),
        Valid("a test", {"tests/test_acme.py": _HEAD % 'devices = frozenset({"acme"})'}),
        Valid(
            "suppressed",
            _HEAD
            % 'devices = frozenset({"acme"})  # tileops: ignore[device-facts-missing] -- torch',
        ),
    )
    INVALID = (
        Invalid("none", _HEAD % '[|devices|] = frozenset({"acme"})', _SAID),
        Invalid(
            "a processor whose architecture is asked for",
            _HEAD % '[|devices|] = frozenset({"cpu"})\n    supported_archs = [1]',
            _SAID.replace('"acme"', '"cpu"'),
        ),
        Invalid(
            "one of two types",
            (_HEAD % '[|devices|]: frozenset[str] = frozenset({"cuda", "acme", "zeta"})')
            + 'register_device_facts("zeta", read)\n',
            _SAID,
        ),
        Invalid(
            "registered by another distribution only, devices of a base",
            {
                "a/pyproject.toml": "",
                "a/tileops_acme/base.py": (
                    "from tileops.backend import Kernel\n\n\n"
                    'class Base(Kernel):\n    devices = frozenset({"acme"})\n'
                ),
                "a/tileops_acme/__init__.py": (
                    "from .base import Base\n"
                    + (_HEAD % "supported_archs = [1]").replace(
                        "class AcmeNorm(Kernel", "class [|AcmeNorm|](Base"
                    )
                ),
                "b/pyproject.toml": "",
                "b/other.py": (
                    "from tileops.backend import register_device_facts\n\n"
                    'register_device_facts("acme", read)\n'
                ),
            },
            _SAID,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the registered classes on devices whose facts their distribution leaves out."""
        known: set[tuple[str, str | None]] = set()
        for module, site in registrations(project, "register_device_facts"):
            known.add((distribution(project, module), text(project, module, site, "device_type")))
        for node in registered(project):
            if node.module.external or in_tests(node.module) or _default(project, node):
                continue
            where = distribution(project, node.module)
            lacking = [
                name
                for name in device_types(project, node) or ()
                if _needs_facts(project, node, name) and (where, name) not in known
            ]
            if lacking and (where, None) not in known:
                yield self._report(node, sorted(lacking)[0])

    def _report(self, node: ClassNode, name: str) -> Report:
        message = (
            f'{node.name} runs on "{name}", and nothing here registers the facts of such devices, '
            "so its call specs know no arch, sm_count or smem_budget; call "
            f'register_device_facts("{name}", ...)'
        )
        stated = devices(node)
        here = stated is not None and stated[0] is node
        span = stated[1].name_span if stated and here else node.facts.name_span
        return self.report(node.module, span, message, symbol=node.name)


def _needs_facts(project: Project, node: ClassNode, name: str) -> bool:
    """Say whether a class on a device type depends on what is registered of that type."""
    if name == "cpu":
        return supported_archs(project, node)[1] is not None
    return name != "cuda"


def _default(project: Project, node: ClassNode) -> bool:
    """Say whether a class inherits its devices from ``Kernel``, whose facts are built in."""
    return node.lookup("devices").owner is project.roots["kernel"]
