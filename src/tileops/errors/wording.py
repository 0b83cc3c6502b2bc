"""Writing values and exceptions into sentences, whatever their own methods do.

What a backend's code raises or returns must not replace the error that names the backend.
"""

from __future__ import annotations

__all__ = ["shown", "told"]


def shown(value: object) -> str:
    """Return the repr of a value; for one whose repr fails, its type and that."""
    try:
        return repr(value)
    except (Exception, SystemExit) as error:
        if type(value) is int:
            # Python writes no more than some thousand digits.
            return f"an int of {value.bit_length()} bits"
        return f"<{type(value).__qualname__}, whose repr raises {type(error).__name__}>"


def told(error: BaseException) -> str:
    """Return the kind of an exception and its message, as the last line of a traceback does."""
    kind = type(error).__name__
    try:
        message = str(error)
    except (Exception, SystemExit) as other:
        return f"{kind}, whose message raises {type(other).__name__}"
    return f"{kind}: {message}" if message else kind
