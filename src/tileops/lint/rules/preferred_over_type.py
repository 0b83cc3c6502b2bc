"""The rule `preferred-over-type`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint._string_sets import Form, StringSet, rewritten, string_set
from tileops.lint.index import ClassNode, Kind, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class WideKernel(Kernel, NormFwdInterface):
    preferred_over = %s
"""
_WRITE = 'write frozenset({"norm"})'


class PreferredOverType(Rule):
    """``preferred_over`` is a frozenset of keys.

    A display of strings, or names of string constants, in ``frozenset({...})``.

    Why:
        Constructing the op raises for a list, a tuple or a string. ``frozenset("norm")`` is the
        set of the letters n, o, r and m, none of which is a key. A plain set works, but is shared
        by every class that inherits it, and can be changed.

    Limits:
        A set is a warning, everything else an error. Computed values are unknown. There is no
        fix where a constant states the value, or something in it is no string.
    """

    id = "preferred-over-type"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("a display", _HEAD % 'frozenset({"norm"})'),
        Valid("a constant key", 'NORM = "norm"\n\n\n' + _HEAD % "frozenset({NORM})"),
        Valid("empty", _HEAD % "frozenset()"),
        Valid("a frozenset of a tuple", _HEAD % 'frozenset(("norm", "split"))'),
        Valid("computed", _HEAD % "keys()"),
        Valid("another class", 'class Planner:\n    preferred_over = "norm"\n'),
        Valid(
            "suppressed",
            _HEAD % '["norm"]  # tileops: ignore[preferred-over-type] -- shows the error',
        ),
    )
    INVALID = (
        Invalid(
            "a string",
            _HEAD % "[|'norm'|]",
            f"preferred_over of WideKernel is a string; {_WRITE}",
            fixed=_HEAD % "frozenset({'norm'})",
        ),
        Invalid(
            "a frozenset of a string",
            _HEAD % '[|frozenset("norm")|]',
            f"preferred_over of WideKernel is the set of a string's letters; {_WRITE}",
            fixed=_HEAD % 'frozenset({"norm"})',
        ),
        Invalid(
            "a list with comments",
            _HEAD % '[|[\n        "norm",  # short rows\n    ]|]',
            f"preferred_over of WideKernel is a list; {_WRITE}",
            fixed=_HEAD % 'frozenset({\n        "norm",  # short rows\n    })',
        ),
        Invalid(
            "a tuple",
            _HEAD % '[|("norm",)|]',
            f"preferred_over of WideKernel is a tuple; {_WRITE}",
            fixed=_HEAD % 'frozenset({"norm",})',
        ),
        Invalid(
            "a set",
            _HEAD % '[|{"norm"}|]',
            "preferred_over of WideKernel is a set, which every class shares and any can change; "
            + _WRITE,
            fixed=_HEAD % 'frozenset({"norm"})',
            severity=Severity.WARNING,
        ),
        Invalid(
            "something else",
            _HEAD % "[|None|]",
            "preferred_over of WideKernel is no collection; write a frozenset of keys",
        ),
        Invalid(
            "a constant of another module",
            {
                "src/tileops/kernels/keys.py": 'SLOWER = ["norm"]\n',
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.keys import SLOWER\n\n\n"
                    "class WideKernel(Kernel):\n    preferred_over = [|SLOWER|]\n"
                ),
            },
            f"preferred_over of WideKernel is a list; {_WRITE}",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the values that are certainly no frozenset of strings."""
        for node in project.of_kind(Kind.IMPLEMENTATION, Kind.KERNEL):
            attribute = node.facts.attribute("preferred_over")
            if attribute is None or attribute.value is None:
                continue
            found = string_set(project, node.module, attribute.value)
            if found is not None and found.form is not Form.FROZENSET:
                yield self._report(node, found)

    def _report(self, node: ClassNode, found: StringSet) -> Report:
        meant = found.meant or "a frozenset of keys"
        message = f"preferred_over of {node.name} is {found.form.value}; write {meant}"
        repair = None
        if found.strings is not None and found.stated.value is found.value.value:
            repair = Repair(Applicability.SAFE, f"write {meant}", partial(_edit, found))
        severity = Severity.WARNING if found.form is Form.SET else None
        return self.report(
            node.module,
            found.stated.value.span,
            message,
            symbol=node.name,
            repair=repair,
            severity=severity,
        )


def _edit(found: StringSet, sources: Sources) -> Iterator[Edit]:
    return rewritten(sources[found.stated.module.path], found)
