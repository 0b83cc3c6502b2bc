"""Which files a run is about: those git tracks, or outside a repository those under the paths."""

import os
import stat
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tileops.lint.errors import (
    LintFileKindError,
    LintPathError,
    OutsideProjectError,
    UnreadableFileError,
)

__all__ = ["Tree", "find_tree"]

_WANTED = ("*.py", "pyproject.toml", "**/pyproject.toml")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a project.

    Attributes:
        root: The repository, or the nearest folder with a ``pyproject.toml``, or the folder that
            holds all paths.
        files: Every Python file and ``pyproject.toml``, relative to the root, sorted.
        wanted: The files findings are shown for; None means all.
        tracked: Whether git names the files.
    """

    root: Path
    files: tuple[str, ...]
    wanted: frozenset[str] | None
    tracked: bool

    def shows(self, path: str) -> bool:
        """Say whether findings of a file are shown."""
        return self.wanted is None or path in self.wanted

    def without(self, patterns: Sequence[str]) -> "Tree":
        """Return the tree without the files that match one of the patterns."""
        if not patterns:
            return self
        kept = [f for f in self.files if not any(matches(f, pattern) for pattern in patterns)]
        wanted = None if self.wanted is None else self.wanted.intersection(kept)
        return Tree(self.root, tuple(kept), wanted, self.tracked)


def matches(path: str, pattern: str) -> bool:
    """Say whether a path matches a glob, or lies in a folder that does."""
    pattern = pattern.rstrip("/")
    return fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*")


def find_tree(paths: Sequence[str], cwd: Path) -> Tree:
    """Return the project the paths lie in and the files they mean.

    Raises:
        LintPathError: A path does not exist.
        LintFileKindError: A path is a file no rule reads.
        OutsideProjectError: The paths lie in different projects.
        UnreadableFileError: A folder cannot be listed.
    """
    given = [_place(path, cwd) for path in paths]
    root = _root(given or [cwd.resolve()])
    for path, where in zip(paths, given, strict=True):
        if where != root and root not in where.parents:
            raise OutsideProjectError(path=path, first=paths[0])
    tracked = _tracked(root) if (root / ".git").exists() else None
    if tracked is None:
        files = sorted({f for path in given or [cwd.resolve()] for f in _under(path, root)})
        return Tree(root, tuple(files), None, tracked=False)
    if not given or root in given:
        return Tree(root, tuple(tracked), None, tracked=True)
    wanted = _wanted(tracked, [_relative(path, root) for path in given], root)
    return Tree(root, tuple(sorted({*tracked, *wanted})), wanted, tracked=True)


def _place(path: str, cwd: Path) -> Path:
    """Return where a path lies; a symbolic link to a file stays the file it is tracked as."""
    where = cwd / path
    try:
        mode = os.stat(where).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LintPathError(path=path) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError(path=path, reason=reason) from error
    if stat.S_ISDIR(mode):
        return where.resolve()
    if not stat.S_ISREG(mode):
        raise LintFileKindError(path=path, kind="no regular file")
    if not path.endswith(".py") and where.name != "pyproject.toml":
        raise LintFileKindError(path=path, kind="neither a .py file nor a pyproject.toml")
    return where.parent.resolve() / where.name


def _wanted(tracked: Iterable[str], given: list[str], root: Path) -> frozenset[str]:
    """Return the tracked files under the given folders, and the given files, tracked or not."""
    folders = tuple(f"{path}/" for path in given if (root / path).is_dir())
    named = {path for path in given if (root / path).is_file()}
    return frozenset(named | {file for file in tracked if file.startswith(folders)})


def _root(given: Sequence[Path]) -> Path:
    """Return the repository or project around the first path, else what holds all the paths."""
    starts = [path if path.is_dir() else path.parent for path in given]
    for marker in (".git", "pyproject.toml"):
        for folder in (starts[0], *starts[0].parents):
            if (folder / marker).exists():
                return folder
    return Path(os.path.commonpath(starts))


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
    for folder, folders, names in os.walk(path, onerror=_unlisted):
        folders[:] = sorted(n for n in folders if n not in _SKIPPED and not n.startswith("."))
        found = [n for n in names if n.endswith(".py") or n == "pyproject.toml"]
        if found:
            inside = _relative(Path(folder), root)
            prefix = "" if inside == "." else f"{inside}/"
            yield from (f"{prefix}{n}" for n in found if os.path.isfile(f"{folder}/{n}"))


def _unlisted(error: OSError) -> None:
    raise UnreadableFileError(path=str(error.filename), reason=error.strerror or str(error))


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
