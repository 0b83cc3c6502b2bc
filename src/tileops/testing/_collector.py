"""Collecting the calls that tests ask about, over all worker processes, and judging them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tileops.errors import DeviceFactsError
from tileops.errors.wording import told
from tileops.introspect.boundaries import outcome_name
from tileops.introspect.coverage import Asked, InterfaceCoverage, coverage
from tileops.introspect.symbolic.exploration import explore
from tileops.introspect.symbolic.spec import form_of
from tileops.ops._observers import watch
from tileops.ops.catalogue import in_tree_ops
from tileops.ops.op import Op
from tileops.selection import Selection, SelectionTable
from tileops.testing._report import report_lines, share_tested

__all__ = ["Collector"]

_OUTPUT = "tileops_coverage"

Place = tuple[str, str]
"""An op's name and an interface."""


class Collector:
    """Notes every call that an op decides while tests run.

    Calls count for an op only when its candidates are those that the op has outside tests, too.

    Args:
        names: The ops to report; every in-tree op by default.
        threshold: The percentage of boundary pairs below which the run fails, or None.
    """

    def __init__(self, names: tuple[str, ...], threshold: float | None) -> None:
        self._names = names
        self._threshold = threshold
        self._asked: dict[Place, dict[Asked, None]] = {}
        self._tables: dict[Place, SelectionTable] | None = None
        self._answers: tuple[InterfaceCoverage, ...] = ()
        self._end: Callable[[], None] = lambda: None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin to note calls."""
        self._ops = _ops_named(self._names)
        self._end = watch(self.note)

    def note(self, selection: Selection) -> None:
        """Note one decision."""
        place = (selection.table.op, selection.table.interface)
        if self._tables is None:
            # Asked for late: what a conftest registers belongs to the tables.
            self._tables = _tables_of(self._ops)
        if self._tables.get(place) == selection.table:
            asked = _asked(selection)
            if asked is not None:
                self._asked.setdefault(place, {})[asked] = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the calls on in a worker; judge them in the process that reports."""
        self._end()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = [(place, list(map(_packed, a))) for place, a in self._asked.items()]
            return
        self._answers = self._judged()
        if self._fails and session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the calls of a worker."""
        for place, asked in getattr(node, "workeroutput", {}).get(_OUTPUT, ()):
            found = self._asked.setdefault(tuple(place), {})
            found.update(dict.fromkeys(map(_unpacked, asked)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the report."""
        terminalreporter.section("tileops selection coverage")
        for line in report_lines(self._answers):
            terminalreporter.write_line(line)
        if self._fails:
            share = share_tested(self._answers)
            terminalreporter.write_line(
                f"FAIL: {share:.1f} % of the boundary pairs are tested on both sides, "
                f"{self._threshold:g} % are required",
                red=True,
            )

    @property
    def _fails(self) -> bool:
        return self._threshold is not None and share_tested(self._answers) < self._threshold

    def _judged(self) -> tuple[InterfaceCoverage, ...]:
        return tuple(
            coverage(
                explore(table, self._ops[op].interfaces[interface].calls()),
                self._asked.get((op, interface), ()),
            )
            for (op, interface), table in _tables_of(self._ops).items()
        )


def _ops_named(names: tuple[str, ...]) -> dict[str, type[Op]]:
    known = in_tree_ops()
    if not names:
        return known
    found = {}
    for name in names:
        module, _, op = name.rpartition(":")
        kind = getattr(_imported(module), op, None) if module else known.get(name)
        if not (isinstance(kind, type) and issubclass(kind, Op)):
            raise pytest.UsageError(
                f"--tileops-coverage-op: there is no op {name!r}; in-tree are {', '.join(known)}, "
                "others are named MODULE:OP"
            )
        found[op] = kind
    return found


def _imported(name: str) -> ModuleType:
    """Import a module that an option names.

    Raises:
        pytest.UsageError: It cannot be imported.
    """
    try:
        return import_module(name)
    except BaseException as error:
        # Whatever a module raises is its failure, but for a person who ends the run.
        if type(error) is KeyboardInterrupt:
            raise
        raise pytest.UsageError(
            f"--tileops-coverage-op: cannot import {name}: {told(error)}"
        ) from error


def _tables_of(ops: dict[str, type[Op]]) -> dict[Place, SelectionTable]:
    return {
        (name, interface): table
        for name, op in ops.items()
        for interface, table in op.selection_tables().items()
    }


def _asked(selection: Selection) -> Asked | None:
    call: Any = selection.call
    spec: Any = type(call)
    try:
        values = form_of(spec).values(call)
    except DeviceFactsError:
        # The device is on no machine of this kind: no formula is about such a call.
        return None
    return Asked(tuple(values.items()), outcome_name(selection))


def _packed(asked: Asked) -> tuple[list[tuple[str, Any]], str]:
    """Return plain values, which is all that workers can send."""
    pairs = [
        (name, ("fraction", str(value)) if isinstance(value, Fraction) else value)
        for name, value in asked.values
    ]
    return pairs, asked.outcome


def _unpacked(packed: tuple[list[tuple[str, Any]], str]) -> Asked:
    pairs, outcome = packed
    values = tuple(
        (name, Fraction(value[1]) if isinstance(value, (tuple, list)) else value)
        for name, value in pairs
    )
    return Asked(values, outcome)
