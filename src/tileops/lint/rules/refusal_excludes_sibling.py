"""The rule `refusal-excludes-sibling`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_HEAD = """\
from tileops.backend import Kernel, KernelInterface
from tileops.ops.op import Op


class DecodeFwdInterface(KernelInterface): ...


class FastKernel(Kernel, DecodeFwdInterface): ...


class DecodeKernel(Kernel, DecodeFwdInterface):
    @classmethod
    def refusal(cls, call):
"""
_OP = """

class DecodeFwdOp(Op):
    kernel_types = {"decode": DecodeKernel, "fast": FastKernel}
    interfaces = {"decode": DecodeFwdInterface}
"""
_PATH = "src/tileops/ops/decode.py"
_MESSAGE = (
    "DecodeKernel.refusal refuses what FastKernel serves, so it is gone also where FastKernel is "
    "not available; state only its own limits, and in FastKernel preferred_over = "
    'frozenset({"decode"})'
)


def _case(body: str) -> dict[str, str]:
    return {_PATH: _HEAD + body + _OP}


class RefusalExcludesSibling(BodyRule):
    """``refusal`` states the limits of its own class, and is not made of a sibling's.

    Refusing a call because another registered implementation of the interface serves it is
    flagged. Refusing what the other refuses shares its limits, and is fine.

    Why:
        Which of two implementations comes first is declared by ``preferred_over`` and ``general``.
        Said through a refusal, the call goes unserved on every device where the other one is not
        available.

    Limits:
        The range of a sibling that is restated by hand cannot be recognised. A question through a
        helper, or through a local that is bound more than once, is not followed.
    """

    id = "refusal-excludes-sibling"
    severity = Severity.WARNING
    cross_file = True
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "sharing the limits of a sibling",
            _case(
                "        if call.n:\n            return FastKernel.refusal(call)\n"
                "        if FastKernel.refusal(call) is not None:\n"
                "            return 'serves what fast serves'\n"
                "        return None if FastKernel.refusal(call) is None else 'serves n'\n"
            ),
        ),
        Valid(
            "no sibling",
            {
                _PATH: _HEAD
                + "        return None if FastKernel.refusal(call) else 'serves n'\n"
                + _OP.replace(', "fast": FastKernel', "")
            },
        ),
        Valid(
            "both outcomes serve",
            _case("        if FastKernel.refusal(call) is None:\n            return None\n"),
        ),
        Valid(
            "suppressed",
            _case(
                "        # Never without the other.\n"
                "        if FastKernel.refusal(call) is None:"
                "  # tileops: ignore[refusal-excludes-sibling]\n"
                "            return 'serves the rest'\n        return None\n"
            ),
        ),
    )
    INVALID = (
        Invalid(
            "asked whether it serves",
            _case(
                "        if [|FastKernel.refusal(call) is None|]:\n"
                "            return 'serves the rest'\n        return None\n"
            ),
            _MESSAGE,
        ),
        Invalid(
            "as a conditional expression, and beside another condition",
            _case(
                "        if call.n > 4 and not [|FastKernel.refusal(call)|]:\n"
                "            return f'serves n of at most 4, not {call.n}'\n"
                "        return None if [|FastKernel.refusal(call)|] else 'serves the rest'\n"
            ),
            (_MESSAGE, _MESSAGE),
        ),
        Invalid(
            "through a local, and the rest of the block",
            _case(
                "        other = FastKernel.refusal(call)\n"
                "        if [|other is not None|]:\n            return None\n"
                "        return 'serves the rest'\n"
            ),
            _MESSAGE,
        ),
        Invalid(
            "another way to ask",
            _case(
                "        if not [|FastKernel.serves(call)|]:\n            return None\n"
                "        else:\n            return 'serves the rest'\n"
            ),
            _MESSAGE,
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the questions to other classes whose good answer leads to a reason."""
        from tileops.lint._siblings import exclusions

        for node, name in exclusions(body.function):
            yield body.note(self.id, node, name=name)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note when both classes are keys of one interface of an op."""
        asked = project.resolve_class(owner.module, Value("name", note.span, note.data["name"]))
        if asked is None or asked is owner:
            return
        for dispatch in project.dispatches:
            keys = {entry.target: key for key, entry in dispatch.entries.items()}
            if owner in keys and asked in keys:
                message = (
                    f"{owner.name}.refusal refuses what {asked.name} serves, so it is gone also "
                    f"where {asked.name} is not available; state only its own limits, and in "
                    f'{asked.name} preferred_over = frozenset({{"{keys[owner]}"}})'
                )
                symbol = f"{owner.name}.refusal"
                yield self.report(owner.module, note.span, message, symbol=symbol)
                return
