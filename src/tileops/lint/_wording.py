"""How messages quote code and parameter lists."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tileops.lint.facts import Param

if TYPE_CHECKING:
    import libcst as cst

__all__ = ["brief", "parameters"]

_LONGEST = 48


def brief(node: "cst.CSTNode") -> str:
    """Return the source of a node on one line, its middle left out when it is long."""
    from tileops.lint._syntax import code

    text = " ".join(code(node).split())
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 12]} ... {text[-7:]}"


def parameters(params: Iterable[Param]) -> str:
    """Return a parameter list in brackets, without annotations and with ``...`` for defaults."""
    parts: list[str] = []
    starred = False
    for param in params:
        if param.kind == "keyword" and not starred:
            parts.append("*")
        starred = starred or param.kind in ("keyword", "variadic")
        prefix = {"variadic": "*", "mapping": "**"}.get(param.kind, "")
        parts.append(f"{prefix}{param.name}{'' if param.default is None else '=...'}")
    return f"({', '.join(parts)})"
