"""Boundaries as a module of tests: both sides of each, with the facts stated."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import torch

from tileops.introspect.boundaries import Boundaries, outcome_name
from tileops.introspect.formula import DEVICE_FACTS, Values, spell
from tileops.introspect.symbolic.exploration import Explored, Witness
from tileops.ops.catalogue import op_class

__all__ = ["boundaries_module"]


def boundaries_module(
    found: Iterable[tuple[Explored, Boundaries]], modules: Iterable[str] = ()
) -> str:
    """Return the text of a module with one parametrised test for each interface.

    It imports *modules*, whose keys the boundaries are about.
    """
    given = list(found)
    registering = {f"import {module}  # registers keys" for module in modules}
    imports = {"import pytest", "import torch", "from tileops.selection import select"}
    imports |= registering
    for explored, _ in given:
        spec = explored.form.spec
        imports.add(f"from {spec.__module__} import {spec.__qualname__}")
    ops = {explored.table.op: explored for explored, _ in given}
    imports |= {_op_import(name) for name in ops}
    head = sorted(one for one in imports if one.startswith("import"))
    rest = sorted(one for one in imports if one.startswith("from"))
    tests = [_test(explored, one) for explored, one in given]
    lines = '"""Which key is selected on both sides of every boundary."""\n\n'
    return lines + "\n".join([*head, "", *rest, "", "", ""]) + "\n\n".join(tests)


def _op_import(name: str) -> str:
    op = op_class(name)
    return f"from {op.__module__} import {name}" if op is not None else ""


def _test(explored: Explored, found: Boundaries) -> str:
    rows: dict[str, str] = {}
    for one in found.found:
        for witness in (one.before, one.after):
            rows.setdefault(*_row(explored, one.fact, witness))
    table, name = explored.table, explored.table.interface
    parameters = "".join(f"        {row},\n" for row in rows.values())
    return (
        '@pytest.mark.parametrize(\n    ("call", "outcome"),\n    [\n'
        f"{parameters}    ],\n)\n"
        f"def test_boundaries_of_{name}(call, outcome):\n"
        f'    """Each side of a boundary of {table.op}.{name} has the outcome it had when it was '
        'found."""\n'
        f'    selection = select({table.op}.selection_tables()["{name}"], call)\n'
        "    selected = selection.selected\n\n"
        "    assert (selection.outcome.value if selected is None else selected.key) == outcome\n"
    )


def _row(explored: Explored, fact: str, witness: Witness) -> tuple[str, str]:
    call = _call(explored, witness.values)
    place = explored.model.domain.board_of(witness.values) or witness.values["device_type"]
    outcome = outcome_name(witness.selection)
    name = f"{fact}-{spell(witness.values[fact])}-{place}-{outcome}"
    return call, f'pytest.param({call}, "{outcome}", id="{name}")'


def _call(explored: Explored, values: Values) -> str:
    """Return the expression of a call; facts that have their default are left out."""
    form, domain = explored.form, explored.model.domain
    words = [f"{name}={values[name]}" for name in DEVICE_FACTS[1:] if values[name] is not None]
    if values["device_type"] != "cuda":
        words.insert(0, f'device="{values["device_type"]}"')
    for one in domain.facts:
        if one.required or values[one.name] != one.default:
            words.append(f"{one.name}={_literal(form.decode(one.name, values[one.name]))}")
    return f"{form.spec.__qualname__}({', '.join(words)})"


def _literal(value: Any) -> str:
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}[{value.name!r}]"
    return repr(value)
