"""The answer of ``tileops audit`` for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Final

from tileops.cli._render import Line, columns
from tileops.cli._table import counted
from tileops.introspect.audit import (
    Ambiguity,
    Audit,
    Dead,
    Doubt,
    Gap,
    InterfaceAudit,
    PlaceAudit,
    Proof,
    Raising,
    Region,
)
from tileops.introspect.formula import TRUE, outline
from tileops.introspect.symbolic.exploration import Witness

_STYLE = {Proof.PROVED: "green", Proof.REFUTED: "bold red", Proof.NOT_PROVED: "bold yellow"}


def audit_lines(audit: Audit) -> Iterator[Line]:
    """Yield the lines of an audit: per interface the proofs, then what is to mend."""
    for one in audit.interfaces:
        yield from _interface(one)
        yield ()
    yield from _words(audit)
    yield ((summary(audit), "bold"),)


def summary(audit: Audit) -> str:
    """Say in one line what came of an audit."""
    count = len(audit.interfaces)
    proved = sum(
        all(place.unambiguous is Proof.PROVED for place in one.places) for one in audit.interfaces
    )
    findings = sum(one.findings for one in audit.interfaces)
    doubts = sum(len(one.doubts) for one in audit.interfaces)
    said = f"{counted(count, 'interface')}, {proved} proved unambiguous everywhere"
    return f"{said}, {counted(findings, 'finding')}, {doubts} not proved"


_WORDS: Final = {
    "unambiguous": "no call is left with several keys, none of them preferred",
    "served": "every call has a key that serves it",
    "PROVED": "for every possible call, which no test could try",
    "REFUTED": "a call below shows the opposite",
    "NOT PROVED": "neither shown nor refuted; what stands in the way is named",
    "unserved, accepted": "unserved when the inventory was written, so no finding",
    "dead": "a key that no call selects",
    "idle preference": "precedence over a key that serves none of the same calls",
    "no implementation": "no key is for that architecture; calls are unserved there, no finding",
    "no known board": "the proof holds there, though no board of it is described; no finding",
}


def _words(audit: Audit) -> Iterator[Line]:
    """Yield the meaning of the terms that an audit used."""
    places = [(each, one) for each in audit.interfaces for one in each.places]
    proofs = " ".join(t for each, one in places if one.available for t, _ in _proofs(each, one))
    used = {
        **{word: word in proofs for word in ("unambiguous", "served", "REFUTED")},
        "PROVED": "PROVED" in proofs.replace("NOT PROVED", ""),
        "NOT PROVED": "NOT PROVED" in proofs or any(one.doubts for one in audit.interfaces),
        "unserved, accepted": any(g.accepted for one in audit.interfaces for g in one.gaps),
        "dead": any(one.dead for one in audit.interfaces),
        "idle preference": any(one.idle for one in audit.interfaces),
        "no implementation": not all(one.available for _, one in places),
        "no known board": not all(one.boards for _, one in places),
    }
    rows = [((f"  {word}", "dim"), (said, "dim")) for word, said in _WORDS.items() if used[word]]
    if rows:
        yield (("words", "dim"),)
        yield from columns(rows)
        yield ()


_WIDTH: Final = 100


def _folded(start: str, style: str, text: str, text_style: str = "") -> Iterator[Line]:
    """Yield a list that is too long for a line over several, below its own beginning."""
    lines = textwrap.wrap(text, max(_WIDTH - len(start), 40), break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield ((start if number == 0 else " " * len(start), style), (line, text_style))


def _interface(audit: InterfaceAudit) -> Iterator[Line]:
    keys = ", ".join(one.key for one in audit.candidates)
    yield from _folded(f"{audit.op}.{audit.interface}  ", "bold", keys)
    yield from _folded("  over  ", "dim", audit.domain.facts_text(), "dim")
    if audit.domain.possible != TRUE:
        for number, line in enumerate(outline(audit.domain.possible, _WIDTH - 8)):
            yield (("        " if number else "  where ", "dim"), (line, "dim"))
    yield from columns([_place(audit, one) for one in audit.places])
    for clash in audit.ambiguities:
        yield from _ambiguity(clash)
    for raising in audit.raising:
        yield from _raising(raising)
    for gap in audit.gaps:
        yield from _gap(gap)
    if audit.more_gaps:
        yield (("  further calls are unserved", "red"),)
    for dead in audit.dead:
        yield from _dead(dead)
    for idle in audit.idle:
        text = f"{idle.winner.key} over {idle.loser}: no call is served by both"
        yield (("  idle preference  ", "yellow"), (text, ""))
    for doubt in audit.doubts:
        yield _doubt(doubt)
    for note in audit.assumptions:
        yield ((f"  assuming that {note}", "dim"),)


def _place(audit: InterfaceAudit, place: PlaceAudit) -> Line:
    proofs: Line = (("no implementation", "dim"), ("", ""))
    if place.available:
        proofs = _proofs(audit, place)
    boards = ", ".join(place.boards) or "no known board"
    return ((f"  {place.place}", ""), *proofs, (boards, "dim"))


def _proofs(audit: InterfaceAudit, place: PlaceAudit) -> Line:
    return (
        (f"unambiguous {place.unambiguous.value.upper()}", _STYLE[place.unambiguous]),
        (_served(audit, place), _STYLE[place.served]),
    )


def _served(audit: InterfaceAudit, place: PlaceAudit) -> str:
    gaps = [gap for gap in audit.gaps if place.place in gap.places]
    if place.served is Proof.REFUTED and gaps and all(one.accepted for one in gaps):
        return "served but where accepted"
    return f"served {place.served.value.upper()}"


def _ambiguity(clash: Ambiguity) -> Iterator[Line]:
    on = ", ".join(clash.places)
    yield (("  ambiguous  ", "bold red"), (f"{clash.winner.key} and {clash.loser.key} on {on}", ""))
    for region in clash.regions:
        yield from _region(region)
    surely = "surely right: every call of one is one of the other" if clash.narrower else "either"
    where = clash.winner.location() or "no source"
    yield ((f"    settle it: {clash.remedy}  ", ""), (f"in {clash.winner.name} ({where})", "dim"))
    if clash.narrower:
        yield ((f"    {surely}", "dim"),)


def _raising(raising: Raising) -> Iterator[Line]:
    yield (("  raises  ", "bold red"), (f"{raising.candidate.key}: {raising.problem}", ""))
    yield from _region(raising.region)


def _gap(gap: Gap) -> Iterator[Line]:
    if gap.accepted is not None:
        reason = _NUMBER.sub("", gap.accepted)
        yield (("  unserved, accepted  ", "dim"), (f"{gap.region.text()} ({reason})", "dim"))
        return
    yield (("  unserved  ", "red"), (f"on {', '.join(gap.places)}", ""))
    yield from _region(gap.region)


_NUMBER: Final = re.compile(r" \[\d+\]$")
"""What tells equal reasons of an inventory apart, which says nothing to a reader."""


def _region(region: Region) -> Iterator[Line]:
    yield ((f"    where {region.text()}", ""),)
    yield ((f"    {_seen(region.witness)}", "dim"),)


def _seen(witness: Witness) -> str:
    """Say how a call is seen, or which call it is where no command shows it."""
    return witness.selection.command() or witness.selection.call.describe()


def _dead(dead: Dead) -> Iterator[Line]:
    key = dead.candidate.key
    if not dead.applies:
        yield (("  dead  ", "yellow"), (f"{key} applies to no possible call", ""))
        return
    by = ", ".join(dead.blockers)
    yield (("  dead  ", "yellow"), (f"{key} never wins: blocked by {by}", ""))
    if dead.witness is not None:
        yield ((f"    {_seen(dead.witness)}", "dim"),)


def _doubt(doubt: Doubt) -> Line:
    why = "; ".join(map(str, doubt.reasons)) or "the prover gave up"
    tried = f"no counterexample in {doubt.calls} calls"
    return (("  NOT PROVED  ", "bold yellow"), (f"{doubt.claim} ({tried}): {why}", ""))
