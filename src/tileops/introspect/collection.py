"""Making inventories: the ops as they are now, explored and written down."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tileops import manifest
from tileops.call_spec import CallSpec
from tileops.device import BOARDS
from tileops.introspect.boundaries import outcome_name
from tileops.introspect.formula import FALSE
from tileops.introspect.inventory import (
    AcceptedRecord,
    FamilyRecord,
    InterfaceRecord,
    KeyRecord,
    OpRecord,
    available_of,
    domain_record,
    formulas,
    machine_record,
    provider,
)
from tileops.introspect.symbolic.exploration import Explored, explore
from tileops.introspect.symbolic.spec import known_boards
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops._signature import workload_inputs, workload_params
from tileops.ops.op import Op
from tileops.selection import Candidate, SelectionTable, select

__all__ = [
    "all_tables",
    "explore_op",
    "families",
    "family_of",
    "interface_record",
    "tables_with",
]

Accepted = Mapping[tuple[str, str], list[AcceptedRecord]]
"""The calls that may stay unserved, by op and interface."""


Tables = Callable[[type[Op]], Mapping[str, SelectionTable]]
"""How the tables of an op are had: with every key, or with some."""


def all_tables(op: type[Op]) -> Mapping[str, SelectionTable]:
    """Return the tables of an op with every key, the registered ones included."""
    return op.selection_tables()


def tables_with(op: type[Op], holds: Callable[[Candidate], bool]) -> Mapping[str, SelectionTable]:
    """Return the tables of an op with the keys of its own repository, and of others some.

    Args:
        op: The op.
        holds: Says of a key that is not of the op's own repository whether it belongs to them.
    """
    return {
        name: SelectionTable(
            table.op,
            name,
            [one for one in table.candidates if one.origin == table.origin or holds(one)],
            table.origin,
        )
        for name, table in op.selection_tables().items()
    }


def families(
    ops: Iterable[type[Op]], accepted: Accepted, tables: Tables = all_tables
) -> Mapping[str, FamilyRecord]:
    """Write down ops, grouped by family.

    Args:
        ops: The ops.
        accepted: The calls that may stay unserved.
        tables: How their tables are had.

    Raises:
        DispatchError: An op cannot be constructed; one that holds kernels and states no interface
            is told to declare interfaces instead.
    """
    found: dict[str, dict[str, OpRecord]] = {}
    for op in ops:
        found.setdefault(family_of(op), {})[op.__name__] = _op_record(op, accepted, tables)
    boards = [machine_record(one) for one in known_boards()]
    return {
        family: FamilyRecord(family=family, machines=boards, ops=dict(sorted(records.items())))
        for family, records in sorted(found.items())
    }


def family_of(op: type[Op]) -> str:
    """Return the name of the package that an op's module lies in."""
    parts = op.__module__.split(".")
    return parts[-2] if len(parts) > 1 else parts[-1]


def explore_op(op: type[Op], tables: Tables = all_tables) -> Mapping[str, Explored]:
    """Explore every interface of an op that has keys.

    Raises:
        DispatchError: The op cannot be constructed.
    """
    return {
        name: explore(table, op.interfaces[name].calls())
        for name, table in tables(op).items()
        if table.candidates
    }


def _op_record(op: type[Op], accepted: Accepted, tables: Tables) -> OpRecord:
    workloads = _workloads(op, tables(op))
    return OpRecord(
        op.__module__,
        {
            name: _without_known_boards(
                interface_record(
                    op, found, accepted.get((op.__name__, name), []), workloads.get(name, {})
                )
            )
            for name, found in explore_op(op, tables).items()
        },
    )


def _without_known_boards(record: InterfaceRecord) -> InterfaceRecord:
    """Leave out the machines where they are those that the family states."""
    usual = record.machines == [machine_record(one) for one in known_boards()]
    return msgspec.structs.replace(record, machines=None) if usual else record


def interface_record(
    op: type[Op],
    explored: Explored,
    accepted: list[AcceptedRecord],
    workloads: dict[str, dict[str, str]],
) -> InterfaceRecord:
    """Write down one interface."""
    interface = op.interfaces[explored.table.interface]
    return InterfaceRecord(
        interface=_named(interface),
        request=_named(interface.request),
        keys={
            one.key: _key_record(one, explored, interface.calls())
            for one in explored.table.candidates
        },
        accepted=accepted,
        workloads=workloads,
        **domain_record(explored.model.domain),
    )


def _key_record(candidate: Candidate, explored: Explored, spec: type[CallSpec]) -> KeyRecord:
    kernel: Any = candidate.implementation
    model = explored.model.implementation(candidate.key)
    location = candidate.location()
    return KeyRecord(
        kernel=_named(kernel),
        file="" if location is None else location.file,
        distribution=provider(candidate.origin.distribution),
        module=candidate.origin.module,
        devices=sorted(kernel.devices),
        archs=None if kernel.supported_archs is None else sorted(kernel.supported_archs),
        general=kernel.general,
        preferred_over=sorted(kernel.preferred_over),
        source=None if model.unknown == FALSE else _source_hash(kernel, spec),
        **formulas(model, available_of(kernel.devices, kernel.supported_archs)),
    )


def _named(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


_CONTRACT = (Kernel, KernelInterface, CallSpec)


def _source_hash(*kinds: type) -> str:
    """Hash the files that say what classes do: code that is not modelled is compared by them.

    What every class has from tileops and from the standard library decides nothing by itself, and
    would make a release of either look like a change.
    """
    files = {
        inspect.getsourcefile(one)
        for kind in kinds
        for one in kind.__mro__
        if one not in _CONTRACT and one.__module__ not in sys.stdlib_module_names
    }
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(name for name in files if name is not None):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


def _workloads(
    op: type[Op], tables: Mapping[str, SelectionTable]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return what each workload of the manifest comes to on the known boards, by interface."""
    entry = manifest.load().get(op.__name__)
    if entry is None:
        return {}
    found: dict[str, dict[str, dict[str, str]]] = {}
    for workload in entry.workloads:
        made = op(**workload_params(entry.signature, workload))
        inputs = workload_inputs(entry.signature, workload, "cuda")
        for interface, call in made.requests(*inputs):
            named = found.setdefault(interface, {})
            same = sum(name.partition("#")[0] == workload.name for name in named)
            name = f"{workload.name}#{same + 1}" if same else workload.name
            named[name] = _outcomes(tables[interface], call)
    return found


def _outcomes(table: SelectionTable, call: CallSpec) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for board in BOARDS:
        facts = board.facts
        there = call.with_device(
            None, arch=facts.arch, sm_count=facts.sm_count, smem_budget=facts.smem_budget
        )
        found.setdefault(outcome_name(select(table, there)), []).append(board.name)
    return {outcome: " ".join(boards) for outcome, boards in found.items()}
