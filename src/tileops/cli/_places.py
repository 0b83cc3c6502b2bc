"""From ``--arch``, ``--gpu``, ``--device`` and stated facts to the places to ask about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileops.cli._failure import UsageFailure, shortened, unknown

if TYPE_CHECKING:
    import torch

    from tileops.introspect.explanation import Place


@dataclass(frozen=True)
class DeviceOptions:
    """The device options of a command, as given."""

    arch: int | None = None
    gpu: str | None = None
    device: str | None = None
    sm_count: int | None = None
    smem_budget: int | None = None

    @property
    def stated(self) -> tuple[tuple[str, int], ...]:
        """The device facts given one by one."""
        facts = {"arch": self.arch, "sm_count": self.sm_count, "smem_budget": self.smem_budget}
        return tuple((name, value) for name, value in facts.items() if value is not None)


@dataclass(frozen=True)
class Places:
    """The places to ask about; ``every_board`` when none was named and no GPU is here."""

    places: tuple[Place, ...]
    every_board: bool = False


def read_places(options: DeviceOptions) -> Places:
    """Return the places that the options name.

    Raises:
        UsageFailure: A board or a device is unknown, or the options contradict each other.
    """
    from tileops.device import BOARDS, board_named, current_device
    from tileops.introspect.explanation import Place, place_of_board, places_of_boards

    if options.gpu is not None:
        if options.device is not None or options.stated:
            raise UsageFailure("--gpu states every device fact; leave the other device options out")
        board = board_named(options.gpu)
        if board is None:
            names = [one.name for one in BOARDS]
            remedy = f"known boards: {', '.join(names)}"
            if options.gpu.removeprefix("sm_").isdecimal():
                remedy = f"--arch {options.gpu} states an architecture\n{remedy}"
            raise unknown("board", options.gpu, names, remedy)
        return Places((place_of_board(board),))
    if options.device is not None:
        device = _read_device(options)
        return Places((Place(_name(options), device, options.stated),))
    if options.stated:
        return Places((Place(_name(options), None, options.stated),))
    here = current_device()
    if here is not None:
        return Places((Place(str(here), here),))
    return Places(places_of_boards(), every_board=True)


_MOST_DEVICES = 128
"""torch keeps the index of a device in a signed byte."""


def _name(options: DeviceOptions) -> str:
    facts = [f"{fact.replace('_', '-')} {value}" for fact, value in options.stated]
    return ", ".join([*([options.device] if options.device else []), *facts])


def _read_device(options: DeviceOptions) -> torch.device:
    """Return the device that ``--device`` names, its facts readable unless stated."""
    import torch

    from tileops.device import READERS, board_named, facts_of
    from tileops.errors import DeviceFactsError

    text = options.device or ""
    kind, colon, index = text.partition(":")
    known = sorted({"cpu", "meta", "mps", "xpu", *READERS.device_types})
    remedy = f"--device takes {', '.join(known)}, each with an index if need be: cuda:0"
    if colon and not (index.isdecimal() and len(index) < 4 and int(index) < _MOST_DEVICES):
        raise UsageFailure(
            f"--device {kind}: the index of a device is 0 to {_MOST_DEVICES - 1}, "
            f"got {shortened(index)}",
            remedy=remedy,
        )
    try:
        device = torch.device(text)
    except RuntimeError:
        if kind.lower() in ("gpu", "nvidia"):
            raise UsageFailure(f"no device {text!r}; did you mean cuda?", remedy=remedy) from None
        board = board_named(text)
        if board is not None:
            remedy = f"--gpu {board.name} asks about a board that is elsewhere\n{remedy}"
        raise unknown("device", kind, known, remedy) from None
    if device.type == "cuda" and device.index is not None and options.arch is None:
        try:
            facts_of(device)
        except DeviceFactsError as error:
            raise UsageFailure(
                f"this machine has no device {text}",
                cause=error.fields["problem"],
                remedy="--gpu h200 or --arch 90 states the facts of a device that is elsewhere",
            ) from error
    return device
