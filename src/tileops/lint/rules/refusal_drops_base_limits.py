"""The rule `refusal-drops-base-limits`."""

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

_BASE = """\
class Base(Kernel):
    @classmethod
    def refusal(cls, call):
        return None if call.n > 0 else f"serves n of at least 1, got {call.n}"

"""
_CLASS = _BASE + "class AKernel(Base):\n    @classmethod\n    def refusal(cls, call):\n"
_MESSAGE = "this can serve a call that Base refuses; end with super().refusal(call)"


class RefusalDropsBaseLimits(BodyRule):
    """A ``refusal`` that overrides stated limits asks for them on every path that may serve.

    It concerns a class with an ancestor other than ``Kernel`` that states a ``refusal``. Every
    path that can return None has to call ``super().refusal(call)``, or the ancestor's by name,
    first. Returning a reason without asking is fine.

    Why:
        The limits of a base class hold for its subclasses. An override that answers None on its own
        makes the subclass serve calls its inherited code cannot run.

    Limits:
        A helper that asks the base class on behalf of ``refusal`` is not followed. The fix is safe
        where the last statement returns None or is missing, unsafe where it rewrites a conditional
        expression; elsewhere there is none.
    """

    id = "refusal-drops-base-limits"
    severity = Severity.WARNING
    cross_file = True
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
            "asks first",
            _CLASS + "        reason = super().refusal(call)\n"
            "        if reason is not None:\n            return reason\n"
            "        return None if call.n < 9 else 'serves n below 9'\n",
        ),
        Valid(
            "a reason, or super",
            _CLASS + "        return cls.too_wide(call) or super().refusal(call)\n",
        ),
        Valid(
            "narrowed, in a loop and a match",
            _CLASS + "        for limit in cls.limits:\n"
            "            if (reason := limit(call)) is not None:\n                return reason\n"
            "        match call.n:\n"
            "            case 1: raise ValueError\n"
            "            case _: return super().refusal(call)\n",
        ),
        Valid(
            "the ancestor by name",
            _CLASS + "        return Base.refusal(call) if call.n else f'serves n, got {call.n}'\n",
        ),
        Valid(
            "only Kernel above",
            "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"
            "        return None if call.n > 4 else 'serves n above 4'\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        return None  # tileops: ignore[refusal-drops-base-limits] -- wider\n",
        ),
    )
    INVALID = (
        Invalid(
            "returns None at the end",
            _CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        [|return None|]  # served\n",
            _MESSAGE,
            fixed=_CLASS + "        if call.n > 9:\n            return 'serves n below 10'\n"
            "        return super().refusal(call)  # served\n",
        ),
        Invalid(
            "falls through",
            _BASE + "class AKernel(Base):\n    @classmethod\n    def [|refusal|](cls, spec):\n"
            "        if spec.n > 9:\n            return 'serves n below 10'\n\n    x = 1\n",
            "this can serve a call that Base refuses; end with super().refusal(spec)",
            fixed=_BASE + "class AKernel(Base):\n    @classmethod\n    def refusal(cls, spec):\n"
            "        if spec.n > 9:\n            return 'serves n below 10'\n"
            "        return super().refusal(spec)\n\n    x = 1\n",
        ),
        Invalid(
            "a conditional expression",
            _CLASS + "        [|return None if call.n < 9 else 'serves n below 9'|]\n",
            _MESSAGE,
            fixed=_CLASS + "        if not (call.n < 9):\n            return 'serves n below 9'\n"
            "        return super().refusal(call)\n",
        ),
        Invalid(
            "one arm in the middle",
            _CLASS + "        if call.n == 1:\n            [|return None|]\n"
            "        return super().refusal(call)\n",
            _MESSAGE,
        ),
        Invalid(
            "short-circuited",
            _CLASS + "        [|return call.n > 4 and super().refusal(call)|]\n",
            _MESSAGE,
        ),
        Invalid(
            "a sibling's limits instead of the base's, in other files",
            {
                "src/tileops/kernels/a/base.py": (
                    "from tileops.backend import Kernel\n\n\n" + _BASE
                ),
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class Sibling(Base): ...\n\n\n"
                    "class AKernel(Base):\n    @classmethod\n    def refusal(cls, call):\n"
                    "        [|return Sibling.refusal(call)|]\n"
                ),
            },
            _MESSAGE,
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the first answer that may be None unasked, and the ancestors it names."""
        from tileops.lint._paths import Paths, named_ancestors, strict_paths

        function = body.function
        strict = strict_paths(function)
        if not strict.bad and not strict.falls_through:
            return
        named = named_ancestors(function)
        lenient = Paths(function, named) if named else strict
        yield body.note(
            self.id,
            strict.bad[0]
            if strict.bad
            else body.method.name_span
            if body.method
            else function.name,
            named=named,
            excused=bool(named) and not lenient.bad and not lenient.falls_through,
            form=form(function, strict),
        )

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the answer where an ancestor states limits that nothing on the path asks for."""
        root = project.roots["kernel"]
        above = [
            node for node in owner.mro[1:] if node is not root and node.facts.method("refusal")
        ]
        method = owner.facts.method("refusal")
        if not above or method is None or len(method.params) < 2:
            return
        if note.data["excused"]:
            named = (project.resolver.resolve(owner.module, name) for name in note.data["named"])
            if all(target in owner.mro for target in named):
                return
        call = method.params[1].name
        message = (
            f"this can serve a call that {above[0].name} refuses; end with super().refusal({call})"
        )
        repair = ask_base(note.data["form"], note.span, owner, method)
        symbol = f"{owner.name}.refusal"
        yield self.report(owner.module, note.span, message, symbol=symbol, repair=repair)
