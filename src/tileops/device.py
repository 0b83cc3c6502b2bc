"""Facts of devices: a catalogue of known boards, and readers that ask the real ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from tileops.errors import DeviceFactsError
from tileops.errors.wording import shown

if TYPE_CHECKING:
    import torch

_T = TypeVar("_T")

__all__ = [
    "BOARDS",
    "READERS",
    "Board",
    "DeviceFacts",
    "FactReaders",
    "allocated_apart",
    "board_named",
    "current_device",
    "current_facts",
    "facts_of",
    "first_board_of",
]


@dataclass(frozen=True)
class DeviceFacts:
    """What kernels may ask of a device.

    Attributes:
        arch: The architecture; on CUDA major * 10 + minor of the compute capability. None where
            the device type has none.
        sm_count: The number of multiprocessors.
        smem_budget: Bytes of shared memory that one block can use after opting in.
    """

    arch: int | None = None
    sm_count: int | None = None
    smem_budget: int | None = None


FACT_NAMES = tuple(field.name for field in fields(DeviceFacts))


@dataclass(frozen=True)
class Board:
    """A GPU that is for sale: its name on the command line, its facts and their source."""

    name: str
    title: str
    facts: DeviceFacts
    source: str


def _board(name: str, title: str, arch: int, sm_count: int, source: str) -> Board:
    return Board(name, title, DeviceFacts(arch, sm_count, _SMEM_OPT_IN[arch]), source)


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": maximum amount of
# shared memory per thread block (163, 99, 99, 227, 227 and 99 KiB).
_SMEM_OPT_IN = {80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 120: 101376}

_AMPERE = "NVIDIA A100 Tensor Core GPU Architecture whitepaper"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture whitepaper"
_ADA = "NVIDIA Ada GPU Architecture whitepaper"
_HOPPER = "NVIDIA H100 Tensor Core GPU Architecture whitepaper"

BOARDS: tuple[Board, ...] = (
    _board("a100", "NVIDIA A100", 80, 108, _AMPERE),
    _board("a40", "NVIDIA A40", 86, 84, _GA102),
    _board("rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, _GA102),
    _board("l4", "NVIDIA L4", 89, 58, "NVIDIA L4 datasheet (7424 CUDA cores, 128 an SM)"),
    _board("l40s", "NVIDIA L40S", 89, 142, "NVIDIA L40S datasheet (18176 CUDA cores, 128 an SM)"),
    _board("rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, _ADA),
    _board("h100", "NVIDIA H100 SXM5", 90, 132, _HOPPER),
    _board("h100-pcie", "NVIDIA H100 PCIe", 90, 114, _HOPPER),
    _board("h200", "NVIDIA H200", 90, 132, "read from the device's properties"),
    _board("b200", "NVIDIA B200", 100, 148, "NVIDIA Blackwell tuning guide and device properties"),
)
"""Known boards; of several with one architecture the first stands for it."""


def board_named(name: str) -> Board | None:
    """Return the board with this command-line name, ignoring case, or None."""
    return next((board for board in BOARDS if board.name == name.lower()), None)


def first_board_of(arch: int) -> Board | None:
    """Return the catalogue's first board of an architecture, or None."""
    return next((board for board in BOARDS if board.facts.arch == arch), None)


