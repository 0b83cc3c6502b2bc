"""The whole decision: judge every candidate, then let precedence settle the applicable ones.

An eager call of a new size needs the winner alone, and soon: `winner_of` finds it without a
verdict on every key.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileops.selection._candidate import Call, Candidate
from tileops.selection._judge import judge
from tileops.selection._precedence import Edge
from tileops.selection._selection import Selection
from tileops.selection._table import SelectionTable
from tileops.selection._verdict import Outcome, Stage, Verdict


def select(table: SelectionTable, call: Call) -> Selection:
    """Decide which key of *table* serves *call*.

    The selected key is the one applicable key that no other applicable key outranks. Order never
    decides.
    """
    judged = [(one, judge(one, call)) for one in table.candidates]
    applicable = [one.key for one, verdict in judged if verdict is None]
    beaten = {loser: _beating(table, applicable, loser) for loser in applicable}
    top = [key for key in applicable if not beaten[key]]
    excluded = [verdict for _, verdict in judged if verdict is not None]
    defective = [one.key for one in excluded if one.stage is Stage.RAISED]
    outcome = Outcome.DEFECTIVE if defective else _outcome(excluded, top)
    stage = Stage.SELECTED if outcome is Outcome.SELECTED else Stage.TIED
    undecided = f"serves the call, but {', '.join(defective)} is defective" if defective else None
    ranked = [
        verdict
        if verdict is not None
        else _ranked(candidate, beaten[candidate.key], stage, undecided)
        for candidate, verdict in judged
    ]
    return Selection(table, call, tuple(ranked), outcome)


def winner_of(table: SelectionTable, call: Call) -> Candidate | None:
    """Return the candidate that `select` selects; None where none is, or a refusal is defective."""
    applicable: list[Candidate] = []
    device_type = call.device_type
    try:
        arch = call.arch
        for one in table.candidates:
            kind = one.implementation
            archs = kind.supported_archs
            if device_type not in kind.devices or not (archs is None or arch in archs):
                continue
            reason: object = kind.refusal(call)
            if reason is None:
                applicable.append(one)
            elif not isinstance(reason, str) or not reason:
                return None
    except (Exception, SystemExit):
        return None
    return _top(table, applicable) if applicable else None


def _top(table: SelectionTable, applicable: Sequence[Candidate]) -> Candidate | None:
    """Return the one candidate that no other outranks, or None.

    Precedence is transitive and has no cycle, so such a one outranks all others.
    """
    edges = table.precedence.edges
    top, *others = applicable
    for one in others:
        if top.key in edges[one.key]:
            top = one
    beaten = edges[top.key]
    for one in applicable:
        if one is not top and one.key not in beaten:
            return None
    return top


def _ranked(
    candidate: Candidate, edges: tuple[Edge, ...], stage: Stage, undecided: str | None
) -> Verdict:
    if not edges:
        return Verdict(candidate, stage, undecided)
    by = ", ".join([edge.winner for edge in edges])
    return Verdict(candidate, Stage.OUTRANKED, f"outranked by {by}", edges)


def _beating(table: SelectionTable, applicable: list[str], loser: str) -> tuple[Edge, ...]:
    edges = [table.precedence.edge(winner, loser) for winner in applicable]
    return tuple([edge for edge in edges if edge is not None])


def _outcome(excluded: list[Verdict], top: list[str]) -> Outcome:
    if len(top) == 1:
        return Outcome.SELECTED
    if top:
        return Outcome.AMBIGUOUS
    # An interface whose every key is for other device types is another condition than one whose
    # keys run here and refuse: the remedy is a backend, not another call.
    nowhere = all(verdict.stage is Stage.DEVICE for verdict in excluded)
    return Outcome.NO_DEVICE if nowhere else Outcome.UNSERVED
