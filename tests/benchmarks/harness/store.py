"""Results files: written as a run goes, read back with their schema checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

from harness.record import READ, SCHEMA, Results, Row

__all__ = ["ResultsFileError", "UnwrittenResultsError", "prepare", "read", "write"]


class _FileError(ValueError):
    """Something that stands in the way of a results file.

    Attributes:
        path: The file.
        problem: What stands in the way.
    """

    doing: ClassVar[str]

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"cannot {self.doing} {path}: {problem}")


class ResultsFileError(_FileError):
    """A results file that this harness cannot read."""

    doing = "read the results in"


class UnwrittenResultsError(_FileError):
    """A place where no results file can be written."""

    doing = "write the results to"


class _Header(msgspec.Struct):
    schema: str


def prepare(path: Path) -> None:
    """Make the folder of *path*, but none above it, which would be a misspelt one.

    Raises:
        UnwrittenResultsError: The folder cannot be made, or *path* is a folder itself.
    """
    if path.is_dir():
        raise UnwrittenResultsError(path, "it is a folder; name a file")
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        problem = f"the folder {path.parent} cannot be made: {error.strerror}"
        raise UnwrittenResultsError(path, problem) from error


def write(results: Results, path: Path) -> None:
    """Write *results*; a reader, or a run that is stopped, never meets half a file.

    Raises:
        UnwrittenResultsError: The file cannot be written; no draft of it is left.
    """
    prepare(path)
    draft = path.with_name(f".{path.name}.part")
    text = msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n"
    try:
        try:
            draft.write_bytes(text)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise UnwrittenResultsError(path, str(error.strerror)) from error


def read(path: Path) -> Results:
    """Read results of a major version of the schema that is known.

    Raises:
        ResultsFileError: There is no such file, it holds something else, a time or a ceiling in it
            is not positive or missing, or it lists a workload twice.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultsFileError(path, f"{error.strerror}; run the benchmarks first") from error
    try:
        schema = msgspec.json.decode(content, type=_Header).schema
        if schema.rpartition(".")[0] not in READ:
            known = " and ".join(f"{one}.*" for one in READ)
            raise ResultsFileError(path, f"it has schema {schema!r}, and this reads {known}")
        results = msgspec.json.decode(content, type=Results)
    except msgspec.DecodeError as error:
        raise ResultsFileError(path, f"{error}; it is no results file of {SCHEMA}") from error
    problem = next(_problems(results), None)
    if problem is not None:
        raise ResultsFileError(path, problem)
    return results


def _problems(results: Results) -> Iterator[str]:
    """Yield what the schema does not exclude, and no run can have measured."""
    if results.ceilings is None and results.rows:
        yield "ceilings: missing, and the times of its workloads are held to them"
    ceilings = {} if results.ceilings is None else msgspec.structs.asdict(results.ceilings)
    for field, value in ceilings.items():
        if value <= 0:
            yield f"ceilings: {field} must be positive, got {value}"
    seen: set[str] = set()
    for row in results.rows:
        name = f"{row.op}/{row.workload}"
        if name in seen:
            yield f"{name} is listed twice; keep one of its rows"
        seen.add(name)
        for field, value in _medians(row):
            if value <= 0:
                yield f"{name}: {field}.median_us must be positive, got {value}"


def _medians(row: Row) -> Iterator[tuple[str, float]]:
    timings = {"timing": row.timing, "copy": row.copy}
    timings |= {f"peers[{one.name}].timing": one.timing for one in row.peers}
    for field, timing in timings.items():
        if timing is not None:
            yield field, timing.median_us
