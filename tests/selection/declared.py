"""Calls and implementations that tests of the engine declare, made without torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from tileops.selection import Candidate, SelectionTable


@dataclass(frozen=True)
class PlainCall:
    """A call with one fact besides the device facts."""

    device_type: str | None = "cuda"
    arch: int | None = 90
    n: int = 256

    def options(self) -> tuple[str, ...]:
        return ("--n", str(self.n), "--arch", str(self.arch))

    def describe(self) -> str:
        return f"n {self.n}, arch {self.arch}"


def candidate(
    key: str,
    *,
    devices: Collection[str] = ("cuda",),
    archs: Collection[int] | None = None,
    general: bool = False,
    over: Iterable[str] = (),
    refuses: object = None,
    asked: list[str] | None = None,
) -> Candidate:
    """Return a candidate whose ``refusal`` returns *refuses*, or raises or calls it.

    Every question is noted in *asked*.
    """

    def refusal(cls: type, call: Any) -> Any:
        if asked is not None:
            asked.append(key)
        if isinstance(refuses, BaseException):
            raise refuses
        return refuses(call) if callable(refuses) else refuses

    declared = {
        "devices": frozenset(devices),
        "supported_archs": archs,
        "general": general,
        "preferred_over": frozenset(over),
        "refusal": classmethod(refusal),
    }
    return Candidate(key, type(f"{key.title()}Kernel", (), declared))


def table(*candidates: Candidate) -> SelectionTable:
    """Return the table of one interface of one op."""
    return SelectionTable("PlainFwdOp", "plain", candidates)
