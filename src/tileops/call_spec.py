"""CallSpec: the immutable facts of one call, and what may be said of each fact."""

from __future__ import annotations

import dataclasses
import enum
import math
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import torch

from tileops.device import (
    FACT_NAMES,
    DeviceFacts,
    current_device,
    facts_of,
    first_board_of,
)
from tileops.errors import CallSpecDeviceError, UnkeyableFactError
from tileops.errors.wording import shown
from tileops.selection import fact_flag

__all__ = ["CallSpec", "Fact", "Range", "check_keyable", "facts_declared"]


@dataclasses.dataclass(frozen=True)
class Range:
    """The values a numeric fact can have: ``Annotated[int, Range(1, 2**31)]``, both ends included.

    A range never acts when a call spec is constructed. The command line, the audit, maps and
    tests read it.
    """

    low: float
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return value >= self.low and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"


_STATABLE = frozenset(FACT_NAMES)


class _DerivedFact:
    """A device fact that is read off the call's device unless the spec states it.

    A non-data descriptor: a stated value lies in the instance and hides it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: CallSpec | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        device = instance.device
        # Every refusal asks for facts, and a call has hardly ever any that are stated.
        if device is not None and _STATABLE.isdisjoint(instance.__dict__):
            return getattr(facts_of(device), self.name)
        return getattr(instance.device_facts(), self.name)


def _derived() -> Any:
    # Neither equality, hash nor repr reads a device.
    return dataclasses.field(default=_DerivedFact(), compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class CallSpec:
    """The facts of one call that select an implementation and build it.

    A subclass adds fields; every field holds an immutable value. Equality and hash cover every
    field and the device, never the device facts.

    Attributes:
        device: Where the call runs. None together with stated device facts means a CUDA device
            with these facts; None alone means the accelerator's current device.
        arch: The device's architecture, derived from *device* unless stated.
        sm_count: Its number of multiprocessors, likewise.
        smem_budget: Bytes of shared memory a block can use there, likewise.
    """

    device: torch.device | None = None
    arch: int | None = _derived()
    sm_count: int | None = _derived()
    smem_budget: int | None = _derived()

    DEVICE_FACTS: ClassVar[tuple[str, ...]] = FACT_NAMES

    DERIVED: ClassVar[Mapping[str, str]] = {}
    """The facts that `derived` fills in, by name, and what from, in words."""

    ADJUSTABLE: ClassVar[frozenset[str]] = frozenset()
    """Facts that a caller can change for the same result: layouts, and sizes that can be padded."""

    def __post_init__(self) -> None:
        """Normalise the device and drop the facts that are not stated."""
        own = self.__dict__
        own["device"] = _normalised(type(self).__name__, own["device"])
        for name in FACT_NAMES:
            value = own[name]
            if value is None or type(value) is _DerivedFact:
                del own[name]

    def stated_facts(self) -> dict[str, int]:
        """Return the device facts that were given, by name."""
        own = self.__dict__
        if _STATABLE.isdisjoint(own):
            return {}
        return {name: own[name] for name in FACT_NAMES if name in own}

    @property
    def device_type(self) -> str | None:
        """The type of the device; None when it is neither given nor found on this machine."""
        if self.device is not None:
            return self.device.type
        return "cuda" if self.stated_facts() else None

    def device_facts(self) -> DeviceFacts:
        """Return every device fact.

        Stated ones as they are; next to a stated arch the others come from the catalogue's first
        board of that arch; all else is read off the device.
        """
        stated = self.stated_facts()
        if not stated:
            return DeviceFacts() if self.device is None else facts_of(self.device)
        if "arch" in stated and self.device_type == "cuda":
            board = first_board_of(stated["arch"])
            source = board.facts if board is not None else DeviceFacts()
        elif self.device is not None and len(stated) < len(FACT_NAMES):
            source = facts_of(self.device)
        else:
            source = DeviceFacts()
        return dataclasses.replace(source, **stated)

    @property
    def assumed_board(self) -> str | None:
        """The board whose facts stand in for facts that are not stated beside a stated arch."""
        stated = self.stated_facts()
        if "arch" not in stated or len(stated) == len(FACT_NAMES) or self.device_type != "cuda":
            return None
        board = first_board_of(stated["arch"])
        return board.name if board is not None else None

    def resolved(self) -> Self:
        """Return the spec with the device it means: the current one where none is given."""
        device: Any = self.device
        definite = device is not None and (device.index is not None or device.type == "cpu")
        if definite or self.stated_facts():
            return self
        current = current_device()
        if device is not None and (current is None or device.type != current.type):
            # A CUDA device is meant and this machine has none: no device, not an unreadable one.
            return self.with_device(None) if device.type == "cuda" else self
        return self if current is None else self.with_device(current)

    def with_device(self, device: torch.device | None, **stated: int | None) -> Self:
        """Return the same call on another device, with exactly these device facts stated."""
        return type(self)(device=device, **stated, **self.facts())

    def with_facts(self, **changes: Any) -> Self:
        """Return a copy with some facts changed; unlike `dataclasses.replace`, states no others."""
        kept = {"device": self.device, **self.stated_facts(), **self.facts()}
        return type(self)(**{**kept, **changes})

    def impossible(self) -> str | None:
        """Say why no op makes such a call, or None.

        The command line rejects impossible calls, and proofs reason about possible ones only.
        """
        return None

    @classmethod
    def derived(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts that those given leave no choice about, or that the op derives.

        The command line fills in what is not given from here, before it takes a field's default.

        Args:
            given: The facts that are stated, by name; any of them may be missing.
        """
        return {}

    def facts(self) -> dict[str, Any]:
        """Return the call facts by name, without the device and its facts."""
        return {name: getattr(self, name) for name in _fact_names(type(self))}

    def options(self) -> tuple[str, ...]:
        """Return every fact as command-line options, device facts instead of the device.

        Every machine has a CPU, so of that facts are left out unless they are stated.
        """
        words: list[str] = []
        for name, value in self.facts().items():
            words += option(name, value)
        if self.device_type is None:
            return (*words, "--device", "cuda")
        if self.device_type != "cuda":
            words += ["--device", self.device_type]
        elif self.device is not None and not _readable(self):
            return (*words, "--device", str(self.device))
        of_cpu = self.device_type == "cpu"
        facts = self.stated_facts() if of_cpu else dataclasses.asdict(self.device_facts())
        for name, value in facts.items():
            if value is not None:
                words += option(name, value)
        return tuple(words)

    def describe(self) -> str:
        """Return every fact on one line, as in ``n 256, dtype float16, arch 90``."""
        parts = [f"{name} {spell(value)}" for name, value in self.facts().items()]
        where = self.device_type or "no device"
        parts.append(f"device {self.device if self.device is not None else where}")
        if self.device_type is not None and _readable(self) and self.arch is not None:
            parts.append(f"arch {self.arch}")
        return ", ".join(parts)


