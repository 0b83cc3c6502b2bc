"""Fixed: what an op is constructed with stays as it is, since kernels and plans are made for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from tileops.errors import FixedParameterError

__all__ = ["Fixed"]


class Fixed:
    """An object with parameters, whose attributes of their names are set once.

    Attributes:
        params: The parameters by name.
    """

    params: Mapping[str, Any]
    _assigned: set[str]

    def __new__(cls, *_arguments: Any, **_keywords: Any) -> Self:
        """Begin with nothing assigned."""
        one = super().__new__(cls)
        object.__setattr__(one, "_assigned", set())
        return one

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a parameter only as long as the constructor has not set it.

        Raises:
            FixedParameterError: A parameter would change.
        """
        # Looking into __dict__ would make the interpreter build one, and every call slower.
        if name in self._assigned and self._is_fixed(name):
            raise FixedParameterError(op=type(self).__name__, name=name)
        super().__setattr__(name, value)
        self._assigned.add(name)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute that is no parameter.

        Raises:
            FixedParameterError: It is one.
        """
        if self._is_fixed(name):
            raise FixedParameterError(op=type(self).__name__, name=name)
        super().__delattr__(name)

    def _is_fixed(self, name: str) -> bool:
        return name == "params" or name in getattr(self, "params", ())
