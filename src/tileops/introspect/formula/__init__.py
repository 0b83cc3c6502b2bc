"""Formulas over the facts of a call: terms, their domain, and an interface made of them.

Neither torch nor z3 is needed: what is written in an inventory can be read, evaluated and
rendered from here alone.
"""

from tileops.introspect.formula._domain import DEVICE_FACTS, Domain, FactDomain, Machine, Values
from tileops.introspect.formula._evaluate import compiled, evaluate
from tileops.introspect.formula._interface import (
    HIDDEN,
    ImplementationModel,
    InterfaceModel,
    Unmodelled,
)
from tileops.introspect.formula._outline import outline
from tileops.introspect.formula._render import exact, render, spell
from tileops.introspect.formula._term import (
    FALSE,
    TRUE,
    Term,
    Value,
    all_of,
    any_of,
    compare,
    const,
    fact,
    is_none,
    member,
    negate,
    number,
    power_of_two,
    where,
    without_shared_end,
)
from tileops.introspect.formula._text import FormulaSyntaxError, read, write
from tileops.introspect.formula._transform import atoms, facts_of, restricted, substituted

__all__ = [
    "DEVICE_FACTS",
    "FALSE",
    "HIDDEN",
    "TRUE",
    "Domain",
    "FactDomain",
    "FormulaSyntaxError",
    "ImplementationModel",
    "InterfaceModel",
    "Machine",
    "Term",
    "Unmodelled",
    "Value",
    "Values",
    "all_of",
    "any_of",
    "atoms",
    "compare",
    "compiled",
    "const",
    "evaluate",
    "exact",
    "fact",
    "facts_of",
    "is_none",
    "member",
    "negate",
    "number",
    "outline",
    "power_of_two",
    "read",
    "render",
    "restricted",
    "spell",
    "substituted",
    "where",
    "without_shared_end",
    "write",
]
