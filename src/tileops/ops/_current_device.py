"""The current CUDA device, which a launch on another one must leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["keeping_current_device"]


def keeping_current_device(run: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """Return *run*, whose tensors lie on *device*, such that the current device stays current.

    A compiled program makes the device of its tensors current and leaves it so: what the caller
    allocates next on "cuda" would lie there. With one device there is nothing to keep.
    """
    if device.type != "cuda" or torch.cuda.device_count() < 2:
        return run
    current, index = torch.cuda.current_device, device.index

    def run_and_go_back(*inputs: Any, **keywords: Any) -> Any:
        before = current()
        try:
            return run(*inputs, **keywords)
        finally:
            if before != index:
                torch.cuda.set_device(before)

    return run_and_go_back
