"""Inventories as files: written in one form, read from a folder or from a revision of git."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tileops.errors import InventoryError, MissingInventoryError
from tileops.introspect._repeated_names import repeated_name
from tileops.introspect.formula import FormulaSyntaxError
from tileops.introspect.inventory._check import RecordFault, check_record
from tileops.introspect.inventory._record import SCHEMA, FamilyRecord, InterfaceRecord

__all__ = [
    "encode",
    "folders_of",
    "merged",
    "read_folder",
    "read_revision",
    "shipped_folder",
    "with_machines",
]


_WIDTH: Final = 100


def encode(family: FamilyRecord) -> str:
    """Return the text of a family's file."""
    return _laid_out(msgspec.to_builtins(family), 0) + "\n"


def _laid_out(value: Any, depth: int) -> str:
    """Write mappings over several lines, but short ones and everything in lists on one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(flat) + depth < _WIDTH:
        return flat
    margin = "\n" + " " * (depth + 1)
    if isinstance(value, list):
        items = [_laid_out(one, depth + 1) for one in value]
        return f"[{margin}{f',{margin}'.join(items)}{margin[:-1]}]"
    parts = [f"{json.dumps(name)}: {_laid_out(one, depth + 1)}" for name, one in value.items()]
    return f"{{{margin}{f',{margin}'.join(parts)}{margin[:-1]}}}"


def shipped_folder() -> Path:
    """Return the folder of the inventory that the package ships."""
    import tileops

    return Path(next(iter(tileops.__path__))) / "inventory"


def read_folder(folder: Path) -> Mapping[str, FamilyRecord]:
    """Return the families of a folder by name.

    Raises:
        InventoryError: There is no such folder, or a file holds no inventory.
    """
    if not folder.is_dir():
        problem = "is no folder" if folder.exists() else "there is no such folder"
        raise InventoryError(source=str(folder), problem=problem)
    return _families((file.name, _content(file)) for file in sorted(folder.glob("*.json")))


def _content(file: Path) -> bytes:
    if file.exists() and not file.is_file():
        raise InventoryError(source=str(file), problem="is no regular file")
    try:
        return file.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InventoryError(source=str(file), problem=problem) from error


def read_revision(revision: str, folder: str, repository: Path) -> Mapping[str, FamilyRecord]:
    """Return the families of a folder as they are in a revision of a git repository.

    Raises:
        MissingInventoryError: The revision has no file of an inventory in the folder.
        InventoryError: git does not know the revision, or a file holds no inventory.
    """
    try:
        _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}")
    except InventoryError as error:
        # Quiet where the revision is what is wrong, and only there.
        said = error.fields["problem"]
        problem = _UNKNOWN if said == _SILENT else said
        raise InventoryError(source=revision, problem=problem) from error
    try:
        listed = _git(repository, "ls-tree", "--name-only", f"{revision}:{folder}").decode()
    except InventoryError as error:
        problem = f"there is no folder {folder}"
        raise MissingInventoryError(source=revision, problem=problem) from error
    names = [name for name in sorted(listed.splitlines()) if name.endswith(".json")]
    if not names:
        # Two revisions without any would pass for the same.
        source = f"{revision}:{folder}"
        raise MissingInventoryError(source=source, problem="there is no file of one")
    return _families(
        (f"{revision}:{name}", _git(repository, "show", f"{revision}:{folder}/{name}"))
        for name in names
    )


def folders_of(revision: str, repository: Path) -> tuple[str, ...]:
    """Return the folders of a revision that hold inventories, as far as git can tell."""
    mark = f'"schema": "{SCHEMA.partition("/")[0]}/'
    try:
        found = _git(repository, "grep", "-l", "-F", "-e", mark, revision, "--", "*.json")
    except InventoryError:
        return ()
    files = [one.partition(":")[2] for one in found.decode(errors="replace").splitlines()]
    return tuple(sorted({one.rpartition("/")[0] or "." for one in files}))


def _git(repository: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=repository, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise InventoryError(source=words[-1], problem="git is not installed") from error
    except subprocess.CalledProcessError as error:
        problem = error.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise InventoryError(source=words[-1], problem=problem or _SILENT) from error
    except ValueError as error:
        raise InventoryError(source=words[-1], problem=str(error)) from error
    return done.stdout


_SILENT: Final = "git failed"
_UNKNOWN: Final = "there is no such folder, and git knows no such revision"


def _families(files: Iterable[tuple[str, bytes]]) -> Mapping[str, FamilyRecord]:
    found: dict[str, FamilyRecord] = {}
    for name, content in files:
        try:
            family = msgspec.json.decode(content, type=FamilyRecord)
            if family.schema.rpartition(".")[0] != SCHEMA.rpartition(".")[0]:
                problem = f"has the schema {family.schema}, expected {SCHEMA}"
                raise InventoryError(source=name, problem=problem)
            stem = name.rpartition(":")[2].removesuffix(".json")
            if family.family != stem:
                problem = f"holds the family {family.family!r}, and a file is named after its own"
                raise InventoryError(source=name, problem=problem)
            twice = repeated_name(content)
            if twice is not None:
                raise InventoryError(source=name, problem=f"states {twice!r} twice in one object")
            _check_records(family)
        except RecursionError as error:
            raise InventoryError(source=name, problem="nests too deep") from error
        except (msgspec.MsgspecError, FormulaSyntaxError, RecordFault) as error:
            raise InventoryError(source=name, problem=str(error)) from error
        found[family.family] = with_machines(family)
    return found


def _check_records(family: FamilyRecord) -> None:
    """Check what every interface states.

    Raises:
        RecordFault: An inventory cannot say it.
        FormulaSyntaxError: A formula is none.
    """
    for name, op in family.ops.items():
        for interface, one in op.interfaces.items():
            check_record(name, interface, one)


def with_machines(family: FamilyRecord) -> FamilyRecord:
    """Return the family with the machines of every interface stated."""
    replace = msgspec.structs.replace
    ops = {
        name: replace(
            op,
            interfaces={
                key: one if one.machines is not None else replace(one, machines=family.machines)
                for key, one in op.interfaces.items()
            },
        )
        for name, op in family.ops.items()
    }
    return replace(family, ops=ops)


def merged(
    before: Mapping[str, FamilyRecord], after: Mapping[str, FamilyRecord], ops: Collection[str]
) -> Mapping[str, FamilyRecord]:
    """Return an inventory with some ops as they are now and all others as they were written.

    A family that has none of these ops is the same object as before.

    Args:
        before: What is written.
        after: The ops as they are now.
        ops: Their names; those that *after* lacks are left out.
    """
    found = {}
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is not None and new is None and not set(ops).intersection(old.ops):
            found[name] = old
            continue
        kept = {} if old is None else {op: one for op, one in old.ops.items() if op not in ops}
        records = {**kept, **({} if new is None else new.ops)}
        family = new or old
        if family is not None and records:
            family = msgspec.structs.replace(family, ops=dict(sorted(records.items())))
            found[name] = _without_machines(family)
    return found


def _without_machines(family: FamilyRecord) -> FamilyRecord:
    """Return the family with the machines of every interface left out that are its own."""

    def stated(one: InterfaceRecord) -> InterfaceRecord:
        return replace(one, machines=None) if one.machines == family.machines else one

    replace = msgspec.structs.replace
    ops = {
        name: replace(op, interfaces={key: stated(one) for key, one in op.interfaces.items()})
        for name, op in family.ops.items()
    }
    return replace(family, ops=ops)
