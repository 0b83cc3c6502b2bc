"""Two runs side by side: which workloads became faster or slower, beyond a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.record import Results, Row

__all__ = ["Change", "Comparison", "compare"]

Verdict = Literal["faster", "slower", "same", "new", "gone", "failed"]


@dataclass(frozen=True)
class Change:
    """One workload in two runs.

    Attributes:
        name: The op and the workload.
        old_us: The old time, None where there is none.
        new_us: The new time, None where there is none.
        ratio: New over old: below one, it became faster.
        keys: The selected keys, with an arrow where selection changed.
        verdict: What became of it; ``failed`` where the new run could not time it.
    """

    name: str
    old_us: float | None
    new_us: float | None
    ratio: float | None
    keys: str
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """Every workload of two runs, in the order of the new one.

    Attributes:
        changes: The workloads.
        threshold: The relative change that is not taken for noise.
        remarks: What makes the two runs hard to compare.
    """

    changes: tuple[Change, ...]
    threshold: float
    remarks: tuple[str, ...]

    @property
    def worse(self) -> tuple[Change, ...]:
        """The workloads that became slower, failed or are gone."""
        return tuple(one for one in self.changes if one.verdict in ("slower", "failed", "gone"))


def compare(old: Results, new: Results, threshold: float) -> Comparison:
    """Compare two runs; a change counts beyond *threshold* and beyond what both runs scatter."""
    before = {_name(row): row for row in old.rows}
    after = {_name(row): row for row in new.rows}
    changes = [_change(name, before.get(name), after.get(name), threshold) for name in after]
    changes += [
        _change(name, row, None, threshold)
        for name, row in before.items()
        if name not in after and name not in new.unfinished
    ]
    return Comparison(tuple(changes), threshold, _remarks(old, new))


def _change(name: str, old: Row | None, new: Row | None, threshold: float) -> Change:
    before = None if old is None else old.timing
    after = None if new is None else new.timing
    keys = " -> ".join(
        dict.fromkeys(", ".join(row.keys.values()) for row in (old, new) if row and row.keys)
    )
    old_us = None if before is None else before.median_us
    new_us = None if after is None else after.median_us
    if before is None or after is None:
        verdict: Verdict = "gone" if new is None else "failed" if after is None else "new"
        return Change(name, old_us, new_us, None, keys, verdict)
    ratio = after.median_us / before.median_us
    overlap = after.low_us <= before.high_us and before.low_us <= after.high_us
    verdict = "same"
    if not overlap and round(abs(ratio - 1), 6) > threshold:
        verdict = "slower" if ratio > 1 else "faster"
    return Change(name, old_us, new_us, round(ratio, 4), keys, verdict)


def _remarks(old: Results, new: Results) -> tuple[str, ...]:
    remarks = []
    if old.board.name != new.board.name:
        remarks.append(f"the boards differ: {old.board.name} and {new.board.name}")
    for name in ("torch", "triton", "tilelang", "cuda"):
        a, b = old.versions.get(name), new.versions.get(name)
        if a != b:
            remarks.append(f"{name} {a} and {b}")
    if new.ceilings is not None and old.ceilings is not None:
        drift = new.ceilings.copy_tbs / old.ceilings.copy_tbs
        if abs(drift - 1) > 0.02:
            remarks.append(f"the copy bandwidth of the new run is {drift:.3f} times the old one's")
    return tuple(remarks)


def _name(row: Row) -> str:
    return f"{row.op}/{row.workload}"