_BASE = frozenset({"device", *FACT_NAMES})

_names: WeakKeyDictionary[type[CallSpec], tuple[str, ...]] = WeakKeyDictionary()


def _fact_names(kind: type[CallSpec]) -> tuple[str, ...]:
    """Return the names of a call spec's own facts, kept since every new call asks for them."""
    names = _names.get(kind)
    if names is None:
        fields = dataclasses.fields(kind)
        names = _names[kind] = tuple(one.name for one in fields if one.name not in _BASE)
    return names


def _normalised(spec: str, device: Any) -> torch.device | None:
    """Return the device that is given, possibly by name; there is one CPU, whatever its index."""
    if device is None:
        return None
    if type(device) is torch.device and device.type != "cpu":
        return device
    if isinstance(device, str):
        try:
            device = torch.device(device)
        except RuntimeError as error:
            raise CallSpecDeviceError(spec=spec, value=shown(device)) from error
    if not isinstance(device, torch.device):
        raise CallSpecDeviceError(spec=spec, value=shown(device))
    return torch.device("cpu") if device.type == "cpu" else device


def _readable(call: CallSpec) -> bool:
    """Whether the device facts can be had: a CUDA device of another machine has none here."""
    return (
        bool(call.stated_facts())
        or call.device is None
        or call.device.type != "cuda"
        or torch.cuda.is_available()
    )


