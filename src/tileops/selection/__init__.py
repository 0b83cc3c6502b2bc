"""The engine: candidates, precedence, verdicts, and the one function that decides.

Standard library only. Nothing here runs a kernel, queries a device or prints; a decision is a
frozen value that others read.
"""

from tileops.selection._candidate import (
    IN_TREE,
    Call,
    Candidate,
    Implementation,
    Location,
    Origin,
)
from tileops.selection._flag import OPTION_NAMES, fact_flag
from tileops.selection._judge import judge, unavailable
from tileops.selection._precedence import Edge, EdgeKind, Precedence
from tileops.selection._select import select, winner_of
from tileops.selection._selection import Selection
from tileops.selection._table import SelectionTable
from tileops.selection._verdict import Outcome, Stage, Verdict

__all__ = [
    "IN_TREE",
    "OPTION_NAMES",
    "Call",
    "Candidate",
    "Edge",
    "EdgeKind",
    "Implementation",
    "Location",
    "Origin",
    "Outcome",
    "Precedence",
    "Selection",
    "SelectionTable",
    "Stage",
    "Verdict",
    "fact_flag",
    "judge",
    "select",
    "unavailable",
    "winner_of",
]
