"""Telling a program, once each, of calls that a faster implementation refused.

Nothing is told unless `warn_on_fallback` is called or TILEOPS_WARN says so.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable

from tileops.errors import WarnSettingError
from tileops.introspect.caller import Caller, caller
from tileops.introspect.suggestion import suggestion
from tileops.ops._observers import Cell, Specialisation, subscribe
from tileops.selection import Outcome, Selection, Stage, Verdict

__all__ = ["FallbackWarning", "refused_first_choices", "start", "warn_on_fallback"]

KNOWN = ("fallback",)
"""What TILEOPS_WARN may name."""

MOST_REASONS = 20
"""Notices per key; a refusal that names the observed value has a reason per value."""


class FallbackWarning(UserWarning):
    """The general implementation, or none, serves a call that another one refused."""


def start(value: str) -> None:
    """Warn of what the environment variable TILEOPS_WARN names.

    Raises:
        WarnSettingError: It names something unknown.
    """
    if value not in KNOWN:
        raise WarnSettingError(value=value, known=", ".join(KNOWN))
    warn_on_fallback()


def warn_on_fallback() -> Callable[[], None]:
    """Warn when the general implementation, or nothing, serves a call that another one refused.

    There is one notice for every op, key and reason. It names the nearest change of the call that
    would select the key, where the analysis finds one, and the command that explains the call.
    It comes as a `FallbackWarning` at the line of the call, and never as an exception.

    Returns:
        A function that ends it. Further calls before that change nothing.
    """
    global _end
    with _lock:
        if _end is None:
            _end = subscribe(_Notices())
        return _stop


def refused_first_choices(selection: Selection) -> tuple[Verdict, ...]:
    """Return the verdicts of keys whose refusal leaves the call to the general one, or to none."""
    selected = selection.selected
    if selected is None and selection.outcome is not Outcome.UNSERVED:
        return ()
    if selected is not None and not selected.candidate.implementation.general:
        return ()
    return tuple(
        one
        for one in selection.verdicts
        if one.stage is Stage.REFUSED and not one.candidate.implementation.general
    )


class _Notices:
    """The observer that tells what was not told before."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str, str | None]] = set()
        self._per_key: Counter[tuple[str, str]] = Counter()

    def __call__(self, event: Specialisation) -> Cell | None:
        for selection in event.selections:
            refused = refused_first_choices(selection)
            with _lock:
                new = [one for one in refused if self._is_new(selection, one)]
                # One analysis at a time: z3's objects belong to one thread.
                message = _notice(selection, new, self._at_limit(selection, new)) if new else None
            if message is not None:
                _emit(message, caller())
        return None

    def _is_new(self, selection: Selection, verdict: Verdict) -> bool:
        key = (selection.table.op, verdict.key)
        reason = (*key, verdict.reason)
        if reason in self._told or self._per_key[key] >= MOST_REASONS:
            return False
        self._told.add(reason)
        self._per_key[key] += 1
        return True

    def _at_limit(self, selection: Selection, verdicts: list[Verdict]) -> list[str]:
        op = selection.table.op
        return [one.key for one in verdicts if self._per_key[op, one.key] == MOST_REASONS]


def _notice(selection: Selection, refused: list[Verdict], last: list[str]) -> str:
    table, selected = selection.table, selection.selected
    served = "nothing serves" if selected is None else f"the general {selected.key!r} serves"
    lines = [f"tileops: {served} {table.op}.{table.interface} ({selection.call.describe()})"]
    for one in refused:
        lines.append(f"  {one.key} refused: {one.reason}")
        change = suggestion(selection, one.key)
        if change is not None:
            lines.append(f"    nearest call that selects it: {change}")
    lines += [f"  no more is told of {key}; TILEOPS_TRACE records every call" for key in last]
    return "\n".join([*lines, f"  {selection.reproduction()}"])


def _emit(message: str, at: Caller) -> None:
    try:
        warnings.warn_explicit(message, FallbackWarning, at.file, at.line)
    except FallbackWarning:
        # The program turns warnings into errors; a notice must not make its call fail.
        print(message, file=sys.stderr)


def _stop() -> None:
    global _end
    with _lock:
        end, _end = _end, None
    if end is not None:
        end()


_end: Callable[[], None] | None = None
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


# Another thread may hold the lock at a fork, and no such thread exists in the child.
os.register_at_fork(after_in_child=_renew_lock)
