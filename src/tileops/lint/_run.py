"""One run of the linter over a tree on disk, with the cache."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from tileops.findings import Finding, FindingReport
from tileops.lint._cache import Answer, Cache, tool_key
from tileops.lint._check import check, finding_of
from tileops.lint._collect import collect
from tileops.lint._registry import all_rules, rule_ids, summary
from tileops.lint._rule import BodyRule
from tileops.lint._settings import Settings, check_rules, read_settings
from tileops.lint._source import Source
from tileops.lint._tree import Tree, find_tree
from tileops.lint.facts import FileFacts
from tileops.lint.index import Project

__all__ = ["SCHEMA", "LintRun", "Request", "lint"]

SCHEMA = "tileops.lint/1.0"
# Starting workers costs what parsing about this many files does.
_WORTH_A_POOL = 64


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for.

    Attributes:
        paths: Files and folders to show findings for; none means the whole project.
        select: Rules or severities to run instead of the configured ones.
        ignore: Rules or severities to leave out as well.
        jobs: How many processes may parse.
        cache: Whether to read and write the project's cache.
    """

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jobs: int = 1
    cache: bool = True


@dataclass(frozen=True, slots=True)
class LintRun:
    """The outcome of a run: the tree, the rules that ran and what they found."""

    tree: Tree
    rules: tuple[str, ...]
    findings: tuple[Finding, ...]
    suppressed: int

    def report(self) -> FindingReport:
        """Return the findings as the writers take them."""
        from importlib.metadata import version

        rules = [summary(all_rules()[name]) for name in self.rules]
        shown = self.tree.wanted
        files = len(self.tree.files if shown is None else shown)
        name, installed = "tileops lint", version("tileops")
        return FindingReport.of(
            SCHEMA, name, installed, files=files, rules=rules, findings=self.findings
        )


def lint(request: Request, cwd: Path) -> LintRun:
    """Lint a project.

    Raises:
        LintPathError: A path does not exist.
        LintConfigurationError: The project's settings cannot be understood.
        UnknownRuleError: A rule is named that does not exist.
    """
    check_rules((*request.select, *request.ignore), "the command line")
    tree = find_tree(request.paths, cwd)
    settings = read_settings(tree.root)
    tree = tree.without(settings.exclude)
    rules = settings.enabled(request.select, request.ignore)
    with _without_collector():
        answer = _answer(tree, settings, rules, request)
    shown = (f for f in answer.findings if tree.wanted is None or f.path in tree.wanted)
    return LintRun(tree, rules, tuple(shown), answer.suppressed)


def _answer(tree: Tree, settings: Settings, rules: Sequence[str], request: Request) -> Answer:
    """Return what an equal run answered, or read, link and judge the tree."""
    keeps = request.cache and (tree.tracked or (tree.root / "pyproject.toml").exists())
    folder = tree.root / ".tileops_cache" / "lint" if keeps else None
    store = Cache(folder, tool_key(repr(settings)))
    read: dict[str, bytes] = {}
    digests = {path: store.digest(tree.root, path, read) for path in tree.files}
    question = _question(digests, rules)
    known = store.answer(question)
    if known is not None:
        return known
    facts = _facts(tree, digests, read, store, request.jobs)
    project = Project(facts, external_facts(facts), frozenset(rule_ids()))
    checked = check(project, [all_rules()[name] for name in rules])
    sources = _Files(tree.root, read)
    standing = [r for r in checked.standing if r.rule not in settings.ignored(r.path)]
    answer = Answer(
        tuple(finding_of(report, sources) for report in standing), len(checked.suppressed)
    )
    store.save(question, answer, digests)
    return answer


def _question(digests: Mapping[str, bytes], rules: Sequence[str]) -> str:
    """Name everything an answer depends on that the cache's own key does not hold."""
    name = blake2b(digest_size=16)
    for path, digest in digests.items():
        name.update(path.encode("utf-8", "surrogateescape") + b"\0" + digest)
    name.update(" ".join(rules).encode())
    return name.hexdigest()


def _facts(
    tree: Tree, digests: Mapping[str, bytes], read: dict[str, bytes], store: Cache, jobs: int
) -> dict[str, FileFacts]:
    found = {path: store.facts(digest) for path, digest in digests.items()}
    missing = {digests[path]: path for path, facts in found.items() if facts is None}
    for path in missing.values():
        if path not in read:
            read[path] = (tree.root / path).read_bytes()
    texts = [(path, read[path]) for path in missing.values()]
    fresh = dict(zip(missing, _collected(texts, jobs), strict=True))
    for digest, facts in fresh.items():
        store.keep(digest, facts)
    return {path: facts or fresh[digests[path]] for path, facts in found.items()}


def _collected(texts: list[tuple[str, bytes]], jobs: int) -> Iterator[FileFacts]:
    """Yield the facts of each text, from a pool of processes where that pays."""
    if jobs < 2 or len(texts) < _WORTH_A_POOL:
        yield from map(_collect_alone, texts)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_collect_alone, texts, chunksize=max(len(texts) // (jobs * 8), 1))


def _collect_alone(text: tuple[str, bytes]) -> FileFacts:
    return collect(*text, _body_rules())


@cache
def _body_rules() -> tuple[BodyRule, ...]:
    """Return every body rule: facts hold the notes of all, whichever rules a run selects."""
    return tuple(rule for rule in all_rules().values() if isinstance(rule, BodyRule))


def external_facts(files: Mapping[str, FileFacts]) -> Mapping[str, FileFacts]:
    """Return the facts of the installed library, unless the files are the library."""
    if any(path.endswith("tileops/__init__.py") for path in files):
        return {}
    from tileops.lint._library import library_facts

    return library_facts()


class _Files(dict[str, Source]):
    """The sources of a tree; what was not read for its facts is read when it is asked for."""

    def __init__(self, root: Path, read: Mapping[str, bytes]) -> None:
        super().__init__((path, Source(path, data)) for path, data in read.items())
        self._root = root

    def __missing__(self, path: str) -> Source:
        source = self[path] = Source(path, (self._root / path).read_bytes())
        return source


@contextmanager
def _without_collector() -> Iterator[None]:
    """Hold the garbage collector: facts and trees are many and free of cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
