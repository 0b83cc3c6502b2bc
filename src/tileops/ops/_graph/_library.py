"""Where the custom operators of ops live in torch, and under which names."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["BELOW_AUTOGRAD", "LIBRARY", "unused"]

# torch annotates no method of Library.
LIBRARY: Any = torch.library.Library("tileops", "FRAGMENT")  # type: ignore[no-untyped-call]

BELOW_AUTOGRAD = torch._C._after_autograd_keyset

_taken: set[str] = set()


def unused(name: str) -> str:
    """Return *name*, numbered where an operator has it: two classes may share a name."""
    others = (f"{name}_{number}" for number in range(2, len(_taken) + 3))
    free = name if name not in _taken else next(one for one in others if one not in _taken)
    _taken.add(free)
    return free
