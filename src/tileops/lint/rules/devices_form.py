"""The rule `devices-form`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint._string_sets import Form, StringSet, rewritten, string_set
from tileops.lint.index import ClassNode, Kind, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class AcmeNorm(Kernel, NormFwdInterface):
    devices = %s
"""
_RIGHT = (Form.FROZENSET, Form.SET)


class DevicesForm(Rule):
    """``devices`` is a frozenset of device types, as in ``frozenset({"cuda"})``.

    A set is accepted as well, as it is when the op is constructed.

    Why:
        Constructing the op raises for a string or a list. ``frozenset("cuda")`` is the set of the
        letters a, c, d and u: the kernel would run on no device.

    Limits:
        Computed values, ``frozenset({device().type})`` for example, are unknown. There is no fix
        where a constant states the value, or something in it is no string.
    """

    id = "devices-form"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("a display", _HEAD % 'frozenset({"acme"})'),
        Valid("computed", _HEAD % "frozenset({torch.device(run_device()).type})"),
        Valid("a set", _HEAD % '{"acme"}'),
        Valid("another class", 'class Planner:\n    devices = "cuda"\n'),
        Valid("suppressed", _HEAD % '"acme"  # tileops: ignore[devices-form] -- shows the error'),
    )
    INVALID = (
        Invalid(
            "a string",
            _HEAD % '[|"acme"|]',
            'devices of AcmeNorm is a string; write frozenset({"acme"})',
            fixed=_HEAD % 'frozenset({"acme"})',
        ),
        Invalid(
            "a frozenset of a string",
            _HEAD % "[|frozenset('acme')|]",
            'devices of AcmeNorm is the set of a string\'s letters; write frozenset({"acme"})',
            fixed=_HEAD % "frozenset({'acme'})",
        ),
        Invalid(
            "a list",
            _HEAD % '[|["acme", "cuda"]|]',
            'devices of AcmeNorm is a list; write frozenset({"acme", "cuda"})',
            fixed=_HEAD % 'frozenset({"acme", "cuda"})',
        ),
        Invalid(
            "an empty tuple",
            _HEAD % "[|()|]",
            "devices of AcmeNorm is a tuple; write frozenset()",
            fixed=_HEAD % "frozenset()",
        ),
        Invalid(
            "no strings",
            _HEAD % "[|frozenset({0})|]",
            "devices of AcmeNorm is a collection that holds more than strings; write a frozenset "
            "of device types",
        ),
        Invalid(
            "a constant of another module",
            {
                "tileops_acme/names.py": 'DEVICE = "acme"\n',
                "tileops_acme/norm.py": (
                    "from tileops.backend import Kernel\n\nfrom .names import DEVICE\n\n\n"
                    "class AcmeNorm(Kernel):\n    devices = [|DEVICE|]\n"
                ),
            },
            'devices of AcmeNorm is a string; write frozenset({"acme"})',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the values that are certainly no set of strings."""
        for node in project.of_kind(Kind.IMPLEMENTATION, Kind.KERNEL):
            attribute = node.facts.attribute("devices")
            if attribute is None or attribute.value is None:
                continue
            found = string_set(project, node.module, attribute.value)
            if found is not None and found.form not in _RIGHT:
                yield self._report(node, found)

    def _report(self, node: ClassNode, found: StringSet) -> Report:
        meant = found.meant or "a frozenset of device types"
        message = f"devices of {node.name} is {found.form.value}; write {meant}"
        repair = None
        if found.strings is not None and found.stated.value is found.value.value:
            repair = Repair(Applicability.SAFE, f"write {meant}", partial(_edit, found))
        span = found.stated.value.span
        return self.report(node.module, span, message, symbol=node.name, repair=repair)


def _edit(found: StringSet, sources: Sources) -> Iterator[Edit]:
    return rewritten(sources[found.stated.module.path], found)
