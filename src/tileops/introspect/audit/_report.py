"""What an audit says: frozen values, rendered elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tileops.introspect.formula import Domain, Term, Unmodelled, render
from tileops.introspect.symbolic.exploration import Witness
from tileops.selection import Candidate

__all__ = [
    "Ambiguity",
    "Audit",
    "Dead",
    "Doubt",
    "Gap",
    "IdlePreference",
    "InterfaceAudit",
    "PlaceAudit",
    "Proof",
    "Raising",
]


class Proof(Enum):
    """What became of a claim about every possible call."""

    PROVED = "proved"
    REFUTED = "refuted"
    NOT_PROVED = "not proved"


@dataclass(frozen=True)
class Region:
    """Calls that something is found of.

    Attributes:
        conditions: Every possible call that satisfies them is one; empty where only the witness
            is known.
        witness: The plainest of them, confirmed by the real code.
    """

    conditions: tuple[Term, ...]
    witness: Witness

    def text(self) -> str:
        """Say where it is."""
        return " and ".join(render(one) for one in self.conditions) or "this call at least"


@dataclass(frozen=True)
class Ambiguity:
    """Two keys that both serve some calls, without precedence.

    Attributes:
        winner: The key that a preference should favour: the narrower, where one is.
        loser: The other.
        places: The architectures where it happens.
        regions: The calls.
        narrower: Whether every call of the winner is one of the loser, so that the preference is
            surely right.
    """

    winner: Candidate
    loser: Candidate
    places: tuple[str, ...]
    regions: tuple[Region, ...]
    narrower: bool

    @property
    def remedy(self) -> str:
        """The line that settles it."""
        stated = sorted({*self.winner.implementation.preferred_over, self.loser.key})
        return f"preferred_over = frozenset({{{', '.join(map(_quoted, stated))}}})"


def _quoted(key: str) -> str:
    return f'"{key}"'


@dataclass(frozen=True)
class Gap:
    """Possible calls that no key serves, where some key is available or an inventory has one.

    Attributes:
        places: The architectures where it happens.
        region: The calls.
        accepted: Why they may stay unserved, if the inventory says so.
    """

    places: tuple[str, ...]
    region: Region
    accepted: str | None = None


@dataclass(frozen=True)
class Dead:
    """A key that is never selected.

    Attributes:
        candidate: The key.
        applies: Whether it applies to any possible call.
        blockers: The keys of which one outranks it wherever it applies.
        witness: The plainest call that it applies to and loses; None where it applies to none.
    """

    candidate: Candidate
    applies: bool
    blockers: tuple[str, ...] = ()
    witness: Witness | None = None


@dataclass(frozen=True)
class IdlePreference:
    """A stated preference between keys that never both apply."""

    winner: Candidate
    loser: str


@dataclass(frozen=True)
class Raising:
    """A refusal that raises, or returns no sentence, for some possible calls."""

    candidate: Candidate
    region: Region
    problem: str


@dataclass(frozen=True)
class Doubt:
    """A claim that is neither proved nor refuted.

    Attributes:
        claim: What should have been proved.
        reasons: What stands in the way; empty where the prover gave up.
        calls: How many concrete calls were tried without finding a counterexample.
    """

    claim: str
    reasons: tuple[Unmodelled, ...]
    calls: int


@dataclass(frozen=True)
class PlaceAudit:
    """One architecture of one interface.

    Attributes:
        place: ``SM90``, ``cpu``.
        boards: The known boards it stands for.
        available: The keys that run there.
        unambiguous: Whether no possible call there is ambiguous.
        served: Whether every possible call there is served; where no key is available, none is.
    """

    place: str
    boards: tuple[str, ...]
    available: tuple[str, ...]
    unambiguous: Proof
    served: Proof


@dataclass(frozen=True)
class InterfaceAudit:
    """Everything found out about one interface."""

    op: str
    interface: str
    candidates: tuple[Candidate, ...]
    domain: Domain
    places: tuple[PlaceAudit, ...]
    ambiguities: tuple[Ambiguity, ...] = ()
    gaps: tuple[Gap, ...] = ()
    more_gaps: bool = False
    dead: tuple[Dead, ...] = ()
    idle: tuple[IdlePreference, ...] = ()
    raising: tuple[Raising, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    unmodelled: tuple[Unmodelled, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def findings(self) -> int:
        """How much there is to mend."""
        gaps = [one for one in self.gaps if one.accepted is None]
        return sum(map(len, (self.ambiguities, gaps, self.dead, self.idle, self.raising)))

    @property
    def clean(self) -> bool:
        """Whether there is nothing to mend."""
        return self.findings == 0

    @property
    def conclusive(self) -> bool:
        """Whether every claim was proved or refuted."""
        return not self.doubts


@dataclass(frozen=True)
class Audit:
    """The audit of one op or of the whole tree."""

    interfaces: tuple[InterfaceAudit, ...]

    @property
    def clean(self) -> bool:
        """Whether there is nothing to mend."""
        return all(one.clean for one in self.interfaces)

    @property
    def conclusive(self) -> bool:
        """Whether every claim was proved or refuted."""
        return all(one.conclusive for one in self.interfaces)
