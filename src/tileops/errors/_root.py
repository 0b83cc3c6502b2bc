"""The root of the exceptions: a sentence made from fields that stay on the object."""

from __future__ import annotations

from typing import Any, ClassVar


class TileopsError(Exception):
    """The root of the exceptions of tileops.

    Subclasses state ``template``; the keyword arguments of the constructor fill it and become
    attributes.
    """

    template: ClassVar[str] = "{message}"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)
        super().__init__(self.template.format(**fields))

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)


def _rebuild(kind: type[TileopsError], fields: dict[str, Any]) -> TileopsError:
    return kind(**fields)


class DispatchError(TileopsError):
    """Anything that goes wrong between an op and the kernel it selects."""
