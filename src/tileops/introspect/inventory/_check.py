"""Whether the record of an interface can have been written: names, kinds, sorts and precedence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tileops.errors import DispatchError
from tileops.introspect.formula import DEVICE_FACTS, Term, read
from tileops.introspect.inventory._model import stand_in_table
from tileops.introspect.inventory._record import FactRecord, InterfaceRecord

__all__ = ["RecordFault", "check_record"]

_KINDS: Final = ("int", "real", "choice")
_TRUTH: Final = frozenset(["not", "and", "or"])
_ASKED: Final = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "pow2"])


class RecordFault(ValueError):  # noqa: N818
    """What no inventory says, in words."""


def check_record(op: str, interface: str, record: InterfaceRecord) -> None:
    """Check a record, and read every formula of it once.

    Raises:
        RecordFault: Nothing can have written it.
        FormulaSyntaxError: A formula is none.
    """
    place = f"{op}.{interface}"
    sorts = {name: "value" if name == "device_type" else "number" for name in DEVICE_FACTS}
    for one in record.facts:
        if one.name in sorts:
            raise RecordFault(f"{place} states the fact {one.name!r} twice")
        _check_fact(place, one)
        sorts[one.name] = "value" if one.kind == "choice" else "number"
    for text in _formulas(record):
        try:
            _expect(read(text), "truth", sorts)
        except RecordFault as fault:
            raise RecordFault(f"{place}: {fault} in {text!r}") from None
    try:
        stand_in_table(op, interface, record)
    except DispatchError as error:
        raise RecordFault(str(error)) from error


def _formulas(record: InterfaceRecord) -> Iterator[str]:
    yield record.possible
    for key in record.keys.values():
        yield from (key.serves, key.raises, key.unknown)
    for gap in record.accepted:
        yield gap.where


def _check_fact(place: str, one: FactRecord) -> None:
    if one.kind not in _KINDS:
        kinds = ", ".join(_KINDS)
        raise RecordFault(f"{place}: fact {one.name} is one of {kinds}, not {one.kind!r}")
    numbers = [one.low, one.high, *([] if one.kind == "choice" else [one.default, *one.values])]
    values = [one.default, *one.values]
    if not all(isinstance(value, bool | int | float | str | None) for value in values):
        raise RecordFault(f"{place}: fact {one.name} has a value that is a list or an object")
    if not all(_is_number(value, one.kind) for value in numbers if value is not None):
        raise RecordFault(f"{place}: fact {one.name} has a value that is no {one.kind}")


def _is_number(value: Any, kind: str) -> bool:
    if isinstance(value, float):
        return kind == "real" and math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _expect(term: Term, wanted: str, sorts: Mapping[str, str]) -> None:
    found = _sort(term, sorts)
    if found != wanted:
        raise RecordFault(f"a {found} stands where a {wanted} belongs")


def _sort(term: Term, sorts: Mapping[str, str]) -> str:
    """Return what a term comes to: a truth, a number or another value."""
    if term.op == "const":
        value = term.args[0]
        return "truth" if isinstance(value, bool) else "number"
    if term.op in ("fact", "in"):
        name = str(term.args[0])
        if name not in sorts:
            raise RecordFault(f"there is no fact {name!r}")
        return sorts[name] if term.op == "fact" else "truth"
    if term.op == "ite":
        condition, yes, no = term.args
        _expect(condition, "truth", sorts)
        kind = _sort(yes, sorts)
        _expect(no, kind, sorts)
        return kind
    if term.op in ("eq", "ne"):
        _expect(term.args[1], _sort(term.args[0], sorts), sorts)
        return "truth"
    for part in term.args:
        _expect(part, "truth" if term.op in _TRUTH else "number", sorts)
    return "truth" if term.op in _TRUTH | _ASKED else "number"
