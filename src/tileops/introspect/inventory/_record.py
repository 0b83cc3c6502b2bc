"""The records of an inventory file, one file per family."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

__all__ = [
    "SCHEMA",
    "AcceptedRecord",
    "FactRecord",
    "FamilyRecord",
    "InterfaceRecord",
    "KeyRecord",
    "MachineRecord",
    "OpRecord",
    "provider",
]

SCHEMA = "tileops.inventory/1.0"
"""Name and version of the form; a reader refuses another major version."""


_VERSION: Final = re.compile(r" \d\S*$")


def provider(distribution: str | None) -> str | None:
    """Return the name of a distribution without the version that may follow it."""
    return distribution and _VERSION.sub("", distribution)


class MachineRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A machine that calls may run on; a known board has a name."""

    device_type: str
    arch: int | None = None
    sm_count: int | None = None
    smem_budget: int | None = None
    board: str | None = None


class FactRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values that a fact can have; a real number is written as the float it is."""

    name: str
    kind: str
    default: Any = None
    required: bool = False
    low: float | int | None = None
    high: float | int | None = None
    values: list[Any] = []
    optional: bool = False


class KeyRecord(msgspec.Struct, frozen=True, omit_defaults=True, rename={"kernel": "class"}):
    """A key: its class, what it declares, and when it applies as formulas.

    Attributes:
        kernel: ``module:qualified name``.
        file: The file of the class, relative to the root it is imported from.
        distribution: The distribution that registers it, without its version: a release alone
            changes no selection. None in-tree.
        module: What must be imported to have it; None where it is had without.
        devices: The device types it runs on.
        archs: The architectures; None for all.
        general: Whether it is the general one.
        preferred_over: The keys it states to be preferred over.
        serves: Where its refusal is known to return None, given that it is available.
        raises: Where it raises.
        unknown: Where it does what no formula says.
        unmodelled: What that is.
        assumptions: What the formulas take for granted.
        source: A hash of the code, where some of it is not modelled.
    """

    kernel: str
    file: str
    devices: list[str]
    serves: str
    archs: list[int] | None = None
    distribution: str | None = None
    module: str | None = None
    general: bool = False
    preferred_over: list[str] = []
    raises: str = "false"
    unknown: str = "false"
    unmodelled: list[str] = []
    assumptions: list[str] = []
    source: str | None = None


class AcceptedRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Possible calls that may stay unserved, and why."""

    where: str
    because: str = "unserved when the inventory was written"


class InterfaceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A kernel interface of an op.

    Attributes:
        interface: The interface's class, ``module:qualified name``.
        request: Its call spec.
        machines: The machines that its calls may run on; None for those of the family.
        facts: The call spec's own facts.
        possible: What holds of every possible call.
        unmodelled: Why that is not known exactly.
        keys: The keys, in declaration order.
        accepted: The calls that may stay unserved.
        workloads: What each workload of the manifest comes to: the boards of each outcome, their
            names separated by blanks.
    """

    interface: str
    request: str
    facts: list[FactRecord]
    possible: str
    keys: dict[str, KeyRecord]
    machines: list[MachineRecord] | None = None
    unmodelled: str | None = None
    accepted: list[AcceptedRecord] = []
    workloads: dict[str, dict[str, str]] = {}


class OpRecord(msgspec.Struct, frozen=True):
    """An op: its module and its interfaces."""

    module: str
    interfaces: dict[str, InterfaceRecord]

    @property
    def imports(self) -> tuple[str, ...]:
        """What must be imported to have the op: nothing for one of tileops itself."""
        return () if self.module.partition(".")[0] == "tileops" else (self.module,)


class FamilyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The ops of a family, and the machines of every interface that states no others."""

    schema: str = SCHEMA
    family: str
    machines: list[MachineRecord]
    ops: dict[str, OpRecord]
