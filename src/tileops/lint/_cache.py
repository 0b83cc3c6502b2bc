"""The cache of a project: what was read, what was found in it, and what the last run answered.

Two files in ``.tileops_cache/lint``: a small one with the state of every file and the answers of
recent runs, and the facts by content. Both carry a key made of the linter's own source, the
Python version and the configuration; a file with another key, or that cannot be read, counts as
absent.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tileops.findings import Finding, Notice, RuleSummary

if TYPE_CHECKING:
    from tileops.lint.facts import FileFacts

__all__ = ["Answer", "Cache", "FileState", "tool_key"]

_PACKAGE = Path(__file__).parent.parent
# The manifest says what a builder takes, so an answer depends on it as on the rules.
_SOURCES = (
    (_PACKAGE / "lint", "*.py"),
    (_PACKAGE / "findings", "*.py"),
    (_PACKAGE / "manifest" / "spec", "*.yaml"),
)
# A file changed within this time of being read may change again without its state showing it.
_SETTLED_NS = 2_000_000_000
_KEPT_ANSWERS = 8
Stored = TypeVar("Stored")


class FileState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file's size, time and mode when it was read, and the digest of what was read."""

    size: int
    time: int
    mode: int
    digest: bytes


class Answer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a run found, how many findings were suppressed, and what else it noticed."""

    findings: tuple[Finding, ...] = ()
    suppressed: int = 0
    notices: tuple[Notice, ...] = ()
    unknown: tuple[Notice, ...] = ()


class _States(msgspec.Struct, array_like=True):
    key: str
    files: dict[str, FileState] = {}
    answers: dict[str, Answer] = {}
    rules: dict[str, RuleSummary] = {}


class _Facts(msgspec.Struct, array_like=True):
    key: str
    facts: dict[bytes, msgspec.Raw] = {}


class Cache:
    """The cache of one project; without a folder it holds nothing and keeps nothing."""

    def __init__(self, folder: Path | None, key: str) -> None:
        self._folder = folder
        self._key = key
        self._states = self._read("states", _States) or _States(key)
        self._facts: _Facts | None = None
        self._fresh: dict[bytes, FileFacts] = {}

    def catalogue(self, make: Callable[[], Mapping[str, RuleSummary]]) -> Mapping[str, RuleSummary]:
        """Return what there is to say of every rule, as an earlier run wrote it down."""
        if not self._states.rules:
            self._states.rules = dict(make())
        return self._states.rules

    def digest(self, root: Path, path: str, read: dict[str, bytes]) -> bytes:
        """Return the digest of a file, from its state when that has not changed.

        What has to be read is put into ``read``.
        """
        stat = os.stat(root / path)
        state = self._states.files.get(path)
        shown = (stat.st_size, stat.st_mtime_ns, stat.st_mode)
        if state is not None and (state.size, state.time, state.mode) == shown:
            return state.digest
        data = read[path] = (root / path).read_bytes()
        digest = _digest_of(path, data)
        if time.time_ns() - stat.st_mtime_ns > _SETTLED_NS:
            self._states.files[path] = FileState(*shown, digest)
        else:
            self._states.files.pop(path, None)
        return digest

    def answer(self, question: str) -> Answer | None:
        """Return what an equal run answered."""
        return self._states.answers.get(question)

    def facts(self, digest: bytes) -> "FileFacts | None":
        """Return the facts of a content."""
        if self._facts is None:
            self._facts = self._read("facts", _Facts) or _Facts(self._key)
        raw = self._facts.facts.get(digest)
        if raw is None:
            return self._fresh.get(digest)
        from tileops.lint.facts import FileFacts

        try:
            return msgspec.msgpack.decode(raw, type=FileFacts)
        except msgspec.DecodeError:
            return None

    def keep(self, digest: bytes, facts: "FileFacts") -> None:
        """Remember the facts of a content."""
        self._fresh[digest] = facts

    def save(self, question: str, answer: Answer, digests: Mapping[str, bytes]) -> None:
        """Write what is known of exactly these files, and the answer."""
        if self._folder is None:
            return
        states = self._states
        states.files = {path: s for path, s in states.files.items() if path in digests}
        recent = [(q, a) for q, a in states.answers.items() if q != question]
        states.answers = dict([*recent[1 - _KEPT_ANSWERS :], (question, answer)])
        self._write("states", states)
        if self._fresh:
            old = self._facts.facts if self._facts is not None else {}
            kept = {d: old[d] for d in digests.values() if d in old}
            fresh = {d: msgspec.Raw(msgspec.msgpack.encode(f)) for d, f in self._fresh.items()}
            self._write("facts", _Facts(self._key, kept | fresh))

    def _read(self, name: str, kind: type[Stored]) -> Stored | None:
        if self._folder is None:
            return None
        try:
            stored = msgspec.msgpack.decode((self._folder / name).read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError):
            return None
        return stored if getattr(stored, "key", "") == self._key else None

    def _write(self, name: str, value: Any) -> None:
        """Replace a file in one step, so that a reader sees the old or the new one whole."""
        assert self._folder is not None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            ignore = self._folder.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.msgpack.encode(value))
            os.replace(temporary, self._folder / name)
        except (OSError, UnicodeEncodeError):
            # A cache that cannot be written costs time, never the run.
            return


def _digest_of(path: str, data: bytes) -> bytes:
    """Return the name of a content; equal bytes mean different things to different parsers."""
    kind = path.rpartition(".")[2].encode()[:16]
    return blake2b(data, digest_size=16, person=kind).digest()


def tool_key(configuration: str) -> str:
    """Return what the facts and answers depend on besides the files."""
    key = blake2b(digest_size=16)
    for folder, pattern in _SOURCES:
        for file in sorted(folder.rglob(pattern)):
            key.update(file.relative_to(folder).as_posix().encode())
            key.update(file.read_bytes())
    key.update(f"{sys.version_info[:2]}{configuration}".encode())
    return key.hexdigest()
