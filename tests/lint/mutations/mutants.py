"""Mutants: one slip in a clean tree each, and what the linter makes of it.

A run over a corpus gives, per rule, how many of its mutants it reports, and what else it reports
of them. ``PYTHONPATH=src:tests python tests/lint/mutations/mutants.py [SITES]`` prints the table
for this repository and for a generated library, with up to SITES sites per slip.
"""

import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from tileops.findings import Severity
from tileops.lint._fix import Name, name_of
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids
from tileops.lint._rule import Report
from tileops.lint._settings import read_settings

ROOT = Path(__file__).parents[3]

__all__ = ["Corpus", "Mutant", "Outcome", "Slip", "generated", "mutants", "own_tree"]


@dataclass(frozen=True, eq=False)
class Slip:
    """A kind of mistake: the rule that is to report it, and how it is made.

    Attributes:
        rule: The rule.
        where: Globs of the files it can be made in.
        pattern: What a site matches; every match is a site.
        becomes: What a site becomes, one mutant for each; ``\\\\1`` is the first group.
        more: Files, pattern and replacement of changes that belong to the same mistake, made
            wherever they fit.
        also: Rules that report a consequence of the same mistake.
        elsewhere: Whether the finding stands at another place than the slip.
        flow: Whether the rule follows data through bodies, so that it may miss some.
        equivalent: Words in the source of sites that are no mistake there, with the reason.
    """

    rule: str
    where: str | tuple[str, ...]
    pattern: str
    becomes: tuple[str, ...]
    more: tuple[tuple[str | tuple[str, ...], str, str], ...] = ()
    also: tuple[str, ...] = ()
    elsewhere: bool = False
    flow: bool = False
    equivalent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Mutant:
    """One slip at one site, in one of its forms: the changed files, and the lines around it."""

    slip: Slip
    becomes: str
    path: str
    lines: tuple[int, int]
    files: Mapping[str, bytes]

    def __str__(self) -> str:
        return f"{self.slip.rule} at {self.path}:{self.lines[0]}"


@dataclass(frozen=True)
class Outcome:
    """What the linter says of a mutant that it did not say of the clean tree."""

    mutant: Mutant
    hit: bool
    strays: tuple[Report, ...]
    reported: frozenset[str] = frozenset()


class Corpus:
    """A tree without findings of error or warning rules."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        rules = list(all_rules().values())
        self.space = Workspace(self.files, rules, rule_ids=frozenset(rule_ids()))

    @cached_property
    def before(self) -> Counter[Name]:
        """The findings of the clean tree, which are matters of taste."""
        return Counter(name_of(report) for report in self.space.check().standing)

    def judge(self, mutant: Mutant) -> Outcome:
        """Lint a mutant and compare."""
        left = Counter(self.before)
        new: list[Report] = []
        for report in self.space.with_files(mutant.files).check().standing:
            if left[name_of(report)]:
                left[name_of(report)] -= 1
            else:
                new.append(report)
        slip = mutant.slip
        hit = any(r.rule == slip.rule and (slip.elsewhere or _at(mutant, r)) for r in new)
        expected = {slip.rule, *slip.also}
        taste = all_rules()[slip.rule].severity is Severity.PEDANTIC
        strays = (
            r for r in new if r.rule not in expected and (taste or r.severity != Severity.PEDANTIC)
        )
        return Outcome(mutant, hit, tuple(strays), frozenset(report.rule for report in new))


def _at(mutant: Mutant, report: Report) -> bool:
    first, last = mutant.lines
    return report.path == mutant.path and report.span[0] <= last and report.span[2] >= first


def own_tree() -> Corpus:
    """Return what git tracks of this repository, but for files that break rules on purpose."""
    listed = ["git", "ls-files", "-z", "--", "*.py", "pyproject.toml", "**/pyproject.toml"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    excused = ("tests/cli/*", *(glob for glob, _ in read_settings(ROOT).per_file_ignores))
    kept = (name for name in names.split("\0") if name and not _fits(name, excused))
    return Corpus({name: (ROOT / name).read_bytes() for name in kept})


def generated() -> Corpus:
    """Return a generated library of two families."""
    from lint_tree import operator_library

    return Corpus({p: t.encode() for p, t in operator_library(1500, programs=1).items()})


def mutants(corpus: Corpus, slip: Slip, sites: int, seed: int = 0) -> Iterator[Mutant]:
    """Yield the mutants of a slip at up to so many sites, sampled by seed."""
    texts = {path: data.decode() for path, data in corpus.files.items()}
    found = [
        (path, match)
        for path, text in sorted(texts.items())
        if _fits(path, slip.where)
        for match in re.finditer(slip.pattern, text, re.MULTILINE | re.DOTALL)
        if not any(word in match.group() for word in slip.equivalent)
    ]
    for path, match in _sampled(found, sites, seed):
        for becomes in slip.becomes:
            files = {path: _replaced(texts[path], match, match.expand(becomes))}
            for where, pattern, replacement in slip.more:
                for other in (other for other in texts if _fits(other, where)):
                    text = files.get(other, texts[other])
                    files[other] = re.sub(pattern, replacement, text, flags=re.MULTILINE)
            changed = {p: t.encode() for p, t in files.items() if t != texts[p]}
            assert path in changed, f"{slip.rule} changes nothing at {path}"
            yield Mutant(slip, becomes, path, _around(files[path], match.start()), changed)


def _sampled(
    found: list[tuple[str, re.Match[str]]], sites: int, seed: int
) -> list[tuple[str, re.Match[str]]]:
    chosen = random.Random(seed).sample(range(len(found)), min(sites, len(found)))
    return [found[index] for index in sorted(chosen)]


def _fits(path: str, where: str | tuple[str, ...]) -> bool:
    globs = (where,) if isinstance(where, str) else where
    return any(fnmatch(path, glob) for glob in globs)


def _replaced(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _around(text: str, start: int) -> tuple[int, int]:
    """Return the lines of the top-level statement a position lies in, decorators included."""
    lines = text.split("\n")
    line = text.count("\n", 0, start)
    first = line
    while first and (not lines[first] or lines[first][0] in " \t)]}"):
        first -= 1
    while first and lines[first - 1].startswith("@"):
        first -= 1
    last = max(line, first) + 1
    while last < len(lines) and (not lines[last] or lines[last][0] in " \t)]}"):
        last += 1
    while last < len(lines) and lines[last].startswith("@"):
        last += 1
    return first + 1, last + 1


def table(corpora: Mapping[str, Corpus], sites: int) -> str:
    """Return recall and strays per rule and corpus, and every miss and stray."""
    from slips import SLIPS

    rows: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for name, corpus in corpora.items():
        for slip in SLIPS:
            for mutant in mutants(corpus, slip, sites):
                rows[slip.rule][name].append(corpus.judge(mutant))
    lines: list[str] = []
    for rule in sorted(rows):
        parts = [f"{rule:34}"]
        for name in corpora:
            outcomes = rows[rule][name]
            hits, strays = sum(o.hit for o in outcomes), sum(len(o.strays) for o in outcomes)
            parts.append(f"{name} {hits}/{len(outcomes)}, {strays} other")
        lines.append("  ".join(parts))
    for outcome in (o for per in rows.values() for outcomes in per.values() for o in outcomes):
        if not outcome.hit:
            lines.append(f"missed: {outcome.mutant}")
        lines += [
            f"other:  {outcome.mutant}: {r.rule} {r.path}:{r.span[0]} {r.message}"
            for r in outcome.strays
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(table({"own": own_tree(), "generated": generated()}, count))
