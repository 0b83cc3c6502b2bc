"""Gradient: how an op says what its backward is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Gradient"]


@dataclass(frozen=True)
class Gradient:
    """The backward of an op's calls, stated by names of its signature.

    Attributes:
        inputs: The inputs that may require a gradient; every other one is refused if it does.
        outputs: The new outputs that a gradient comes back for. The others never require one.
        saved: The inputs and outputs that *run* reads.
        run: Takes a gradient per output of *outputs*, then the tensors of *saved*, None for one
            that is absent; returns a gradient per input of *inputs*, or None for none. It writes
            nothing. An op whose call has this form is such a function.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    saved: tuple[str, ...]
    run: Callable[..., Any]
