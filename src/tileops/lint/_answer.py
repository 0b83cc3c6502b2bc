"""From the files of a tree to what the rules say of it: from the cache, or by reading them."""

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from tileops.findings import RuleSummary
from tileops.lint._cache import Answer, Cache, tool_key
from tileops.lint._registry import summaries
from tileops.lint._settings import Settings
from tileops.lint._tree import Tree
from tileops.lint.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tileops.lint.facts import FileFacts

__all__ = ["Reading"]


@dataclass(slots=True)
class Reading:
    """The reading of one tree: digests of all files; texts and facts as far as they are needed.

    Attributes:
        tree: The files.
        settings: What the project configures.
        jobs: How many processes may parse.
        store: The cache.
    """

    tree: Tree
    settings: Settings
    jobs: int
    store: Cache
    _read: dict[str, bytes] = field(default_factory=dict)
    _digests: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Tree, settings: Settings, jobs: int, cache: bool) -> "Reading":
        """Open the cache of a tree, where the tree is a project that has a place for one."""
        keeps = cache and (tree.tracked or (tree.root / "pyproject.toml").exists())
        folder = tree.root / ".tileops_cache" / "lint" if keeps else None
        return cls(tree, settings, jobs, Cache(folder, tool_key(repr(settings))))

    def catalogue(self) -> Mapping[str, RuleSummary]:
        """Return what there is to say of every rule; importing them all takes longer."""
        return self.store.catalogue(summaries)

    def applies(self, rule: str, path: str) -> bool:
        """Say whether the project wants to hear of a rule in a file."""
        return rule not in self.settings.ignored(path, self.catalogue())

    def answer(self, rules: Sequence[str]) -> Answer:
        """Return what an equal run answered, or read, link and judge the tree.

        Raises:
            UnreadableFileError: A file cannot be read.
        """
        for path in self.tree.files:
            with _named(path):
                self._digests[path] = self.store.digest(self.tree.root, path, self._read)
        question = _question(self._digests, rules)
        known = self.store.answer(question)
        if known is not None:
            return known
        from tileops.lint._judge import judge

        answer = judge(self, rules)
        self.store.save(question, answer, self._digests)
        return answer

    def data(self, path: str) -> bytes:
        """Return the bytes of a file, which is read once."""
        if path not in self._read:
            with _named(path):
                self._read[path] = (self.tree.root / path).read_bytes()
        return self._read[path]

    def facts(self) -> dict[str, "FileFacts"]:
        """Return the facts of every file; those the cache does not know are read off the texts."""
        from tileops.lint._collect import collect_all

        found = {path: self.store.facts(digest) for path, digest in self._digests.items()}
        missing = {self._digests[path]: path for path, facts in found.items() if facts is None}
        texts = [(path, self.data(path)) for path in missing.values()]
        fresh = dict(zip(missing, collect_all(texts, self.jobs), strict=True))
        for digest, facts in fresh.items():
            self.store.keep(digest, facts)
        return {path: facts or fresh[self._digests[path]] for path, facts in found.items()}


def _question(digests: Mapping[str, bytes], rules: Sequence[str]) -> str:
    """Name everything an answer depends on that the cache's own key does not hold."""
    name = blake2b(digest_size=16)
    for path, digest in digests.items():
        name.update(path.encode("utf-8", "surrogateescape") + b"\0" + digest)
    name.update(" ".join(rules).encode())
    return name.hexdigest()


@contextmanager
def _named(path: str) -> "Iterator[None]":
    """Turn what the system says of a file into an error that names it."""
    try:
        yield
    except OSError as error:
        raise UnreadableFileError(path=path, reason=error.strerror or str(error)) from error
