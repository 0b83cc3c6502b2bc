"""What each op must do, as frozen records; loading needs no torch."""

from __future__ import annotations

__all__ = ["op_names"]


def op_names() -> tuple[str, ...]:
    """Return the name of every op of the manifest."""
    return ("LayerNormFwdOp",)
