"""Results files: written as a run goes, read back with their schema checked."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from harness.record import SCHEMA, Results

__all__ = ["ResultsFileError", "read", "write"]


class ResultsFileError(ValueError):
    """A results file that this harness cannot read.

    Attributes:
        path: The file.
        problem: What stands in the way.
    """

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"cannot read the results in {path}: {problem}")


class _Header(msgspec.Struct):
    schema: str


def write(results: Results, path: Path) -> None:
    """Write *results*; a reader, or a run that is stopped, never meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
    os.replace(draft, path)


def read(path: Path) -> Results:
    """Read results of this major version of the schema.

    Raises:
        ResultsFileError: There is no such file, or it holds something else.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultsFileError(path, f"{error.strerror}; run the benchmarks first") from error
    try:
        schema = msgspec.json.decode(content, type=_Header).schema
        if _major(schema) != _major(SCHEMA):
            raise ResultsFileError(path, f"it has schema {schema!r}, and this reads {SCHEMA!r}")
        return msgspec.json.decode(content, type=Results)
    except msgspec.DecodeError as error:
        raise ResultsFileError(path, f"{error}; it is no results file of {SCHEMA}") from error


def _major(schema: str) -> str:
    return schema.rsplit(".", 1)[0]
