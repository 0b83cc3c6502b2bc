"""The rule `supported-archs-form`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._availability import device_types, display_of
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import listed
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Value
from tileops.lint.index import ClassNode, Kind, Located, Project

if TYPE_CHECKING:
    pass

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface):
    supported_archs = %s
"""
_LITERAL = ("bool", "int", "float", "str", "dict", "ellipsis")
# CUDA C++ Programming Guide, "Compute Capabilities".
_CUDA = frozenset(
    {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121}
)


class SupportedArchsForm(Rule):
    """``supported_archs`` is None, or a list of distinct architectures that exist.

    A tuple or a set will do. On CUDA an architecture is major * 10 + minor of the compute
    capability.

    Why:
        Constructing the op raises for anything but a collection of integers. An empty collection,
        or a number no device has, means that the kernel is never available.

    Limits:
        What makes the op raise is an error, the rest a warning. Computed values are unknown.
        Numbers are compared with the compute capabilities of CUDA only where the class certainly
        runs on CUDA devices alone. The fix drops what stands twice.
    """

    id = "supported-archs-form"
    severity = Severity.WARNING
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("a list", _HEAD % "[80, 86, 89, 90]"),
        Valid("a tuple and a constant", "SM90 = 90\n\n\n" + _HEAD % "(80, SM90)"),
        Valid("every architecture", _HEAD % "None"),
        Valid("computed", _HEAD % "[*archs(), 90]"),
        Valid("another device", _HEAD % '[1, 2]\n    devices = frozenset({"acme"})'),
        Valid("suppressed", _HEAD % "[]  # tileops: ignore[supported-archs-form] -- retired"),
    )
    INVALID = (
        Invalid(
            "twice",
            _HEAD % "[|[80, 86, 80, 90]|]",
            "supported_archs of NormKernel names 80 twice; name it once",
            fixed=_HEAD % "[80, 86, 90]",
        ),
        Invalid(
            "a number",
            _HEAD % "[|90|]",
            "supported_archs of NormKernel is 90, so constructing an op with it raises; write "
            "[90], or None for every architecture",
            severity=Severity.ERROR,
        ),
        Invalid(
            "no integers",
            _HEAD % '[|[80, "sm_90"]|]',
            'supported_archs of NormKernel holds "sm_90", which is no integer, so constructing an '
            "op with it raises; write major * 10 + minor of the compute capability",
            severity=Severity.ERROR,
        ),
        Invalid(
            "a compute capability",
            _HEAD % "[|(9, 0)|]",
            "supported_archs of NormKernel holds 9 and 0, which no CUDA device has, so the kernel "
            "is never available there; write major * 10 + minor of the compute capability",
        ),
        Invalid(
            "empty",
            _HEAD % "[|[]|]",
            "supported_archs of NormKernel is empty, so the kernel is never available; name its "
            "architectures, or None for every one",
        ),
        Invalid(
            "a constant of another module, devices of a base",
            {
                "src/tileops/kernels/archs.py": "HOPPER = [900]\n",
                "src/tileops/kernels/base.py": (
                    "from tileops.backend import Kernel\n\n\n"
                    'class Base(Kernel):\n    devices = frozenset({"cuda"})\n'
                ),
                "src/tileops/kernels/norm.py": (
                    "from tileops.kernels.archs import HOPPER\n"
                    "from tileops.kernels.base import Base\n\n\n"
                    "class NormKernel(Base):\n    supported_archs = [|HOPPER|]\n"
                ),
            },
            "supported_archs of NormKernel holds 900, which no CUDA device has, so the kernel is "
            "never available there; write major * 10 + minor of the compute capability",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report what is certainly wrong with the architectures a class states."""
        for node in project.of_kind(Kind.IMPLEMENTATION, Kind.KERNEL):
            attribute = node.facts.attribute("supported_archs")
            if attribute is None or attribute.value is None:
                continue
            stated = project.evaluate(node.module, attribute.value)
            fault = _fault(project, node, stated)
            if not fault:
                continue
            repair = None
            if fault.startswith("names") and stated.value is attribute.value:
                build = partial(_edit, node, attribute.value)
                repair = Repair(Applicability.SAFE, "name each architecture once", build)
            message = f"supported_archs of {node.name} {fault}"
            span = attribute.value.span
            weight = Severity.ERROR if "raises" in fault else None
            yield self.report(
                node.module, span, message, symbol=node.name, repair=repair, severity=weight
            )


def _fault(project: Project, node: ClassNode, stated: Located) -> str:
    """Return what is wrong with a value, "" when nothing certainly is."""
    if stated.value.kind in _LITERAL:
        shown = f"[{stated.value.data}]" if stated.value.kind == "int" else "[80, 90]"
        return (
            f"is {_shown(stated.value)}, so constructing an op with it raises; write {shown}, or "
            "None for every architecture"
        )
    display = display_of(project, stated)
    if display is None:
        return ""
    if not display.value.items:
        return (
            "is empty, so the kernel is never available; name its architectures, or None for "
            "every one"
        )
    items = [project.evaluate(display.module, item).value for item in display.value.items]
    odd = [item for item in items if item.kind in _LITERAL and item.kind != "int"]
    if odd:
        return (
            f"holds {_shown(odd[0])}, which is no integer, so constructing an op with it raises; "
            "write major * 10 + minor of the compute capability"
        )
    archs = [int(item.data or 0) for item in items if item.kind == "int"]
    return _wrong(archs, cuda=device_types(project, node) == ("cuda",))


def _wrong(archs: list[int], *, cuda: bool) -> str:
    unheard = [str(arch) for arch in archs if cuda and arch not in _CUDA]
    if unheard:
        return (
            f"holds {listed(unheard)}, which no CUDA device has, so the kernel is never available "
            "there; write major * 10 + minor of the compute capability"
        )
    twice = [str(arch) for arch in dict.fromkeys(archs) if archs.count(arch) > 1]
    if twice:
        return f"names {listed(twice)} twice; name {'it' if len(twice) == 1 else 'each'} once"
    return ""


def _shown(value: Value) -> str:
    if value.kind == "str":
        return f'"{value.data}"'
    return "a dict" if value.kind == "dict" else "..." if value.data is None else str(value.data)


def _edit(node: ClassNode, value: Value, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite
    from tileops.lint._syntax import code

    def change(found: cst.BaseExpression) -> cst.BaseExpression | None:
        if isinstance(found, cst.Call) and len(found.args) == 1:
            inner = change(found.args[0].value)
            return inner and found.with_changes(args=[found.args[0].with_changes(value=inner)])
        if not isinstance(found, cst.List | cst.Tuple | cst.Set):
            return None
        seen: set[str] = set()
        elements: list[cst.BaseElement] = []
        for element in found.elements:
            if code(element.value) not in seen:
                elements.append(element)
            seen.add(code(element.value))
        if elements and elements[-1] is not found.elements[-1]:
            elements[-1] = elements[-1].with_changes(comma=found.elements[-1].comma)
        return found.with_changes(elements=elements)

    return rewrite(sources[node.module.path], value.span, change)
