"""Peers: other implementations of an op, one module per family, `FAMILY` its table.

A module states the torch composition of each op, from which the eager and the compiled peer
come, and builders of further ones. Libraries are imported when a peer is built, so that one
which is not installed is only absent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from harness.inputs import Fill, Inputs
from harness.peers.compiled import COMPILED, compiled
from tileops.tensor_spec import TensorSpec

__all__ = [
    "Builder",
    "Family",
    "Function",
    "Params",
    "Tuned",
    "family_of",
    "peers_of",
    "slow_peers",
]

Params = Mapping[str, Any]
Function = Callable[..., Any]
"""Takes the op's inputs in order and returns what the op returns."""

Builder = Callable[[Params, Inputs], Function]
"""Builds a peer for one case, from the op's parameters and one set of inputs."""

Tuned = Callable[[Sequence[TensorSpec | None]], Hashable | None]
"""Says what of a case's inputs a peer is compiled and tuned for; None where it does not run."""


@dataclass(frozen=True)
class Family:
    """The peers of a family.

    Attributes:
        compositions: By op, what builds its torch semantics.
        others: By op, further peers by name. A builder raises `ImportError` where its library
            is missing, and `NotImplementedError` for a case that it does not serve.
        fills: By input name, how to draw it where normal values are not typical.
        tolerance: By peer name, the distance allowed where the dtype's default is too strict.
        tuned: By peer name, what of a case Triton compiles and tunes that peer for.
        grows: By op, the dim of its inputs that has a new size from call to call, where that is not
            the first one.
    """

    compositions: Mapping[str, Callable[[Params], Function]] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Builder]] = field(default_factory=dict)
    fills: Mapping[str, Fill] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    tuned: Mapping[str, Tuned] = field(default_factory=dict)
    grows: Mapping[str, str] = field(default_factory=dict)


def family_of(name: str) -> Family:
    """Return the table of a family, an empty one where no module states it."""
    module = f"{__name__}.{name}"
    if find_spec(module) is None:
        return Family()
    family: Family = import_module(module).FAMILY
    return family


def peers_of(family: Family, op: str) -> dict[str, Builder]:
    """Return the builders of an op's peers by name, torch first."""
    peers: dict[str, Builder] = {}
    composition = family.compositions.get(op)
    if composition is not None:
        peers["torch"] = lambda params, inputs: composition(params)
        peers[COMPILED] = lambda params, inputs: compiled(composition(params))
    return peers | dict(family.others.get(op, {}))


def slow_peers(family: Family, op: str) -> tuple[str, ...]:
    """Return the peers of an op that take seconds to compile for a case."""
    return tuple(name for name in peers_of(family, op) if name == COMPILED or name in family.tuned)
