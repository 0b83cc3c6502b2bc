"""Every exception of tileops: one class per condition, each with its sentence and its fields.

A sentence says what was asked, what stands in the way and what to do. The fields that the
sentence was made from stay on the object, so programs need not parse text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    pass


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
