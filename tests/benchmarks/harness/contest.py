"""One case: our op and every peer that agrees with it, ready to be timed on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch

from harness.agreement import DisagreementError, check_agreement, tolerance_for
from harness.case import Case
from harness.clock import Launch
from harness.inputs import Inputs
from harness.peers import Builder, Family, Function, peers_of
from harness.record import PeerRow
from harness.subject import Subject, bare_launches, function_of
from harness.timing import described

__all__ = ["COPY", "OURS", "Contest"]

OURS = "ours"
COPY = "copy of the same size"


@dataclass(frozen=True)
class Contest:
    """A case whose contestants have all run once.

    Attributes:
        case: The case.
        sets: The sets of inputs.
        subject: Our op.
        peers: The peers that agree, by name.
        rows: What is known of every peer so far.
    """

    case: Case
    sets: Sequence[Inputs]
    subject: Subject
    peers: dict[str, Function]
    rows: tuple[PeerRow, ...]

    @classmethod
    def of(
        cls, case: Case, sets: Sequence[Inputs], family: Family, wanted: Sequence[str] | None = None
    ) -> Contest:
        """Run our op, then each peer, and compare.

        Args:
            case: The case.
            sets: The sets of inputs; the first is computed.
            family: The peers of the case's family.
            wanted: The peers to run; None runs all.

        Raises:
            SelectionError: No kernel serves the case.
            PlanError: Our op ran something else than it selected.
        """
        subject = Subject.of(case, sets)
        peers: dict[str, Function] = {}
        rows = []
        for name, builder in peers_of(family, case.entry.name).items():
            if wanted is not None and name not in wanted:
                continue
            row, function = _admit(
                name, builder, case, sets[0], subject, family.tolerance.get(name)
            )
            rows.append(row)
            if function is not None:
                peers[name] = function
        return cls(case, sets, subject, peers, tuple(rows))

    def launches(self, copy: bool = True) -> dict[str, Launch]:
        """Return what to time by name, ours first; at the end a copy of the same size, if asked."""
        sets = self.sets
        contestants = {OURS: Launch(partial(_on_set, self.subject.function, sets), len(sets))}
        for name, function in self.peers.items():
            contestants[name] = Launch(partial(_on_set, function, sets), len(sets))
        if copy:
            contestants[COPY] = self._copy()
        return contestants

    def _copy(self) -> Launch:
        """Return a kernel that moves as many bytes as the case, half read and half written."""
        elements = max(1, self.case.cost.bytes // 8)
        device = self.case.call.device
        sources = [torch.rand(elements, device=device) for _ in self.sets]
        return Launch(lambda i: torch.neg(sources[i]), len(sources))

    def host_calls(self) -> dict[str, Callable[[], Any]]:
        """Return the eager calls whose host time is of interest."""
        inputs = self.sets[0]
        calls: dict[str, Callable[[], Any]] = {"op": partial(self.subject.function, *inputs)}
        bare = self.bare
        if bare:
            calls["bare"] = bare[0] if len(bare) == 1 else lambda: [launch() for launch in bare]
        result = self.subject.result
        if isinstance(result, torch.Tensor):
            calls["empty_like"] = lambda: torch.empty_like(result)
        else:
            calls["empty_like"] = lambda: [torch.empty_like(one) for one in result]
        return calls | self.peer_calls()

    def peer_calls(self) -> dict[str, Callable[[], Any]]:
        """Return the eager calls of the peers."""
        inputs = self.sets[0]
        return {name: partial(function, *inputs) for name, function in self.peers.items()}

    @cached_property
    def bare(self) -> tuple[Callable[[], Any], ...]:
        """The launches of a call; an op that has bound nothing yet shows them."""
        op, inputs = self.case.new_op(), self.sets[0]
        return bare_launches(op.kernels_for(tuple(inputs)), partial(function_of(op), *inputs))


def _on_set(function: Function, sets: Sequence[Inputs], i: int) -> Any:
    return function(*sets[i])


def _admit(
    name: str,
    builder: Builder,
    case: Case,
    inputs: Inputs,
    subject: Subject,
    tolerance: float | None,
) -> tuple[PeerRow, Function | None]:
    try:
        function = builder(case.call.params, inputs)
        tolerance = tolerance_for(inputs) if tolerance is None else tolerance
        error = check_agreement(subject.result, function(*inputs), tolerance)
    except ImportError as missing:
        return PeerRow(name=name, status="absent", detail=described(missing)), None
    except NotImplementedError as unserved:
        return PeerRow(name=name, status="absent", detail=str(unserved)), None
    except DisagreementError as wrong:
        row = PeerRow(name=name, status="disagrees", detail=str(wrong), error=wrong.error)
        return row, None
    except Exception as failure:
        # A peer may raise anything at all; that is a result about the peer.
        return PeerRow(name=name, status="failed", detail=described(failure)), None
    return PeerRow(name=name, status="timed", error=error), function
