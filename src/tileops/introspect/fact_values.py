"""Facts as JSON values, and back."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import torch

from tileops.call_spec import CallSpec, Fact, facts_declared

__all__ = ["decode_facts", "encode_facts"]


def encode_facts(call: CallSpec) -> dict[str, Any]:
    """Return the facts of a call as JSON values: dtypes and enum members by name."""
    return {name: _encode(value) for name, value in call.facts().items()}


def decode_facts(spec: type[CallSpec], values: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that *values* encodes; facts that *spec* does not have are left out."""
    return {
        fact.name: _decode(fact, values[fact.name])
        for fact in facts_declared(spec)
        if fact.name in values
    }


def _encode(value: Any) -> Any:
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, frozenset):
        return sorted((_encode(one) for one in value), key=repr)
    if isinstance(value, tuple):
        return [_encode(one) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def _decode(fact: Fact, value: Any) -> Any:
    if value is None:
        return None
    if fact.kind is torch.dtype:
        return getattr(torch, value)
    if fact.kind is torch.device:
        return torch.device(value)
    if isinstance(fact.kind, type) and issubclass(fact.kind, enum.Enum):
        return fact.kind[value]
    if isinstance(value, list):
        return frozenset(value) if fact.kind is frozenset else _tuple(value)
    return float(value) if fact.kind is float else value


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(one) if isinstance(one, list) else one for one in values)
