"""What a run does that no cache could answer: link the facts and let the rules judge them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tileops.findings import Notice
from tileops.lint._answer import Reading
from tileops.lint._cache import Answer
from tileops.lint._check import check, finding_of
from tileops.lint._registry import all_rules, rule_ids
from tileops.lint._source import Source
from tileops.lint._unknown import unknown
from tileops.lint.facts import FileFacts, Span
from tileops.lint.index import Project

__all__ = ["external_facts", "judge"]


def judge(reading: Reading, rules: Sequence[str]) -> Answer:
    """Return what the rules say of a tree that was read."""
    facts = reading.facts()
    project = Project(facts, external_facts(facts), frozenset(rule_ids()))
    checked = check(project, [all_rules()[name] for name in rules])
    sources = _Files(reading)
    standing = [r for r in checked.standing if reading.applies(r.rule, r.path)]
    newer = (
        (path, (1, 0, 1, 0), "this file is parsed as newer Python")
        for path, known in project.files.items()
        if known.newer
    )
    return Answer(
        tuple(finding_of(report, sources) for report in standing),
        len(checked.suppressed),
        tuple(_notices(sources, "syntax", newer)),
        tuple(_notices(sources, "unknown", unknown(project))),
    )


def external_facts(files: Mapping[str, FileFacts]) -> Mapping[str, FileFacts]:
    """Return the facts of the installed library, unless the files are the library."""
    if any(path.endswith("tileops/__init__.py") for path in files):
        return {}
    from tileops.lint._library import library_facts

    return library_facts()


class _Files(dict[str, Source]):
    """The sources of a reading; a file is read when it is asked for."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self._reading = reading

    def __missing__(self, path: str) -> Source:
        source = self[path] = Source(path, self._reading.data(path))
        return source


def _notices(
    sources: Mapping[str, Source], kind: str, told: Iterable[tuple[str, Span, str]]
) -> Iterator[Notice]:
    for path, span, message in told:
        yield Notice(path, sources[path].range(span), kind, message)
