"""The domain of an interface's calls: which machines, which values of each fact, which calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal

from tileops.introspect.formula._evaluate import evaluate
from tileops.introspect.formula._render import render, spell
from tileops.introspect.formula._term import (
    TRUE,
    Term,
    Value,
    all_of,
    any_of,
    member,
)

__all__ = ["DEVICE_FACTS", "Domain", "FactDomain", "Machine", "Values"]

_FEW: Final = 64
"""A fact with at most this many values can be taken value by value."""

Values = Mapping[str, Value]
"""A call in canonical form: every fact's value by name, the device's facts included."""

DEVICE_FACTS: Final = ("device_type", "arch", "sm_count", "smem_budget")


@dataclass(frozen=True)
class FactDomain:
    """The values that one fact can have.

    Attributes:
        name: The field of the call spec.
        kind: Whether it is an integer, a real number or one of finitely many *values*.
        default: The value that a call has unless it states another.
        required: Whether the default is no possible value.
        low: The least number, None for no bound.
        high: The greatest, likewise.
        values: The choices, without None; for a number, the only values it has where that is
            finitely many.
        optional: Whether None is a value too.
        hidden: Whether it stands for something unknown rather than for a fact.
        listing: What to say instead of the *values*, as in ``any dtype``; empty to list them.
    """

    name: str
    kind: Literal["int", "real", "choice"]
    default: Value = None
    required: bool = False
    low: int | Fraction | None = None
    high: int | Fraction | None = None
    values: tuple[Value, ...] = ()
    optional: bool = False
    hidden: bool = False
    listing: str = field(default="", compare=False)

    @property
    def choices(self) -> tuple[Value, ...]:
        """The *values*, the default first, None last."""
        values = (*self.values, None) if self.optional else self.values
        if self.default in values and not self.required:
            return (self.default, *(one for one in values if one != self.default))
        return values

    def text(self) -> str:
        """Say which values there are, as in ``n 1 to 4096`` or ``dtype bfloat16, float16``."""
        if self.listing:
            shown = self.listing
        elif self.values:
            shown = ", ".join(spell(value) for value in self.choices)
        elif self.low is None and self.high is None:
            shown = "any number"
        elif self.high is None:
            shown = f"{spell(self.low)} or more"
        else:
            low = "up" if self.low is None else f"{spell(self.low)}"
            shown = f"{low} to {spell(self.high)}"
        listed = self.values and not self.listing
        none = " or none" if self.optional and not listed else ""
        return f"{self.name} {shown}{none}"

    @property
    def countable(self) -> tuple[Value, ...]:
        """Every value of the fact, where these are few enough to be taken one by one."""
        if self.kind == "choice" or 0 < len(self.values) <= _FEW:
            return self.choices
        if self.kind != "int" or self.values or self.low is None or self.high is None:
            return ()
        numbers = range(int(self.low), int(self.high) + 1)[: _FEW + 1]
        if len(numbers) > _FEW:
            return ()
        return (*numbers, None) if self.optional else tuple(numbers)

    def holds(self, value: Value) -> bool:
        """Return whether *value* is in the domain."""
        if value is None:
            return self.optional
        if self.values:
            return value in self.values
        if isinstance(value, (bool, str)):
            return False
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Machine:
    """A device that calls may run on; *board* is its name on the command line, if it is known."""

    device_type: str
    arch: int | None = None
    sm_count: int | None = None
    smem_budget: int | None = None
    board: str | None = None

    def values(self) -> dict[str, Value]:
        """Return its facts by name."""
        return {name: getattr(self, name) for name in DEVICE_FACTS}

    def condition(self) -> Term:
        """Return what holds of the calls on such a machine."""
        return all_of(member(name, [value]) for name, value in self.values().items())

    def place(self) -> str:
        """Name the architecture, or the device type where there is none: ``SM90``, ``cpu``."""
        if self.arch is None:
            return self.device_type
        return f"SM{self.arch}" if self.device_type == "cuda" else f"{self.device_type} {self.arch}"


@dataclass(frozen=True)
class Domain:
    """The calls that an interface may get.

    Attributes:
        machines: The devices they run on.
        facts: The call spec's own facts.
        possible: What holds of every possible call, beside the ranges.
        unmodelled: Why *possible* is not known exactly, or None; it then admits more calls.
    """

    machines: tuple[Machine, ...]
    facts: tuple[FactDomain, ...]
    possible: Term = TRUE
    unmodelled: str | None = None

    @cached_property
    def all_facts(self) -> tuple[FactDomain, ...]:
        """The device's facts, then the call's own."""
        return (*self._device_facts(), *self.facts)

    def fact(self, name: str) -> FactDomain | None:
        """Return the domain of one fact, or None when there is no such fact."""
        return next((one for one in self.all_facts if one.name == name), None)

    @cached_property
    def axiom(self) -> Term:
        """Return what holds of every call, beside the ranges of its facts."""
        machines = dict.fromkeys(replace(one, board=None) for one in self.machines)
        return all_of((any_of(one.condition() for one in machines), self.possible))

    def holds(self, values: Values) -> bool:
        """Return whether a call is in the domain."""
        shown = [one for one in self.all_facts if not one.hidden]
        return all(one.holds(values[one.name]) for one in shown) and bool(
            evaluate(self.axiom, values)
        )

    def facts_text(self) -> str:
        """Say which values the facts have, each by itself."""
        return "; ".join(one.text() for one in self.facts if not one.hidden) or "no facts"

    def text(self) -> str:
        """Say which calls are meant."""
        said = self.facts_text()
        return said if self.possible == TRUE else f"{said}; where {render(self.possible)}"

    def places(self) -> dict[str, Term]:
        """Return the condition of each architecture (or device type without any), by its name."""
        grouped: dict[str, list[Machine]] = {}
        for machine in self.machines:
            grouped.setdefault(machine.place(), []).append(machine)
        return {name: any_of(m.condition() for m in group) for name, group in grouped.items()}

    def board_of(self, values: Values) -> str | None:
        """Return the known board that a call runs on; the catalogue's first of several."""
        return next(
            (m.board for m in self.machines if m.board and m.values().items() <= values.items()),
            None,
        )

    def with_machines(self, *machines: Machine) -> Domain:
        """Return the domain with further machines."""
        return replace(self, machines=(*self.machines, *machines))

    def with_facts(self, *facts: FactDomain) -> Domain:
        """Return the domain with further facts."""
        return replace(self, facts=(*self.facts, *facts))

    def _device_facts(self) -> tuple[FactDomain, ...]:
        types = tuple(dict.fromkeys(one.device_type for one in self.machines))
        first = self.machines[0] if self.machines else Machine("")
        derived = [FactDomain("device_type", "choice", default=first.device_type, values=types)]
        for name in DEVICE_FACTS[1:]:
            values = dict.fromkeys(getattr(one, name) for one in self.machines)
            numbers = tuple(sorted(value for value in values if value is not None))
            default = getattr(first, name)
            derived.append(
                FactDomain(
                    name,
                    "int",
                    default=default,
                    low=numbers[0] if numbers else 0,
                    high=numbers[-1] if numbers else 0,
                    values=numbers,
                    optional=None in values,
                )
            )
        return tuple(derived)
