"""Testing which kernel a call selects, with pytest.

The plugin itself is `tileops.testing.plugin`; pytest finds it by its entry point. Neither it nor
this package loads torch before a test asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.testing._assertion import assert_selects
    from tileops.testing._cases import SelectionCase, selection_cases

__all__ = ["SelectionCase", "assert_selects", "selection_cases"]

_HOMES = {
    "SelectionCase": "tileops.testing._cases",
    "assert_selects": "tileops.testing._assertion",
    "selection_cases": "tileops.testing._cases",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tileops.testing' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
