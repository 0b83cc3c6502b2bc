"""Records as formulas and back: what an inventory says can be asked without the code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from tileops.introspect.formula import (
    Domain,
    FactDomain,
    ImplementationModel,
    InterfaceModel,
    Machine,
    Term,
    Unmodelled,
    Value,
    all_of,
    member,
    read,
    write,
)
from tileops.introspect.inventory._record import (
    FactRecord,
    InterfaceRecord,
    KeyRecord,
    MachineRecord,
)
from tileops.selection import Candidate, SelectionTable

__all__ = [
    "accepted_of",
    "available_of",
    "domain_record",
    "formulas",
    "machine_record",
    "model_of",
    "stand_in_table",
]


def model_of(op: str, interface: str, record: InterfaceRecord) -> InterfaceModel:
    """Return the formulas of a record."""
    table = stand_in_table(op, interface, record)
    return InterfaceModel(
        op,
        interface,
        Domain(
            tuple(_machine(one) for one in record.machines or ()),
            tuple(_fact(one) for one in record.facts),
            read(record.possible),
            record.unmodelled,
        ),
        tuple(_implementation(key, one) for key, one in record.keys.items()),
        {
            key: frozenset(other for other in record.keys if table.precedence.edge(key, other))
            for key in record.keys
        },
    )


def stand_in_table(op: str, interface: str, record: InterfaceRecord) -> SelectionTable:
    """Return a table with the declarations of a record, to close its preferences.

    Raises:
        DispatchError: The preferences contradict each other.
    """
    return SelectionTable(op, interface, [_stand_in(key, one) for key, one in record.keys.items()])


def accepted_of(record: InterfaceRecord) -> Mapping[str, Term]:
    """Return the calls that may stay unserved, by the reason."""
    return {
        f"{one.because} [{place}]": read(one.where) for place, one in enumerate(record.accepted)
    }


def formulas(model: ImplementationModel, available: Sequence[Term]) -> dict[str, Any]:
    """Return the fields of a key's record that its formulas fill.

    Args:
        model: The key's formulas.
        available: What the record says already by devices and architectures.
    """
    return {
        "serves": write(_without(model.serves, available)),
        "raises": write(_without(model.raises, available)),
        "unknown": write(_without(model.unknown, available)),
        "unmodelled": [str(one) for one in model.unmodelled],
        "assumptions": list(model.assumptions),
    }


def _without(term: Term, known: Sequence[Term]) -> Term:
    parts = term.args if term.op == "and" else (term,)
    return all_of(one for one in parts if one not in known)


def available_of(devices: Collection[str], archs: Collection[int] | None) -> list[Term]:
    """Return where an implementation with these declarations is available."""
    found = [member("device_type", sorted(devices))]
    return found if archs is None else [*found, member("arch", sorted(archs))]


def domain_record(domain: Domain) -> dict[str, Any]:
    """Return the fields of an interface's record that its domain fills."""
    return {
        "machines": [machine_record(one) for one in domain.machines],
        "facts": [_fact_record(one) for one in domain.facts],
        "possible": write(domain.possible),
        "unmodelled": domain.unmodelled,
    }


def machine_record(one: Machine) -> MachineRecord:
    """Write down a machine."""
    return MachineRecord(one.device_type, one.arch, one.sm_count, one.smem_budget, one.board)


def _stand_in(key: str, record: KeyRecord) -> Candidate:
    declared = {
        "devices": frozenset(record.devices),
        "supported_archs": record.archs,
        "general": record.general,
        "preferred_over": frozenset(record.preferred_over),
        "refusal": classmethod(lambda cls, call: None),
    }
    kind = type(record.kernel.rpartition(":")[2], (), declared)
    return Candidate(key, cast(Any, kind))


def _implementation(key: str, record: KeyRecord) -> ImplementationModel:
    # Its formulas leave out what the declarations say, and what held of every known machine.
    available = available_of(record.devices, record.archs)
    return ImplementationModel(
        key,
        serves=all_of([*available, read(record.serves)]),
        raises=all_of([*available, read(record.raises)]),
        unknown=all_of([*available, read(record.unknown)]),
        unmodelled=tuple(Unmodelled(one, "") for one in record.unmodelled),
        assumptions=tuple(record.assumptions),
    )


def _machine(record: MachineRecord) -> Machine:
    return Machine(
        record.device_type, record.arch, record.sm_count, record.smem_budget, record.board
    )


def _fact(record: FactRecord) -> FactDomain:
    def exact(value: Any) -> Any:
        return Fraction(value) if record.kind == "real" and value is not None else value

    return FactDomain(
        record.name,
        cast(Any, record.kind),
        exact(record.default),
        record.required,
        exact(record.low),
        exact(record.high),
        tuple(record.values),
        record.optional,
    )


def _fact_record(one: FactDomain) -> FactRecord:
    def plain(value: Value) -> Any:
        return float(value) if isinstance(value, Fraction) else value

    return FactRecord(
        one.name,
        one.kind,
        plain(one.default),
        one.required,
        plain(one.low),
        plain(one.high),
        list(one.values),
        one.optional,
    )
