"""From ``--arch``, ``--gpu``, ``--device`` and stated facts to the places to ask about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileops.cli._failure import UsageFailure, unknown

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
            raise unknown("board", options.gpu, [one.name for one in BOARDS])
        return Places((place_of_board(board),))
    if options.device is not None:
        device = _read_device(options.device)
        return Places((Place(options.device, device, options.stated),))
    if options.stated:
        name = ", ".join(f"{fact.replace('_', '-')} {value}" for fact, value in options.stated)
        return Places((Place(name, None, options.stated),))
    here = current_device()
    if here is not None:
        return Places((Place(str(here), here),))
    return Places(places_of_boards(), every_board=True)


def _read_device(text: str) -> torch.device:
    import torch

    try:
        return torch.device(text)
    except RuntimeError:
        raise UsageFailure(f"--device takes a device such as cpu or cuda:0; got {text!r}") from None
