"""Facts as JSON values, and back."""

from __future__ import annotations

import dataclasses
import enum
import math
import typing
from collections.abc import Mapping
from typing import Any

import torch

from tileops.call_spec import CallSpec, facts_declared
from tileops.errors import RecordedFactError

__all__ = ["decode_facts", "encode_facts"]

_SAFE = 2**53
"""Readers of JSON keep integers below this."""


def encode_facts(call: CallSpec) -> dict[str, Any]:
    """Return the facts of a call as JSON values: dtypes and enum members by name."""
    return {name: _encode(value) for name, value in call.facts().items()}


def decode_facts(spec: type[CallSpec], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that *values* encodes; those that *spec* does not have are left out.

    Raises:
        RecordedFactError: A fact without a default is missing, or a value cannot be had any more.
    """
    hints = typing.get_type_hints(spec)
    facts = {}
    for fact in facts_declared(spec):
        if fact.name in values:
            facts[fact.name] = _decoded(spec, fact.name, hints[fact.name], values[fact.name])
        elif fact.default is dataclasses.MISSING:
            raise RecordedFactError(
                spec=spec.__name__, fact=fact.name, problem="is not recorded and has no default"
            )
    return facts


def _encode(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted((_encode(one) for one in value), key=repr)
    if isinstance(value, tuple):
        return [_encode(one) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return _encode_scalar(value)


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, enum.Enum):
        return value.name
    exact = isinstance(value, float) and math.isfinite(value)
    exact |= isinstance(value, int) and abs(value) <= _SAFE
    return value if exact or value is None else str(value)


def _decoded(spec: type[CallSpec], name: str, hint: Any, value: Any) -> Any:
    try:
        return _decode(hint, value)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        problem = f"cannot be {value!r} now: {error!r}"
        raise RecordedFactError(spec=spec.__name__, fact=name, problem=problem) from error


def _decode(hint: Any, value: Any) -> Any:
    arms = typing.get_args(hint)
    if value is None or hint is Any:
        return value
    if type(None) in arms:
        return _decode(next(arm for arm in arms if arm is not type(None)), value)
    kind = typing.get_origin(hint) or hint
    if kind is tuple or kind is frozenset:
        return kind(_elements(kind, arms, value))
    return _decode_scalar(kind, value)


def _elements(kind: type, arms: tuple[Any, ...], values: list[Any]) -> list[Any]:
    if not arms:
        return [tuple(one) if isinstance(one, list) else one for one in values]
    if kind is frozenset or Ellipsis in arms:
        return [_decode(arms[0], one) for one in values]
    return [_decode(arm, one) for arm, one in zip(arms, values, strict=True)]


def _decode_scalar(kind: Any, value: Any) -> Any:
    if kind is torch.dtype:
        return getattr(torch, value)
    if kind is torch.device:
        return torch.device(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind[value]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _decode(hints[name], one) for name, one in value.items()})
    return kind(value) if kind in (int, float) and not isinstance(value, bool) else value
