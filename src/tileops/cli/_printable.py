"""Text of others, such as recorded names, made safe to print."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, kept: str = "") -> str:
    r"""Return a text with what would move a terminal's cursor or break a line escaped.

    Args:
        text: The text.
        kept: Characters that stay as they are, such as ``"\n"``.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in kept else repr(one)[1:-1] for one in text)
