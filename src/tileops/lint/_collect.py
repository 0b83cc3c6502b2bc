"""From a file's bytes to its facts and the notes of body rules: all that a cache miss costs."""

import builtins
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

from tileops.lint._registry import all_rules
from tileops.lint._rule import BodyRule
from tileops.lint._source import Source
from tileops.lint.facts import (
    ClassFacts,
    FileFacts,
    FunctionFacts,
    Note,
    Value,
    facts_of,
    pyproject_facts,
)
from tileops.lint.index import Foreign

__all__ = ["collect", "collect_all"]

_BUILTINS = frozenset(dir(builtins))
# Starting workers costs what parsing about this many files does.
_WORTH_A_POOL = 64


def collect_all(texts: Sequence[tuple[str, bytes]], jobs: int) -> Iterator[FileFacts]:
    """Yield the facts of each file in order, from a pool of processes where that pays."""
    if jobs < 2 or len(texts) < _WORTH_A_POOL:
        yield from map(_collect_one, texts)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_collect_one, texts, chunksize=max(len(texts) // (jobs * 8), 1))


def _collect_one(file: tuple[str, bytes]) -> FileFacts:
    return collect(*file, body_rules())


@cache
def body_rules() -> tuple[BodyRule, ...]:
    """Return every body rule: facts hold the notes of all, whichever rules a run selects."""
    return tuple(rule for rule in all_rules().values() if isinstance(rule, BodyRule))


def collect(path: str, data: bytes, rules: Iterable[BodyRule]) -> FileFacts:
    """Return the facts of a file; ``rules`` visit the slices that may concern them."""
    if path.endswith(".toml"):
        return pyproject_facts(data)
    facts = facts_of(data)
    wanted = [
        (owner, method, takers)
        for owner in _candidates(facts)
        for method in (None, *owner.methods)
        if (takers := _takers(rules, owner, method))
    ]
    if not wanted:
        return facts
    return msgspec.structs.replace(facts, notes=tuple(_visit(data, wanted)))


def _takers(
    rules: Iterable[BodyRule], owner: ClassFacts, method: FunctionFacts | None
) -> list[BodyRule]:
    return [rule for rule in rules if rule.wants(owner, method)]


def _visit(
    data: bytes, wanted: list[tuple[ClassFacts, FunctionFacts | None, list[BodyRule]]]
) -> Iterator[Note]:
    from libcst import ParserSyntaxError

    from tileops.lint._body import Body, split_lines

    lines = split_lines(Source("", data).text)
    for owner, method, takers in wanted:
        try:
            body = Body(lines, owner, method)
        except (ParserSyntaxError, RecursionError):
            # libcst refuses a few forms Python takes; what it cannot show is unknown.
            continue
        for rule in takers:
            yield from rule.visit(body)


def _candidates(facts: FileFacts) -> list[ClassFacts]:
    """Return the classes that other modules can name and that have a base of unknown origin."""
    local: dict[str, bool] = {}
    found: list[ClassFacts] = []
    for owner in facts.classes:
        may_be = any(_may_be_contract(facts, local, base) for base in owner.bases)
        if owner.scope in ("module", "conditional"):
            local[owner.name] = may_be
            if may_be:
                found.append(owner)
    return found


def _may_be_contract(facts: FileFacts, local: dict[str, bool], base: Value) -> bool:
    value = base.items[0] if base.kind == "subscript" else base
    root = value.name.partition(".")[0]
    if root in local:
        return local[root]
    origin = facts.imports.get(root)
    if origin is None:
        return root not in _BUILTINS
    return not Foreign(origin).transparent
