"""Replacing files: all of them or none, each in one step."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tileops.lint.errors import FileChangedError, UnwritableFileError

__all__ = ["Change", "write_changes"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file's bytes before and after; None before means that it need not have existed."""

    before: bytes | None
    after: bytes


def write_changes(root: Path, changes: Mapping[str, Change]) -> None:
    """Write files at paths below a root, keeping their modes and what symbolic links name.

    Every new content is on disk beside its file before the first file is replaced.

    Raises:
        UnwritableFileError: A content cannot be written.
        FileChangedError: A file is no longer what the change was made for.
    """
    prepared: list[tuple[Path, Path]] = []
    try:
        for path, change in changes.items():
            file = Path(os.path.realpath(root / path))
            if change.before is not None and file.read_bytes() != change.before:
                raise FileChangedError(path=path)
            prepared.append((file, _beside(path, file, change.after)))
        for file, temporary in prepared:
            os.replace(temporary, file)
    finally:
        for _, temporary in prepared:
            with suppress(FileNotFoundError):
                temporary.unlink()


def _beside(path: str, file: Path, data: bytes) -> Path:
    """Write a content beside the file it is for and return where."""
    temporary = None
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if file.exists():
            shutil.copymode(file, temporary)
        else:
            temporary.chmod(0o644)
    except OSError as error:
        if temporary is not None:
            temporary.unlink()
        raise UnwritableFileError(path=path, reason=error.strerror or str(error)) from error
    return temporary
