"""Fixed: what an op is constructed with stays as it is, since kernels and plans are made for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileops.errors import FixedParameterError

__all__ = ["Fixed"]

_UNSET = object()


class Fixed:
    """An object with parameters, whose attributes of their names are set once.

    Attributes:
        params: The parameters by name.
    """

    params: Mapping[str, Any]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a parameter only as long as the constructor has not set it.

        Raises:
            FixedParameterError: A parameter would change.
        """
        named = name == "params" or name in getattr(self, "params", ())
        # Looking into __dict__ would make the interpreter build one, and every call slower.
        if named and getattr(self, name, _UNSET) is not getattr(type(self), name, _UNSET):
            raise FixedParameterError(op=type(self).__name__, name=name)
        super().__setattr__(name, value)