class FactReaders:
    """The readers of device facts, one per device type; ``cuda`` is built in.

    Facts are read once per device and kept.
    """

    def __init__(self) -> None:
        self._readers: dict[str, Callable[[torch.device], DeviceFacts]] = {}
        self._facts: dict[torch.device, DeviceFacts] = {}
        # Re-entrant: a reader may ask for the facts of another device.
        self._lock = threading.RLock()

    def register(self, device_type: str, reader: Callable[[torch.device], DeviceFacts]) -> None:
        """Let *reader* say the facts of every device of a type.

        Raises:
            DeviceFactsError: The type is ``cuda``, has a reader, or names one device of a type;
                or *reader* is not callable.
        """
        kind, index, _ = device_type.partition(":")
        if index:
            problem = f"a reader is asked of every device of a type; register it for {kind!r}"
            raise DeviceFactsError(device=device_type, problem=problem)
        if device_type == "cuda":
            raise DeviceFactsError(device=device_type, problem="tileops reads CUDA devices itself")
        if device_type in self._readers:
            raise DeviceFactsError(
                device=device_type,
                problem=f"{_named(self._readers[device_type])} is registered for it already",
            )
        if not callable(reader):
            raise DeviceFactsError(device=device_type, problem=f"{shown(reader)} is not callable")
        with self._lock:
            self._readers[device_type] = reader
            # Facts asked for before there was a reader were empty.
            self._facts = {d: facts for d, facts in self._facts.items() if d.type != device_type}

    def facts_of(self, device: torch.device) -> DeviceFacts:
        """Return the facts of a device; every fact is None for a type without a reader.

        A CUDA device without an index is the current one.

        Raises:
            DeviceFactsError: The reader raised, or returned something else than DeviceFacts.
        """
        known = self._facts.get(device)
        if known is None:
            index: Any = device.index
            if device.type == "cuda" and index is None:
                device = current_device() or device
            with self._lock:
                known = self._facts.get(device) or self._read(device)
                self._facts[device] = known
        return known

    def _read(self, device: torch.device) -> DeviceFacts:
        if device.type == "cuda":
            return _read_cuda(device)
        reader = self._readers.get(device.type)
        if reader is None:
            return DeviceFacts()
        try:
            facts: object = reader(device)
        except Exception as error:
            raise DeviceFactsError(
                device=str(device), problem=f"its reader {_named(reader)} raised {shown(error)}"
            ) from error
        if not isinstance(facts, DeviceFacts):
            raise DeviceFactsError(
                device=str(device),
                problem=f"its reader {_named(reader)} returned {shown(facts)} "
                "instead of DeviceFacts",
            )
        for field in FACT_NAMES:
            value: object = getattr(facts, field)
            if value is not None and (type(value) is not int or value < 1):
                raise DeviceFactsError(
                    device=str(device),
                    problem=f"its reader {_named(reader)} says that {field} is {shown(value)}; "
                    "return an int of 1 or more, or None",
                )
        return facts

    def snapshot(self) -> FactReaders:
        """Return a copy, to be put back when a registration fails half way."""
        copy = FactReaders()
        copy._readers = dict(self._readers)
        copy._facts = dict(self._facts)
        return copy

    def restore(self, snapshot: FactReaders) -> None:
        """Return to the state of *snapshot*."""
        self._readers = dict(snapshot._readers)
        self._facts = dict(snapshot._facts)

    @property
    def device_types(self) -> tuple[str, ...]:
        """The device types with a reader, sorted, ``cuda`` included."""
        return tuple(sorted({"cuda", *self._readers}))


def _named(reader: Callable[..., Any]) -> str:
    """Name a reader the same way in every process, which its repr does not."""
    name = getattr(reader, "__qualname__", None)
    return shown(reader) if name is None else f"{reader.__module__}.{name}"


READERS = FactReaders()
"""The readers that call specs ask."""


def facts_of(device: torch.device) -> DeviceFacts:
    """Return the facts of a device from the default readers."""
    return READERS.facts_of(device)


def current_device() -> torch.device | None:
    """Return the accelerator's current device, or None on a machine without one."""
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        return None
    return torch.device(accelerator.type, torch.accelerator.current_device_index())


def current_facts() -> DeviceFacts:
    """Return the facts of the accelerator's current device, for which a kernel is being built.

    Raises:
        DeviceFactsError: The machine has no accelerator.
    """
    device = current_device()
    if device is None:
        raise DeviceFactsError(device="the current device", problem="there is no accelerator")
    return facts_of(device)


def allocated_apart(make: Callable[[], _T]) -> _T:
    """Return what *make* allocates, kept out of memory pools that are in force for this thread.

    What a kernel or an op keeps for good must not lie in the pool of a CUDA graph that is being
    warmed up: torch tears down such a pool, and refuses allocations that outlive a run. A pool is
    in force for one thread, so another thread allocates outside it.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=1) as other:
        return other.submit(make).result()


def _read_cuda(device: torch.device) -> DeviceFacts:
    import torch

    try:
        properties: Any = torch.cuda.get_device_properties(device)
    except (AssertionError, RuntimeError) as error:
        raise DeviceFactsError(
            device=str(device), problem=f"CUDA cannot read it: {error}"
        ) from error
    return DeviceFacts(
        arch=properties.major * 10 + properties.minor,
        sm_count=properties.multi_processor_count,
        smem_budget=properties.shared_memory_per_block_optin,
    )
