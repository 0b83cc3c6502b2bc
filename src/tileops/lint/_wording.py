"""How messages quote code. Imported only where a slice was parsed."""

import libcst as cst

from tileops.lint._syntax import code

__all__ = ["brief"]

_LONGEST = 48


def brief(node: cst.CSTNode) -> str:
    """Return the source of a node on one line, its middle left out when it is long."""
    text = " ".join(code(node).split())
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 12]} ... {text[-7:]}"
