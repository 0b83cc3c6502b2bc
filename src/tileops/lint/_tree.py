"""Which files a run is about: those git tracks, or outside a repository those under the paths."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tileops.lint.errors import LintPathError

__all__ = ["Tree", "find_tree"]

_WANTED = ("*.py", "pyproject.toml", "**/pyproject.toml")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a project.

    Attributes:
        root: The repository, or the nearest folder with a ``pyproject.toml``, or the start.
        files: Every Python file and ``pyproject.toml``, relative to the root, sorted.
        wanted: The files findings are shown for; None means all.
        tracked: Whether git names the files.
    """

    root: Path
    files: tuple[str, ...]
    wanted: frozenset[str] | None
    tracked: bool

    def without(self, patterns: Sequence[str]) -> "Tree":
        """Return the tree without the files that match one of the patterns."""
        if not patterns:
            return self
        kept = (f for f in self.files if not any(matches(f, pattern) for pattern in patterns))
        return Tree(self.root, tuple(kept), self.wanted, self.tracked)


def matches(path: str, pattern: str) -> bool:
    """Say whether a path matches a glob, or lies in a folder that does."""
    pattern = pattern.rstrip("/")
    return fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*")


def find_tree(paths: Sequence[str], cwd: Path) -> Tree:
    """Return the project the paths lie in and the files they mean.

    Raises:
        LintPathError: A path does not exist.
    """
    given = [cwd / path for path in paths]
    for path, where in zip(paths, given, strict=True):
        if not where.exists():
            raise LintPathError(path=path)
    start = (given[0] if given else cwd).resolve()
    root = _root(start)
    tracked = _tracked(root) if (root / ".git").exists() else None
    if tracked is None:
        files = sorted({f for path in given or [cwd] for f in _under(path.resolve(), root)})
        return Tree(root, tuple(files), None, tracked=False)
    if not given or any(path.resolve() == root for path in given):
        return Tree(root, tuple(tracked), None, tracked=True)
    wanted = _wanted(tracked, [_relative(path.resolve(), root) for path in given], root)
    return Tree(root, tuple(sorted({*tracked, *wanted})), wanted, tracked=True)


def _wanted(tracked: Iterable[str], given: list[str], root: Path) -> frozenset[str]:
    """Return the tracked files under the given folders, and the given files, tracked or not."""
    folders = tuple(f"{path}/" for path in given if (root / path).is_dir())
    named = {path for path in given if (root / path).is_file()}
    return frozenset(named | {file for file in tracked if file.startswith(folders)})


def _root(start: Path) -> Path:
    folders = [start if start.is_dir() else start.parent]
    folders += folders[0].parents
    for marker in (".git", "pyproject.toml"):
        for folder in folders:
            if (folder / marker).exists():
                return folder
    return folders[0]


def _tracked(root: Path) -> list[str] | None:
    """Return the tracked files that exist, None where git does not answer."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--", *_WANTED]
    try:
        answer = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    names = os.fsdecode(answer.stdout).split("\0")
    # A file can be in the index and gone from the working tree, or be listed once per conflict
    # side.
    return sorted({name for name in names if name and os.path.isfile(root / name)})


def _under(path: Path, root: Path) -> Iterable[str]:
    if path.is_file():
        yield _relative(path, root)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(n for n in folders if n not in _SKIPPED and not n.startswith("."))
        found = (n for n in names if n.endswith(".py") or n == "pyproject.toml")
        yield from (_relative(Path(folder, name), root) for name in found)


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
