"""Names that a JSON object states twice: readers differ in which of the two they keep."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

__all__ = ["repeated_name"]


def repeated_name(content: bytes) -> str | None:
    """Return a name that some object of a document states twice, None where there is none.

    Args:
        content: A document that is known to be JSON.

    Raises:
        RecursionError: It nests too deep.
    """
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        names = Counter(name for name, _ in pairs)
        repeated.extend(name for name, times in names.items() if times > 1)

    # Numbers are not looked at here, and Python's limit of their digits does not matter.
    json.loads(content, object_pairs_hook=note, parse_int=str)
    return next(iter(repeated), None)
