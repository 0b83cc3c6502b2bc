"""Linting texts held in memory: trial runs of fixes, the cases of rules, an editor's buffers."""

from collections.abc import Iterable, Iterator, Mapping

from tileops.lint._check import Checked, check
from tileops.lint._collect import collect
from tileops.lint._rule import BodyRule, Rule
from tileops.lint._source import Source
from tileops.lint.facts import FileFacts
from tileops.lint.index import Project

__all__ = ["Workspace"]


class Workspace(Mapping[str, Source]):
    """Files by path, with their facts remembered by content.

    ``known`` gives facts the caller already has for the bytes at hand, so that only texts that
    change are parsed.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        rules: Iterable[Rule],
        *,
        external: Mapping[str, FileFacts] | None = None,
        rule_ids: frozenset[str] = frozenset(),
        known: Mapping[str, FileFacts] | None = None,
    ) -> None:
        self._files = dict(files)
        self._rules = tuple(rules)
        self._body_rules = [rule for rule in self._rules if isinstance(rule, BodyRule)]
        self._external = external or {}
        self._rule_ids = rule_ids
        self._facts: dict[tuple[str, bytes], FileFacts] = {}
        self._sources: dict[str, Source] = {}
        self._checked: Checked | None = None
        for path, facts in (known or {}).items():
            self._facts[self._content(path)] = facts

    def __getitem__(self, path: str) -> Source:
        if path not in self._sources:
            self._sources[path] = Source(path, self._files[path])
        return self._sources[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def data(self, path: str) -> bytes:
        """Return a file's bytes."""
        return self._files[path]

    def with_files(self, changed: Mapping[str, bytes]) -> "Workspace":
        """Return a workspace with some files replaced; facts already known are shared."""
        other = Workspace(
            {**self._files, **changed},
            self._rules,
            external=self._external,
            rule_ids=self._rule_ids,
        )
        other._facts = self._facts
        return other

    def facts(self, path: str) -> FileFacts:
        """Return a file's facts."""
        content = self._content(path)
        if content not in self._facts:
            self._facts[content] = collect(path, self._files[path], self._body_rules)
        return self._facts[content]

    def check(self) -> Checked:
        """Link all files and run the rules."""
        if self._checked is None:
            facts = {path: self.facts(path) for path in self._files}
            self._checked = check(Project(facts, self._external, self._rule_ids), self._rules)
        return self._checked

    def _content(self, path: str) -> tuple[str, bytes]:
        """Return what a file's facts depend on: its bytes and which parser reads them."""
        return path.rpartition(".")[2], self._files[path]
