"""Dtypes by name, so that the manifest needs no torch, and the dtype a declaration asks for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tileops.manifest._cases import Case, cases, choose, narrowed
from tileops.manifest._form import FormError, nearest, parse
from tileops.manifest._itemsize import ITEMSIZE
from tileops.manifest._scope import Scope


@dataclass(frozen=True)
class DtypeRule:
    """The dtypes that a tensor may have.

    One name, several literals joined by ``|``, or ``X if condition else Y`` over these. A name is
    a dtype (``float32``), a dtype variable (``T``) or a parameter of type dtype.

    Attributes:
        text: The rule as written.
        cases: Per case, the names that are allowed.
    """

    text: str
    cases: tuple[Case[tuple[str, ...]], ...]

    @classmethod
    def parse(cls, text: str) -> DtypeRule:
        """Read a rule; raise FormError where it is none."""
        return cls(text, cases(parse(text), _names))

    def choose(self, scope: Scope) -> tuple[str, ...]:
        """Return the names allowed in this scope."""
        return choose(self.cases, scope)

    def narrowed(self, scope: Scope) -> DtypeRule:
        """Return the same with the conditions evaluated that the scope decides."""
        return DtypeRule(self.text, narrowed(self.cases, scope))

    @property
    def names(self) -> frozenset[str]:
        """Every name in any case."""
        return frozenset(name for case in self.cases for name in case.value)

    def __str__(self) -> str:
        return self.text


def check_dtype(name: str, also: Mapping[str, object] | None = None) -> None:
    """Raise FormError unless the name is a dtype, or one of the names that also count."""
    known = [*ITEMSIZE, *(also or ())]
    if name not in known:
        raise FormError(f"unknown dtype {name!r}{nearest(name, known)}")


def _names(node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            names = _names(left) + _names(right)
            for name in names:
                check_dtype(name)
            return names
    raise FormError(f"{ast.unparse(node)!r} is no dtype; write a name, or dtypes joined by |")
