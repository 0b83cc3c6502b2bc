"""What selection says of one key, and of a whole call."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tileops.selection._candidate import Candidate
from tileops.selection._precedence import Edge


class Stage(Enum):
    """How far a key came. The first four exclude it; the last three applied."""

    DEVICE = "device"
    ARCH = "arch"
    RAISED = "raised"
    REFUSED = "refused"
    OUTRANKED = "outranked"
    TIED = "tied"
    SELECTED = "selected"

    @property
    def applicable(self) -> bool:
        """Whether the key is available and serves the call."""
        return self in (Stage.OUTRANKED, Stage.TIED, Stage.SELECTED)


class Outcome(Enum):
    """What a selection came to."""

    SELECTED = "selected"
    AMBIGUOUS = "ambiguous"
    UNSERVED = "unserved"
    NO_DEVICE = "no_device"
    DEFECTIVE = "defective"


@dataclass(frozen=True, init=False)
class Verdict:
    """What became of one key.

    Attributes:
        candidate: The key and its implementation.
        stage: How far it came.
        reason: Why it came no further; None for the selected, and for the tied unless another
            key's defect leaves the call undecided.
        edges: For an outranked key, one edge from every applicable key that outranks it.
        error: What its ``refusal`` raised, at stage RAISED.
    """

    candidate: Candidate
    stage: Stage
    reason: str | None = None
    edges: tuple[Edge, ...] = ()
    error: BaseException | None = field(default=None, compare=False)

    def __init__(
        self,
        candidate: Candidate,
        stage: Stage,
        reason: str | None = None,
        edges: tuple[Edge, ...] = (),
        error: BaseException | None = None,
    ) -> None:
        # A frozen dataclass sets each member by a call, and every new call makes one per key.
        self.__dict__.update(
            candidate=candidate, stage=stage, reason=reason, edges=edges, error=error
        )

    @property
    def key(self) -> str:
        """The candidate's key."""
        return self.candidate.key
