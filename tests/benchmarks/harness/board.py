"""What ran: the board, the versions of what matters, the commit."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import tileops
from harness.record import Board

__all__ = ["board_of", "commit_of", "versions"]

DISTRIBUTIONS = ("torch", "triton", "tilelang", "apache-tvm-ffi", "liger-kernel", "fla-core")


def board_of(device: torch.device) -> Board:
    """Describe a CUDA device; nothing about it is changed."""
    properties = torch.cuda.get_device_properties(device)
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return Board(
        name=properties.name,
        arch=properties.major * 10 + properties.minor,
        sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        l2_bytes=properties.L2_cache_size,
        driver=_first_line(query),
    )


def versions() -> dict[str, str]:
    """Return the versions of Python, CUDA and what is installed of the peers."""
    found = {"tileops": tileops.__version__, "python": platform.python_version()}
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit_of(folder: Path) -> str | None:
    """Return the commit checked out in a folder, marked when files differ; None without git."""
    commit = _first_line(["git", "-C", str(folder), "rev-parse", "HEAD"])
    if commit is None:
        return None
    changed = _first_line(["git", "-C", str(folder), "status", "--porcelain", "-uno"])
    return f"{commit}-changed" if changed else commit


def _first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.partition("\n")[0].strip() or None
