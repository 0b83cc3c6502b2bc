"""Telling a program, once each, of calls that another implementation would serve if repaired.

A general implementation is the right one for most of what it serves, so it is told of only where
a caller could have another one for the same result: see `tileops.introspect.repair`. Nothing is
told unless `warn_on_fallback` is called or TILEOPS_WARN says so.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tileops.call_spec import spell
from tileops.errors import WarnSettingError
from tileops.introspect.caller import Caller, caller
from tileops.introspect.repair import Repair, repairs
from tileops.introspect.suggestion import suggestion
from tileops.ops._observers import Cell, Specialisation, subscribe
from tileops.selection import Outcome, Selection, Stage, Verdict

__all__ = ["FallbackWarning", "refused_first_choices", "start", "warn_on_fallback"]

_log = logging.getLogger(__name__)

KNOWN = ("fallback",)
"""What TILEOPS_WARN may name."""

MOST_REASONS = 20
"""Notices per key; a refusal that names the observed value has a reason per value."""


class FallbackWarning(UserWarning):
    """A call that nothing serves, or that a repair would take from the general implementation."""


def start(value: str) -> None:
    """Warn of what the environment variable TILEOPS_WARN names.

    Raises:
        WarnSettingError: It names something unknown.
    """
    if value not in KNOWN:
        raise WarnSettingError(value=value, known=", ".join(KNOWN))
    warn_on_fallback()


def warn_on_fallback() -> Callable[[], None]:
    """Warn of calls that need not have come to the general implementation, or to none.

    A general implementation that serves a call is told of where another key refused it and would
    be selected after a repair: another dtype, or another value of facts that the call spec names
    ``ADJUSTABLE``, such as a layout or a size that can be padded. That another size of the problem
    would select another key is no reason to warn. A call that nothing serves is always told of.

    There is one notice for every op, key and reason. It names the nearest change of the call that
    would select the key, and the command that explains the call. It comes as a `FallbackWarning`
    at the line of the call, and never as an exception.

    Returns:
        A function that ends it. Further calls before that change nothing, and what was returned
        for an earlier time does not end a later one.
    """
    global _end
    with _lock:
        if _end is None:
            _end = _ending(subscribe(_Notices()))
        return _end


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
            with _lock:
                # One analysis at a time: z3's objects belong to one thread.
                found = _told(selection, self._new(selection))
                for verdict, _ in found:
                    self._note(selection, verdict)
                message = _notice(selection, found, self._at_limit(selection, found))
            if found:
                _emit(message, caller())
        return None

    def _new(self, selection: Selection) -> list[Verdict]:
        return [one for one in refused_first_choices(selection) if self._is_new(selection, one)]

    def _is_new(self, selection: Selection, verdict: Verdict) -> bool:
        key = (selection.table.op, verdict.key)
        return (*key, verdict.reason) not in self._told and self._per_key[key] < MOST_REASONS

    def _note(self, selection: Selection, verdict: Verdict) -> None:
        key = (selection.table.op, verdict.key)
        self._told.add((*key, verdict.reason))
        self._per_key[key] += 1

    def _at_limit(self, selection: Selection, found: _Told) -> list[str]:
        op = selection.table.op
        return [one.key for one, _ in found if self._per_key[op, one.key] == MOST_REASONS]


_Told = Sequence[tuple[Verdict, str | None]]
"""Verdicts to tell of, each with the change that would select its key."""


def _told(selection: Selection, refused: Sequence[Verdict]) -> _Told:
    """Return what is worth telling: of a call that is served, what a repair would select."""
    if selection.selected is None:
        return [(one, suggestion(selection, one.key)) for one in refused]
    found = _repairs(selection, [one.key for one in refused]) if refused else {}
    return [(one, _in_words(selection, found[one.key])) for one in refused if one.key in found]


def _repairs(selection: Selection, keys: Sequence[str]) -> Mapping[str, Repair]:
    try:
        return repairs(selection, keys)
    except Exception:
        # What the code of others stumbles over in calls nobody made, the program must not.
        _log.debug("no repair for %s", ", ".join(keys), exc_info=True)
        return {}


def _in_words(selection: Selection, repair: Repair) -> str:
    call: Any = selection.call
    return ", ".join(
        f"{name} {spell(value)} instead of {spell(getattr(call, name))}"
        for name, value in repair.items()
    )


def _notice(selection: Selection, found: _Told, last: list[str]) -> str:
    table, selected = selection.table, selection.selected
    served = "nothing serves" if selected is None else f"the general {selected.key!r} serves"
    lines = [f"tileops: {served} {table.op}.{table.interface} ({selection.call.describe()})"]
    for one, change in found:
        lines.append(f"  {one.key} refused: {one.reason}")
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


def _ending(unsubscribe: Callable[[], None]) -> Callable[[], None]:
    def end() -> None:
        global _end
        with _lock:
            if _end is not end:
                return
            _end = None
        unsubscribe()

    return end


_end: Callable[[], None] | None = None
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


# Another thread may hold the lock at a fork, and no such thread exists in the child.
os.register_at_fork(after_in_child=_renew_lock)
