"""Replacing files: all of them or none, each in one step."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tileops.lint.errors import FileChangedError, UnwritableFileError

__all__ = ["Change", "write_changes", "write_text"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file's bytes before and after the fixes."""

    before: bytes
    after: bytes


def write_changes(root: Path, changes: Mapping[str, Change]) -> None:
    """Write the changed files below a root, keeping their modes and what symbolic links name.

    Every new content is on disk beside its file before the first file is replaced.

    Raises:
        UnwritableFileError: A content cannot be written.
        FileChangedError: A file is no longer what the fixes were made for.
    """
    prepared: list[tuple[str, Path, Path]] = []
    try:
        for path, change in changes.items():
            file = Path(os.path.realpath(root / path))
            prepared.append((path, file, _prepare(path, file, change.after)))
        for path, file, _ in prepared:
            if file.read_bytes() != changes[path].before:
                raise FileChangedError(path=path)
        for _, file, temporary in prepared:
            os.replace(temporary, file)
    finally:
        for _, _, temporary in prepared:
            with suppress(FileNotFoundError):
                temporary.unlink()


def write_text(file: Path, shown: str, text: str) -> None:
    """Create or replace a text file in one step.

    Raises:
        UnwritableFileError: It cannot be written.
    """
    os.replace(_prepare(shown, file, text.encode()), file)


def _prepare(shown: str, file: Path, data: bytes) -> Path:
    """Write a content beside the file it is for and return where."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        temporary = Path(name)
        if file.exists():
            shutil.copymode(file, temporary)
        else:
            temporary.chmod(0o644)
    except OSError as error:
        raise UnwritableFileError(path=shown, reason=error.strerror or str(error)) from error
    return temporary
