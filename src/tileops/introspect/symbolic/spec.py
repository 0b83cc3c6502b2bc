"""Call specs as domains: which values each fact has, and calls to and from canonical form."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import torch

from tileops.call_spec import CallSpec, Fact, facts_declared
from tileops.device import BOARDS, READERS, DeviceFacts, facts_of
from tileops.introspect.formula import DEVICE_FACTS, FactDomain, Machine, Value, Values

__all__ = ["SpecForm", "form_of", "known_boards", "machines_of"]


@dataclass(frozen=True)
class SpecForm:
    """How the calls of a call spec are written in canonical form.

    Attributes:
        spec: The call spec.
        facts: The domain of each fact that can be modelled.
        unmodelled: Why a fact cannot, by its name; such a fact keeps its default.
        spellings: The real values of each fact of finite kind, by their canonical form.
    """

    spec: type[CallSpec]
    facts: tuple[FactDomain, ...]
    unmodelled: Mapping[str, str]
    spellings: Mapping[str, Mapping[Value, Any]] = field(repr=False)

    def decode(self, name: str, value: Value) -> Any:
        """Return the real value of a fact."""
        spelling = self.spellings.get(name)
        if spelling is not None and value is not None:
            return spelling[value]
        return float(value) if isinstance(value, Fraction) else value

    def encode(self, name: str, value: Any) -> Value:
        """Return the canonical form of a fact's value."""
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        if isinstance(value, enum.Enum) and name in self.spellings:
            return value.name
        return Fraction(value) if isinstance(value, float) else value

    def call(self, values: Values) -> CallSpec:
        """Return the call with these facts; device facts are stated, but for those of this CPU."""
        facts = {one.name: self.decode(one.name, values[one.name]) for one in self.facts}
        device_type = values["device_type"]
        stated = {name: values[name] for name in DEVICE_FACTS[1:] if values[name] is not None}
        device = None if device_type == "cuda" and stated else torch.device(str(device_type))
        if device is not None and device.type == "cpu" and stated == _facts_here(device):
            stated = {}
        arguments: dict[str, Any] = {**facts, **stated}
        return self.spec(device=device, **arguments)

    def values(self, call: CallSpec) -> dict[str, Value]:
        """Return the facts of a call in canonical form."""
        device = call.device_facts()
        found: dict[str, Value] = {"device_type": call.device_type}
        found |= {name: getattr(device, name) for name in DEVICE_FACTS[1:]}
        for one in self.facts:
            found[one.name] = self.encode(one.name, getattr(call, one.name))
        return found


def _facts_here(device: torch.device) -> dict[str, int]:
    facts = facts_of(device)
    found = {name: getattr(facts, name) for name in DEVICE_FACTS[1:]}
    return {name: value for name, value in found.items() if value is not None}


def form_of(spec: type[CallSpec]) -> SpecForm:
    """Return how the calls of *spec* are written."""
    facts: list[FactDomain] = []
    unmodelled: dict[str, str] = {}
    spellings: dict[str, Mapping[Value, Any]] = {}
    for one in facts_declared(spec):
        choices = _choices(one)
        if choices is not None:
            spellings[one.name] = choices
            default = next((c for c, real in choices.items() if real == one.default), None)
            facts.append(_choice(one, tuple(choices), default))
        elif one.kind in (int, float):
            facts.append(_numeric(one))
        else:
            kind = getattr(one.kind, "__name__", str(one.kind))
            unmodelled[one.name] = f"whose values are not declared to be finitely many ({kind})"
    return SpecForm(spec, tuple(facts), unmodelled, spellings)


def _choices(one: Fact) -> Mapping[Value, Any] | None:
    kind: Any = one.kind
    if kind is bool:
        return {False: False, True: True}
    if kind is torch.dtype:
        return _dtypes()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {member.name: member for member in kind}
    if typing.get_origin(kind) is typing.Literal:
        return {value: value for value in typing.get_args(kind)}
    return None


@cache
def _dtypes() -> Mapping[Value, torch.dtype]:
    known = {one for one in vars(torch).values() if isinstance(one, torch.dtype)}
    return {str(one).removeprefix("torch."): one for one in sorted(known, key=str)}


def _choice(one: Fact, values: tuple[Value, ...], default: Value) -> FactDomain:
    required = default is None and not (one.optional and one.default is None)
    listing = "any dtype" if one.kind is torch.dtype else ""
    return FactDomain(
        one.name,
        "choice",
        default,
        required,
        values=values,
        optional=one.optional,
        listing=listing,
    )


def _numeric(one: Fact) -> FactDomain:
    exact: Any = Fraction if one.kind is float else int
    low = None if one.range is None else exact(one.range.low)
    high = None if one.range is None or one.range.high is None else exact(one.range.high)
    numeric = isinstance(one.default, (int, float))
    return FactDomain(
        one.name,
        "real" if one.kind is float else "int",
        default=exact(one.default) if numeric else None,
        required=one.required or not (numeric or one.optional),
        low=low,
        high=high,
        optional=one.optional,
    )


def machines_of(implementations: Iterable[Any]) -> tuple[Machine, ...]:
    """Return the machines that calls of these implementations may run on.

    For CUDA these are the known boards, and one stand-in for every further architecture that an
    implementation names. A device type that torch does not know has no calls.
    """
    given = tuple(implementations)
    types = {device_type for one in given for device_type in one.devices}
    found: list[Machine] = []
    for device_type in sorted(types, key=lambda name: (name != "cuda", name)):
        named = {
            arch
            for one in given
            if device_type in one.devices
            for arch in one.supported_archs or ()
        }
        if device_type == "cuda":
            found += _boards(sorted(named))
        elif _is_known(device_type):
            found += _others(device_type, sorted(named))
    return tuple(found)


def known_boards() -> tuple[Machine, ...]:
    """Return the boards of the catalogue by architecture; of one, in the catalogue's order."""
    return tuple(
        Machine("cuda", b.facts.arch, b.facts.sm_count, b.facts.smem_budget, b.name)
        for b in sorted(BOARDS, key=lambda board: board.facts.arch or 0)
    )


def _boards(named: Sequence[int]) -> list[Machine]:
    known = known_boards()
    archs = {one.arch for one in known}
    return [*known] + [_stand_in(arch, known) for arch in named if arch not in archs]


def _stand_in(arch: int, known: Sequence[Machine]) -> Machine:
    """Give an architecture without a known board the facts of the board below it."""
    below = [one for one in known if one.arch is not None and one.arch < arch] or known[:1]
    return Machine("cuda", arch, below[-1].sm_count, below[-1].smem_budget)


def _others(device_type: str, named: Sequence[int]) -> list[Machine]:
    if device_type not in READERS.device_types:
        return [Machine(device_type)]
    facts = _read(device_type)
    archs = sorted({*named, *([] if facts.arch is None else [facts.arch])})
    return [
        Machine(device_type, arch, facts.sm_count, facts.smem_budget) for arch in archs or (None,)
    ]


def _read(device_type: str) -> DeviceFacts:
    """Ask the reader of a device type about its first device; one that is not here has none."""
    try:
        return facts_of(torch.device(device_type, 0))
    except (RuntimeError, ValueError):
        return DeviceFacts()


def _is_known(device_type: str) -> bool:
    try:
        torch.device(device_type)
    except RuntimeError:
        return False
    return True
