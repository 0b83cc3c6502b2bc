"""New sizes: calls like a case's that differ from one another in one size.

Each finds no plan of its own, and runs programs that the first of them has built.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch

from harness.case import Case
from harness.peers import family_of
from harness.subject import function_of
from tileops.ops._signature import shape_of
from tileops.ops.op import Op
from tileops.tensor_spec import TensorSpec

__all__ = ["WARM", "calls_of_new_sizes", "new_sizes"]

SIZES = 96
"""Sizes wanted, each for one call."""

WARM = 8
"""Further sizes whose calls come first and are not read: they build, and show the form."""

REACH = 8 * (SIZES + WARM)
"""How far above that of the case a size may lie; programs may want multiples of eight."""

Described = tuple[TensorSpec | None, ...]


def new_sizes(case: Case) -> tuple[Described, ...]:
    """Return inputs that differ in one dim and run the same programs, the largest first.

    It is the dim that the family names for the op, else the first one of the inputs for which there
    are enough sizes. The programs need not be those of the case.
    """
    op = case.new_op()
    most: list[Described] = []
    for dim in _dims(case):
        groups: dict[Hashable, list[Described]] = {}
        for inputs in _resized(case, dim):
            programs = _programs(op, inputs)
            if programs is None:
                continue
            alike = groups.setdefault(programs, [])
            alike.append(inputs)
            most = max(most, alike, key=len)
            if len(most) == SIZES + WARM:
                return (most[-1], *most[:-1])
    return tuple(most[-1:] + most[:-1])


def calls_of_new_sizes(case: Case) -> Iterator[Callable[[], Any]]:
    """Return calls of one op, each of a size that has not come before; a few have been made."""
    function = function_of(case.new_op())
    calls = iter([partial(function, *one) for one in _views(new_sizes(case))])
    # The largest comes first, so that torch has memory for every later result.
    for call in islice(calls, WARM):
        call()
    return calls


def _dims(case: Case) -> tuple[str, ...]:
    """Return the dims of the inputs by name, that of the family first."""
    named = family_of(case.entry.family).grows.get(case.entry.name)
    scope = case.call.scope()
    axes = [
        axis.name
        for declared, spec in zip(case.entry.signature.inputs, case.inputs, strict=True)
        if spec is not None
        for axis in declared.shape.choose(scope)
    ]
    names = [
        name for name in (named, *axes) if name in case.call.dims and case.call.dims[name] != ()
    ]
    return tuple(dict.fromkeys(names))


def _resized(case: Case, dim: str) -> Iterator[Described]:
    """Yield the inputs with larger and larger sizes of a dim, of the first one of a splice."""
    scope, known = case.call.scope(), case.call.dims[dim]
    for more in range(1, REACH + 1):
        larger = (known[0] + more, *known[1:]) if isinstance(known, tuple) else known + more
        changed = scope.extended({dim: larger})
        yield tuple(
            None
            if spec is None
            else TensorSpec(
                shape_of(declared.shape.choose(changed), changed), spec.dtype, spec.device
            )
            for declared, spec in zip(case.entry.signature.inputs, case.inputs, strict=True)
        )


def _programs(op: Op, inputs: Described) -> Hashable | None:
    """Return what is built for a call; None where nothing serves it."""
    found = []
    for interface, call in op.requests(*inputs):
        selected = op.explain(interface, call).selected
        if selected is None:
            return None
        kind = selected.candidate.implementation
        found.append((interface, kind, kind.entry_for(call)[0]))
    return tuple(found)


def _views(described: Sequence[Described]) -> Iterable[tuple[torch.Tensor | None, ...]]:
    """Return tensors of zeros as described, those of one input in the same memory."""
    columns = []
    for specs in zip(*described, strict=True):
        if specs[0] is None:
            columns.append([None] * len(specs))
            continue
        first = specs[0]
        room = max(one.numel for one in specs)
        arena = torch.zeros(room, dtype=first.dtype, device=first.device)
        columns.append([arena[: one.numel].view(one.shape) for one in specs])
    return zip(*columns, strict=True)
