"""Running a command with everything it selects recorded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import click

from tileops.cli._failure import LoadFailure, UsageFailure, shortened
from tileops.cli._imports import require_torch


def run_recorded(command: list[str], output: Path, environment: dict[str, str]) -> NoReturn:
    """Become *command*, which records into *output*.

    Raises:
        LoadFailure: torch is missing, or *output* holds something else or cannot be written.
        UsageFailure: There is no such command.
    """
    if not command[0]:
        raise UsageFailure(
            "the command to run is empty", remedy="tileops trace run -- python train.py"
        )
    # Found out before the earlier recording is removed.
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        why = "Permission denied" if os.path.isfile(command[0]) else "No such file or directory"
        raise UsageFailure(f"cannot run {shortened(command[0])}", cause=why)
    require_torch()
    _check_output(output)
    _remove_earlier(output)
    name = output.with_suffix(f".PID{output.suffix}")
    click.echo(f"note: recording into {name}; tileops trace summary {output} reads it", err=True)
    try:
        os.execvpe(command[0], command, {**environment, "TILEOPS_TRACE": str(output.absolute())})
    except OSError as error:
        raise UsageFailure(f"cannot run {command[0]}", cause=error.strerror) from error


def _check_output(output: Path) -> None:
    """Check before the program runs, which may take hours, that it can be recorded."""
    from tileops.introspect.trace import check_writable

    if output.is_dir():
        raise LoadFailure(f"-o names a file, and {str(output)!r} is a folder")
    if output.exists() and not output.is_file():
        raise LoadFailure(f"-o names a file, and {str(output)!r} is no regular file")
    try:
        check_writable(output.absolute())
    except OSError as error:
        raise LoadFailure(
            f"{output} cannot be written", cause=error.strerror, remedy="-o FILE names another file"
        ) from error


def _remove_earlier(output: Path) -> None:
    """Remove the files of an earlier recording of this name, and nothing else."""
    from tileops.introspect.trace import TraceError, read_recording, recorded_files

    for file in recorded_files(output):
        try:
            if file.stat().st_size:
                read_recording(file)
        except TraceError as error:
            raise LoadFailure(
                f"{file} is in the way and no recording", cause=str(error), remedy="choose another"
            ) from error
        file.unlink()
