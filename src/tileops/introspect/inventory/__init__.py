"""Inventories: what every op selects, written down so that it can be compared later.

Reading, writing and asking them needs neither torch nor the code that they describe; they are
made by `tileops.introspect.collection`.
"""

from tileops.introspect.inventory._files import (
    encode,
    folders_of,
    merged,
    read_folder,
    read_revision,
    shipped_folder,
    with_machines,
)
from tileops.introspect.inventory._model import (
    accepted_of,
    available_of,
    domain_record,
    formulas,
    machine_record,
    model_of,
    stand_in_table,
)
from tileops.introspect.inventory._record import (
    SCHEMA,
    AcceptedRecord,
    FactRecord,
    FamilyRecord,
    InterfaceRecord,
    KeyRecord,
    MachineRecord,
    OpRecord,
    provider,
)

__all__ = [
    "SCHEMA",
    "AcceptedRecord",
    "FactRecord",
    "FamilyRecord",
    "InterfaceRecord",
    "KeyRecord",
    "MachineRecord",
    "OpRecord",
    "accepted_of",
    "available_of",
    "domain_record",
    "encode",
    "folders_of",
    "formulas",
    "machine_record",
    "merged",
    "model_of",
    "provider",
    "read_folder",
    "read_revision",
    "shipped_folder",
    "stand_in_table",
    "with_machines",
]
