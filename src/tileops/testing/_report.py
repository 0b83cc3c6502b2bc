"""The report of selection coverage, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileops.introspect.coverage import InterfaceCoverage

__all__ = ["report_lines", "share_tested"]


def share_tested(answers: Sequence[InterfaceCoverage]) -> float:
    """Return the percentage of boundary pairs tested on both sides; 100 where there are none."""
    pairs = [pair for one in answers for pair in one.pairs]
    return 100 * sum(pair.tested for pair in pairs) / len(pairs) if pairs else 100.0


def report_lines(answers: Sequence[InterfaceCoverage]) -> Iterator[str]:
    """Yield a line per interface, then what each of them misses."""
    names = [f"{one.op}.{one.interface}" for one in answers]
    width = max([len("interface"), *map(len, names)])
    yield f"{'interface':{width}}  {'calls':>6}  {'conditions':>10}  {'pairs':>9}"
    for name, one in zip(names, answers, strict=True):
        conditions = f"{sum(c.both_ways for c in one.conditions)}/{len(one.conditions)}"
        pairs = f"{sum(p.tested for p in one.pairs)}/{len(one.pairs)}"
        yield f"{name:{width}}  {one.calls:>6}  {conditions:>10}  {pairs:>9}"
    for name, one in zip(names, answers, strict=True):
        yield from _missing(name, one)
    tested = sum(p.tested for one in answers for p in one.pairs)
    yield (
        f"boundary pairs tested on both sides: {tested} of {sum(len(a.pairs) for a in answers)} "
        f"({share_tested(answers):.1f} %)"
    )


def _missing(name: str, one: InterfaceCoverage) -> Iterator[str]:
    for condition in one.conditions:
        if not condition.both_ways:
            ways = {"met": condition.held, "failed": condition.failed}
            never = [word for word, seen in ways.items() if not seen]
            where = f"{condition.key} at {condition.place}"
            yield f"{name}: never {' nor '.join(never)}: {condition.text} ({where})"
    for pair in one.pairs:
        if not pair.tested:
            step = f"{pair.before} to {pair.after} by {pair.fact}"
            yield f"{name}: not tested: {step}: {pair.example}"
    if one.undecided:
        yield f"{name}: {one.undecided} further boundaries are neither shown nor excluded"
