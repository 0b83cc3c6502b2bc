"""The line of the user's program that a call came from."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import torch

__all__ = ["Caller", "caller"]


@dataclass(frozen=True)
class Caller:
    """A line of a source file, which is given relative to the working directory if below it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller() -> Caller:
    """Return the line outside tileops and torch that the running call came from."""
    packages = (sys.modules["tileops"], torch)
    inside = tuple(os.path.dirname(one.__file__ or "") + os.sep for one in packages)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return Caller(_shortened(frame.f_code.co_filename), frame.f_lineno)


def _shortened(file: str) -> str:
    if not os.path.isabs(file):
        return file
    try:
        below = os.path.relpath(file)
    except OSError:
        # The working directory is gone.
        return file
    return file if below.startswith(os.pardir) else below
