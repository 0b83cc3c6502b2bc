"""An audit as findings, for the writers that lint has too."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tileops.findings import Finding, Range, RuleSummary, Severity
from tileops.introspect.audit._report import (
    Ambiguity,
    Audit,
    Dead,
    Doubt,
    Gap,
    IdlePreference,
    InterfaceAudit,
    Raising,
    Region,
)
from tileops.introspect.symbolic.exploration import Witness
from tileops.selection import Candidate

__all__ = ["RULES", "findings_of"]

RULES: Final = (
    RuleSummary(
        "ambiguous-selection",
        Severity.ERROR,
        "Two implementations serve the same possible call and neither has precedence.",
    ),
    RuleSummary(
        "raising-refusal", Severity.ERROR, "A refusal raises for a call that an op can make."
    ),
    RuleSummary(
        "unserved-calls",
        Severity.ERROR,
        "Possible calls are served by no implementation, and no inventory accepts that.",
    ),
    RuleSummary(
        "dead-implementation",
        Severity.WARNING,
        "No possible call selects an implementation.",
    ),
    RuleSummary(
        "idle-preference",
        Severity.WARNING,
        "A preference is stated between implementations that never serve the same call.",
    ),
    RuleSummary(
        "not-proved", Severity.WARNING, "A claim about every possible call could not be proved."
    ),
)
"""What an audit can say."""

_SEVERITY: Final = {rule.id: rule.severity for rule in RULES}


def findings_of(audit: Audit, root: Path) -> tuple[Finding, ...]:
    """Return what is to mend, and what is not proved.

    Args:
        audit: The audit.
        root: The checkout that paths are relative to; of several classes that a finding is about,
            it stands at one that lies there.
    """
    place = root.resolve()
    return tuple(one for found in audit.interfaces for one in _interface(found, place))


def _interface(audit: InterfaceAudit, root: Path) -> Iterator[Finding]:
    name = f"{audit.op}.{audit.interface}"
    for clash in audit.ambiguities:
        yield _ambiguity(name, clash, root)
    for raising in audit.raising:
        yield _raising(name, raising, root)
    for gap in audit.gaps:
        if gap.accepted is None:
            yield _gap(name, gap, root)
    for dead in audit.dead:
        yield _dead(name, dead, root)
    for idle in audit.idle:
        yield _idle(name, idle, root)
    for doubt in audit.doubts:
        yield _doubt(name, doubt, audit, root)


def _ambiguity(name: str, clash: Ambiguity, root: Path) -> Finding:
    return _finding(
        "ambiguous-selection",
        _own((clash.winner, clash.loser), root),
        root,
        f"{name}: {clash.winner.key} and {clash.loser.key} both serve calls where "
        f"{_regions(clash.regions)}, on {', '.join(clash.places)}",
        f"{clash.remedy} in {clash.winner.name} settles it",
        *_commands(clash.regions[0]),
    )


def _raising(name: str, raising: Raising, root: Path) -> Finding:
    return _finding(
        "raising-refusal",
        raising.candidate,
        root,
        f"{name}: the {raising.problem} where {raising.region.text()}",
        *_commands(raising.region),
    )


def _gap(name: str, gap: Gap, root: Path) -> Finding:
    verdicts = gap.region.witness.selection.verdicts
    reasons = [f"{v.key}: {v.reason}" for v in verdicts if v.reason is not None]
    return _finding(
        "unserved-calls",
        _own([one.candidate for one in verdicts], root),
        root,
        f"{name}: no implementation serves calls where {gap.region.text()}, "
        f"on {', '.join(gap.places)}",
        *reasons,
        *_commands(gap.region),
    )


def _dead(name: str, dead: Dead, root: Path) -> Finding:
    if not dead.applies:
        why = "it applies to none"
    else:
        why = f"wherever it applies, {' or '.join(dead.blockers)} outranks it"
    return _finding(
        "dead-implementation",
        dead.candidate,
        root,
        f"{name}: no possible call selects {dead.candidate.key}: {why}",
        *_seen(dead.witness),
    )


def _idle(name: str, idle: IdlePreference, root: Path) -> Finding:
    return _finding(
        "idle-preference",
        idle.winner,
        root,
        f"{name}: {idle.winner.key} is preferred over {idle.loser}, and no possible call is served "
        "by both",
    )


def _doubt(name: str, doubt: Doubt, audit: InterfaceAudit, root: Path) -> Finding:
    reasons = "; ".join(map(str, doubt.reasons)) or "the prover gave up"
    return _finding(
        "not-proved",
        _own(audit.candidates, root),
        root,
        f"{name}: not proved that {doubt.claim} (no counterexample in {doubt.calls} calls): "
        f"{reasons}",
    )


def _regions(regions: tuple[Region, ...]) -> str:
    return "; or ".join(one.text() for one in regions)


def _commands(region: Region) -> tuple[str, ...]:
    return _seen(region.witness)


def _seen(witness: Witness | None) -> tuple[str, ...]:
    command = None if witness is None else witness.selection.command()
    return () if command is None else (f"see it with: {command}",)


def _finding(rule: str, candidate: Candidate, root: Path, message: str, *notes: str) -> Finding:
    path, line = _place(candidate, root)
    text = linecache.getline(str(root / path), line).rstrip("\n")
    end = max(len(text), 1) + 1
    return Finding(
        rule,
        _SEVERITY[rule],
        path,
        Range(line, 1, line, end),
        message,
        symbol=f"{candidate.implementation.__module__}:{candidate.name}",
        excerpt=text,
        notes=notes,
    )


def _own(candidates: Sequence[Candidate], root: Path) -> Candidate:
    """Return the first that is of the checkout, whose author reads the finding, or the first."""
    return next((one for one in candidates if _below(one, root) is not None), candidates[0])


def _place(candidate: Candidate, root: Path) -> tuple[str, int]:
    """Return file and line of a class: below *root* where it lies there."""
    location = candidate.location()
    if location is None:
        return candidate.implementation.__module__.replace(".", "/") + ".py", 1
    return _below(candidate, root) or location.file, location.line


def _below(candidate: Candidate, root: Path) -> str | None:
    """Return the file of a class as the checkout names it, None where it has no such file."""
    if candidate.location() is None:
        return None
    file = Path(inspect.getsourcefile(candidate.implementation) or "").resolve()
    if not file.is_relative_to(root):
        return None
    path = file.relative_to(root)
    # What is installed inside a checkout is no part of it.
    return None if "site-packages" in path.parts else path.as_posix()
