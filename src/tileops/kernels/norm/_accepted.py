"""What every op of the norm family accepts."""

from __future__ import annotations

import torch

__all__ = ["unaccepted"]


def unaccepted(eps: float, dtype: torch.dtype) -> str | None:
    """Say why no op of the family takes such an epsilon or dtype, or None."""
    if eps < 0.0:
        return f"eps must not be negative, got {eps}"
    if dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return f"dtype must be float16, bfloat16 or float32, got {dtype}"
    return None
