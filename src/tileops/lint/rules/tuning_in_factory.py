"""The rule `tuning-in-factory`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
_CALLS = ("request_tune", "autotune", "autotune_config", "tune")
_FLAGS = ("autotune", "tune", "tuned", "tuning")
_MESSAGE = (
    "AKernel.entry_for tunes through {}, so that a lookup measures candidates; leave tuning to the "
    "kernel, which tunes at its next launch when asked to"
)


class TuningInFactory(BodyRule):
    """``entry_for`` and its factory do not tune.

    Calls of ``request_tune`` or ``autotune`` and flags such as ``tune=True`` are flagged, in the
    body, in lambdas and in local functions.

    Why:
        Looking a kernel up has to be cheap and must give the same build for the same identity.
        Tuning measures, and its outcome is no part of the identity; a built kernel tunes itself
        when it is launched after ``request_tune``.

    Limits:
        A constructor that tunes on its own is not seen. A flag that is False or comes from
        elsewhere is taken to be meant for something else.
    """

    id = "tuning-in-factory"
    severity = Severity.ERROR
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid("no tuning", _CLASS + "        return call, lambda: cls(call)\n"),
        Valid(
            "a flag that is off", _CLASS + "        return call, lambda: cls(call, tune=False)\n"
        ),
        Valid(
            "tuning at the launch",
            _CLASS + "        return call, lambda: cls(call)\n\n"
            "    def __call__(self, *args):\n        self.autotune(*args)\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        # measured once\n"
            "        return call, lambda: cls(call, tune=True)"
            "  # tileops: ignore[tuning-in-factory]\n",
        ),
    )
    INVALID = (
        Invalid(
            "the factory asks for it",
            _CLASS + "        return call, lambda: [|cls(call).request_tune()|]\n",
            _MESSAGE.format("cls(call).request_tune()"),
        ),
        Invalid(
            "a flag of the constructor",
            _CLASS + "        return call, lambda: cls(call, [|tune=True|])\n",
            _MESSAGE.format("tune=True"),
        ),
        Invalid(
            "in a local function, and before it",
            _CLASS + "        best = [|autotune(cls, call)|]\n\n"
            "        def build():\n            kernel = cls(call, best)\n"
            "            [|kernel.tuned = True|]\n            return kernel\n\n"
            "        return call, build\n",
            (_MESSAGE.format("autotune(cls, call)"), _MESSAGE.format("kernel.tuned = True")),
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what tunes, anywhere in the method."""
        from tileops.lint._wording import brief

        for node in body.nodes:
            if _tunes(node):
                yield body.note(self.id, node, text=brief(node).rstrip(", "))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        message = (
            f"{owner.name}.entry_for tunes through {note.data['text']}, so that a lookup measures "
            "candidates; leave tuning to the kernel, which tunes at its next launch when asked to"
        )
        symbol = f"{owner.name}.entry_for"
        yield self.report(owner.module, note.span, message, symbol=symbol)


def _tunes(node: "cst.CSTNode") -> bool:
    import libcst as cst

    match node:
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return name in _CALLS
        case cst.Arg(keyword=cst.Name(value=name), value=cst.Name(value="True")):
            return name in _FLAGS
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value=name)))],
            value=cst.Name(value="True"),
        ):
            return name in _FLAGS
    return False
