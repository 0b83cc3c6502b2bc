"""The selection tables of an op class: its own kernels, then the registered ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tileops.errors import KeyReuseError
from tileops.ops._contract import check_classes, check_tables, served
from tileops.selection import IN_TREE, Candidate, Origin, SelectionTable

if TYPE_CHECKING:
    from tileops.backend import Registry
    from tileops.ops.op import Op

__all__ = ["tables_of"]


def tables_of(op: type[Op], registry: Registry) -> Mapping[str, SelectionTable]:
    """Build and check the table of every interface of *op*, in the order it declares them.

    Raises:
        DispatchError: A class, a key or a preference breaks the contract.
    """
    name = op.__name__
    check_tables(name, {"kernel_types": op.kernel_types, "interfaces": op.interfaces})
    candidates: dict[str, tuple[Any, Origin]] = {
        key: (one, origin_of(one)) for key, one in op.kernel_types.items()
    }
    for registration in registry.kernels_of(name):
        if registration.key in candidates:
            raise KeyReuseError(op=name, keys=registration.key, origin=registration.claimant)
        candidates[registration.key] = (registration.kernel_type, registration.origin)
    check_classes(name, op.interfaces, {key: one for key, (one, _) in candidates.items()})
    return {
        interface: SelectionTable(
            name,
            interface,
            (
                Candidate(key, kernel_type, origin)
                for key, (kernel_type, origin) in candidates.items()
                if interface in served(kernel_type, op.interfaces)
            ),
            origin_of(op),
        )
        for interface in op.interfaces
    }


def origin_of(kind: object) -> Origin:
    """Say what a fresh process must import to have a class that the op itself declares."""
    module = getattr(kind, "__module__", "")
    in_tree = module == "tileops" or module.startswith("tileops.")
    local = "<locals>" in getattr(kind, "__qualname__", "")
    return IN_TREE if in_tree else Origin(module=module, local=local)
