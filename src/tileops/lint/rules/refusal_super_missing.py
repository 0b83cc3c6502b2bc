"""The rule `refusal-super-missing`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Severity
from tileops.lint._ask_base import ask_base, form
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"
_MESSAGE = (
    "AKernel.refusal can serve a call without asking super().refusal(call), so limits stated above "
    "it would be lost; end with super().refusal(call)"
)


class RefusalSuperMissing(BodyRule):
    """Every ``refusal`` that may serve a call asks ``super().refusal(call)`` first.

    This is the letter of the convention, also for a class with nothing but ``Kernel`` above it,
    where asking changes nothing. ``refusal-drops-base-limits`` flags the cases that matter now.

    Why:
        A class that always asks keeps the limits of any base it is given later.

    Limits:
        Naming an ancestor instead of ``super()`` counts as not asking. The fix is safe where the
        last statement returns None or is missing, unsafe where it rewrites a conditional
        expression; elsewhere there is none.
    """

    id = "refusal-super-missing"
    severity = Severity.PEDANTIC
    fixes = (Applicability.SAFE, Applicability.UNSAFE)
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "ends with super",
            _CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        return super().refusal(call)\n",
        ),
        Valid(
            "a reason, or super",
            _CLASS + "        return cls.too_wide(call) or super().refusal(call)\n",
        ),
        Valid("always refuses", _CLASS + "        return f'serves no n, not {call.n}'\n"),
        Valid(
            "no kernel", "class AFwdOp(Op):\n    def refusal(self, call):\n        return None\n"
        ),
        Valid(
            "suppressed",
            _CLASS + "        return None  # tileops: ignore[refusal-super-missing] -- the root\n",
        ),
    )
    INVALID = (
        Invalid(
            "a conditional expression",
            _CLASS + "        [|return None if call.n < 9 else 'serves n below 9'|]\n",
            _MESSAGE,
            fixed=_CLASS + "        if not (call.n < 9):\n            return 'serves n below 9'\n"
            "        return super().refusal(call)\n",
        ),
        Invalid(
            "returns None at the end",
            _CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        [|return None|]\n",
            _MESSAGE,
            fixed=_CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        return super().refusal(call)\n",
        ),
        Invalid(
            "falls through",
            "class AKernel(Kernel):\n    @classmethod\n    def [|refusal|](cls, call):\n"
            "        if call.n > 9:\n            return 'serves n below 10'\n",
            _MESSAGE,
            fixed=_CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        return super().refusal(call)\n",
        ),
        Invalid(
            "an ancestor by name",
            "class Base(Kernel): ...\n\n"
            "class AKernel(Base):\n    @classmethod\n    def refusal(cls, call):\n"
            "        [|return Base.refusal(call)|]\n",
            _MESSAGE,
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the first answer that may be None on a path that has not asked."""
        from tileops.lint._paths import strict_paths

        paths = strict_paths(body.function)
        if body.method is not None and (paths.bad or paths.falls_through):
            where = paths.bad[0] if paths.bad else body.method.name_span
            yield body.note(self.id, where, form=form(body.function, paths))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        method = owner.facts.method("refusal")
        if method is None or len(method.params) < 2:
            return
        call = method.params[1].name
        message = (
            f"{owner.name}.refusal can serve a call without asking super().refusal({call}), so "
            f"limits stated above it would be lost; end with super().refusal({call})"
        )
        repair = ask_base(note.data["form"], note.span, owner, method)
        symbol = f"{owner.name}.refusal"
        yield self.report(owner.module, note.span, message, symbol=symbol, repair=repair)
