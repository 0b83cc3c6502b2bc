"""The whole decision: judge every candidate, then let precedence settle the applicable ones."""

from __future__ import annotations

from tileops.selection._candidate import Call
from tileops.selection._judge import judge
from tileops.selection._selection import Selection
from tileops.selection._table import SelectionTable
from tileops.selection._verdict import Outcome, Stage, Verdict


def select(table: SelectionTable, call: Call) -> Selection:
    """Decide which key of *table* serves *call*.

    The selected key is the one applicable key that no other applicable key outranks. Order never
    decides.
    """
    verdicts = {one.key: judge(one, call) for one in table.candidates}
    applicable = [key for key, verdict in verdicts.items() if verdict is None]
    beaten = {
        loser: tuple(
            edge for winner in applicable if (edge := table.precedence.edge(winner, loser))
        )
        for loser in applicable
    }
    top = [key for key in applicable if not beaten[key]]
    outcome = _outcome([v for v in verdicts.values() if v is not None], top)
    stage = Stage.SELECTED if outcome is Outcome.SELECTED else Stage.TIED
    defective = [key for key, v in verdicts.items() if v is not None and v.stage is Stage.RAISED]
    undecided = f"serves the call, but {', '.join(defective)} is defective" if defective else None
    ranked = []
    for candidate in table.candidates:
        verdict = verdicts[candidate.key]
        if verdict is None:
            edges = beaten[candidate.key]
            by = ", ".join(edge.winner for edge in edges)
            verdict = (
                Verdict(candidate, Stage.OUTRANKED, f"outranked by {by}", edges)
                if edges
                else Verdict(candidate, stage, undecided)
            )
        ranked.append(verdict)
    return Selection(table, call, tuple(ranked), outcome)


def _outcome(excluded: list[Verdict], top: list[str]) -> Outcome:
    if any(verdict.stage is Stage.RAISED for verdict in excluded):
        return Outcome.DEFECTIVE
    if len(top) == 1:
        return Outcome.SELECTED
    if top:
        return Outcome.AMBIGUOUS
    # An interface whose every key is for other device types is another condition than one whose
    # keys run here and refuse: the remedy is a backend, not another call.
    nowhere = all(verdict.stage is Stage.DEVICE for verdict in excluded)
    return Outcome.NO_DEVICE if nowhere else Outcome.UNSERVED
