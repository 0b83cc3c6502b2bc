"""What ``tileops inventory`` is about: which ops, which of their keys, and which folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tileops.backend import REGISTRY
from tileops.cli._failure import LoadFailure, UsageFailure
from tileops.cli._imports import stdout_kept_clean
from tileops.cli._ops import chosen_ops
from tileops.errors import DispatchError, InventoryError
from tileops.introspect.collection import tables_with
from tileops.introspect.inventory import FamilyRecord, read_folder, shipped_folder
from tileops.ops.catalogue import ops_in
from tileops.ops.op import Op
from tileops.selection import Candidate, SelectionTable

__all__ = ["Subject"]


@dataclass(frozen=True)
class Subject:
    """The ops, and whose keys belong to their inventory.

    Attributes:
        ops: The ops by name: those named, else those that the modules provide, else all.
        folder: The folder of the files.
        modules: The modules whose keys are in it beside those of the ops' own repository.
        named: Whether the ops were named.
        stated: Whether the folder was.
    """

    ops: Mapping[str, type[Op]]
    folder: Path
    modules: tuple[str, ...] = ()
    named: bool = False
    stated: bool = False

    @classmethod
    def read(cls, ops: list[str], modules: list[str], folder: str | None) -> Subject:
        """Return the subject of a command line.

        Raises:
            UsageFailure: There is no such op, or the modules provide none and none is written.
            LoadFailure: A module cannot be imported, or a file holds no inventory.
        """
        with stdout_kept_clean():
            chosen = chosen_ops(ops, modules)
            place = shipped_folder() if folder is None else Path(folder)
            found = cls(chosen, place, tuple(modules), bool(ops), folder is not None)
            return found._provided() if modules and not ops else found

    @property
    def remedy(self) -> str:
        """The command that writes the inventory anew."""
        words = ["tileops", "inventory", *(self.ops if self.named else ())]
        words += [word for one in self.modules for word in ("--import", one)]
        words += ["--folder", str(self.folder)] if self.stated else []
        return shlex.join([*words, "--update"])

    def tables(self, op: type[Op]) -> Mapping[str, SelectionTable]:
        """Return the tables of an op with the keys that belong to the inventory."""
        return tables_with(op, self.holds)

    def holds(self, one: Candidate) -> bool:
        """Say whether a key that is not of the op's own repository is one of the modules'.

        A key without a distribution is there because the modules were imported.
        """
        if not self.modules:
            return False
        claimed = one.origin.distribution
        return claimed is None or claimed in _distributions(self.modules)

    def written(self) -> Mapping[str, FamilyRecord]:
        """Read the whole inventory; nothing where there is no folder yet.

        Raises:
            LoadFailure: A file holds no inventory, or the folder is none.
        """
        if not (self.folder.exists() or self.folder.is_symlink()):
            return {}
        try:
            return read_folder(self.folder)
        except InventoryError as error:
            remedy = f"restore the file, or remove it: {self.remedy} then writes it anew"
            if not self.folder.is_dir():
                remedy = "--folder names a folder of inventory files, or one that is to be made"
            raise LoadFailure(
                "the inventory cannot be read", cause=str(error), remedy=remedy
            ) from error

    def about(self, families: Mapping[str, FamilyRecord]) -> Mapping[str, FamilyRecord]:
        """Return what families say of the ops where these are named, else all of it."""
        if not self.named:
            return families
        return {name: _limited(one, self.ops) for name, one in families.items()}

    def with_written(self) -> Subject:
        """Return the subject with the ops that are written down, too, unless ops are named.

        An op whose last key of the modules is gone would otherwise not be missed.
        """
        if self.named or not self.modules:
            return self
        names = {op for family in self.written().values() for op in family.ops}
        with stdout_kept_clean():
            known = chosen_ops([], list(self.modules))
        return replace(self, ops={n: op for n, op in known.items() if n in names or n in self.ops})

    def _provided(self) -> Subject:
        own = {name for module in self.modules for name in ops_in(module)}
        ops = {name: op for name, op in self.ops.items() if name in own or self._adds_to(op)}
        if not ops and not (self.stated and self.written()):
            raise UsageFailure(
                f"{', '.join(self.modules)}: no op is defined there and no key is registered",
                remedy="name the OPS to list, or the module that registers the keys",
            )
        return replace(self, ops=ops)

    def _adds_to(self, op: type[Op]) -> bool:
        try:
            tables = op.selection_tables()
        except DispatchError:
            # Whether the modules broke it, the check will say.
            return True
        return any(
            one.origin != table.origin and self.holds(one)
            for table in tables.values()
            for one in table.candidates
        )


def _limited(family: FamilyRecord, ops: Iterable[str]) -> FamilyRecord:
    kept = {name: family.ops[name] for name in ops if name in family.ops}
    return msgspec.structs.replace(family, ops=kept)


def _distributions(modules: Iterable[str]) -> set[str | None]:
    """Return the claims of the installed backends that the modules belong to, or that to them."""
    return {
        one.distribution or f"entry point {one.name}"
        for one in REGISTRY.loaded
        for module in modules
        if _inside(one.value.partition(":")[0], module)
    }


def _inside(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
