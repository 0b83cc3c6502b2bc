"""Stand-ins for the truth values and texts that come of symbolic numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileops.introspect.formula import Term, all_of, any_of, const, negate, where

if TYPE_CHECKING:
    from tileops.introspect.symbolic._run import Run

__all__ = ["SymbolicBool", "SymbolicText", "plain_text"]


class SymbolicBool:
    """A condition. Asking for its truth takes one side of it."""

    __slots__ = ("run", "site", "term")

    def __init__(self, run: Run, term: Term) -> None:
        self.run = run
        self.term = term
        # The line that compares, which in a long expression is not the line that decides.
        self.site = run.site()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return bool

    def __bool__(self) -> bool:
        return self.run.branch(self.term, self.site)

    def __index__(self) -> int:
        return int(bool(self))

    def __hash__(self) -> int:
        return hash(bool(self))

    def _junction(self, other: Any, combine: Any) -> Any:
        if type(other) is SymbolicBool:
            return SymbolicBool(self.run, combine((self.term, other.term)))
        if isinstance(other, bool):
            return SymbolicBool(self.run, combine((self.term, const(other))))
        return NotImplemented

    def __and__(self, other: Any) -> Any:
        return self._junction(other, all_of)

    def __or__(self, other: Any) -> Any:
        return self._junction(other, any_of)

    __rand__, __ror__ = __and__, __or__

    def __xor__(self, other: Any) -> Any:
        return self.__ne__(other) if isinstance(other, bool) else NotImplemented

    __rxor__ = __xor__

    def __eq__(self, other: object) -> Any:
        if type(other) is SymbolicBool:
            return SymbolicBool(self.run, where(self.term, other.term, negate(other.term)))
        return bool(self) == other

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        if type(equal) is SymbolicBool:
            return SymbolicBool(self.run, negate(equal.term))
        return not equal

    def __getattr__(self, name: str) -> Any:
        return getattr(bool(self), name)

    def __repr__(self) -> str:
        return repr(bool(self))

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec)


def _as_int(method: str) -> Any:
    def operate(self: SymbolicBool, *others: Any) -> Any:
        return getattr(int(self), method)(*others)

    return operate


# A truth value takes part in arithmetic as 0 or 1, which needs its side.
for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
]:
    setattr(SymbolicBool, f"__{_name}__", _as_int(f"__{_name}__"))


class SymbolicText(str):
    """A text that holds the spelling of a symbolic number; its content is not known.

    It can be joined and returned. Whatever inspects it gives the exploration up.
    """

    run: Run

    @classmethod
    def of(cls, run: Run, template: str) -> SymbolicText:
        """Return a text that reads like *template*, where ``{...}`` stands for a number."""
        text = cls(template)
        text.run = run
        return text

    def __bool__(self) -> bool:
        # A spelt number is never empty.
        return True

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> SymbolicText:
        return SymbolicText.of(self.run, plain_text(self) + plain_text(other))

    def __radd__(self, other: str) -> SymbolicText:
        return SymbolicText.of(self.run, plain_text(other) + plain_text(self))


def plain_text(text: str) -> str:
    """Return the template of a text as an ordinary one."""
    return str.__str__(text)


def _inspecting(name: str) -> Any:
    def give_up(self: SymbolicText, *args: Any, **keywords: Any) -> Any:
        return self.run.give_up(f"inspects a text made of a symbolic number ({name})")

    return give_up


_HARMLESS = frozenset(
    [
        "__add__",
        "__bool__",
        "__class__",
        "__dir__",
        "__getattribute__",
        "__init__",
        "__init_subclass__",
        "__new__",
        "__radd__",
        "__reduce__",
        "__reduce_ex__",
        "__setattr__",
        "__delattr__",
        "__sizeof__",
        "__str__",
        "__subclasshook__",
        "__getstate__",
        "__doc__",
    ]
)
for _name in dir(str):
    if _name not in _HARMLESS:
        setattr(SymbolicText, _name, _inspecting(_name))