def spell(value: Any) -> str:
    """Spell a fact's value as the command line takes it."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        # The order of a set differs between processes.
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return shown(value) if type(value) is int else str(value)


def option(name: str, value: Any) -> list[str]:
    """Return one fact as command-line words."""
    flag = fact_flag(name)
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    return [flag, spell(value)]


@dataclasses.dataclass(frozen=True)
class Fact:
    """The declaration of one fact of a call spec.

    Attributes:
        name: The field's name.
        kind: The type without ``Optional`` and ``Annotated``: int, float, bool, str,
            ``torch.dtype`` or an enum.
        default: The field's default; ``dataclasses.MISSING`` where it has none.
        range: The values it can have, where stated.
        optional: Whether None is a value.
    """

    name: str
    kind: type
    default: Any
    range: Range | None = None
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether the default is no value that a call can have."""
        if self.default is dataclasses.MISSING:
            return True
        if self.range is None or isinstance(self.default, bool) or self.default is None:
            return False
        return self.default not in self.range


def facts_declared(spec: type[CallSpec]) -> tuple[Fact, ...]:
    """Return the declarations of a call spec's own facts, in order; device facts are left out."""
    hints = typing.get_type_hints(spec, include_extras=True)
    return tuple(
        _declaration(field, hints[field.name])
        for field in dataclasses.fields(spec)
        if field.name not in _BASE
    )


def _declaration(field: dataclasses.Field[Any], hint: Any) -> Fact:
    ranges: list[Range] = []
    optional = False
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            ranges += [extra for extra in hint.__metadata__ if isinstance(extra, Range)]
            hint = hint.__origin__
            continue
        arms = typing.get_args(hint)
        if type(None) in arms:
            optional = True
            hint = next(arm for arm in arms if arm is not type(None))
            continue
        break
    return Fact(field.name, hint, field.default, ranges[0] if ranges else None, optional)


_SIMPLE = frozenset({type(None), bool, int, str, torch.dtype})
_PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.device, enum.Enum)


def check_keyable(call: CallSpec) -> None:
    """Check that every fact of *call* can key a cache.

    Raises:
        UnkeyableFactError: A fact is mutable, a tensor, a symbolic integer or not a number, or has
            no hash.
    """
    for name in _fact_names(type(call)):
        value = getattr(call, name)
        if type(value) in _SIMPLE or (type(value) is float and not math.isnan(value)):
            continue
        problem = _unkeyable(value) or _unhashable(value)
        if problem is not None:
            raise UnkeyableFactError(
                spec=type(call).__name__, field=name, value=_brief(value), problem=problem
            )


def _unkeyable(value: object) -> str | None:
    if isinstance(value, float) and math.isnan(value):
        return "it never equals itself"
    if isinstance(value, _PLAIN):
        return None
    if isinstance(value, (tuple, frozenset)):
        return next((p for p in map(_unkeyable, value) if p is not None), None)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if not _frozen(type(value)):
            return f"the dataclass {type(value).__name__} is not frozen"
        values = (getattr(value, f.name) for f in dataclasses.fields(value))
        return next((p for p in map(_unkeyable, values) if p is not None), None)
    kind = type(value).__name__
    mutable = isinstance(value, (list, dict, set, bytearray, Mapping, torch.Tensor))
    return f"a {kind} is mutable" if mutable else f"a {kind} is not among the keyable types"


def _unhashable(value: object) -> str | None:
    try:
        hash(value)
    except Exception as error:
        return f"its hash raises {type(error).__name__}"
    return None


def _frozen(kind: type) -> bool:
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    return bool(parameters is not None and parameters.frozen)


def _brief(value: object) -> str:
    text = shown(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
