"""The root of the exceptions: a sentence made from fields that stay on the object."""

from __future__ import annotations

from typing import Any, ClassVar

from tileops.errors.wording import shown


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
        super().__init__(_sentence(self.template, fields))

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)


class _Shown(str):
    """What stands in a sentence for a value that cannot be written, with and without ``!r``."""

    __slots__ = ()
    __repr__ = str.__str__


def _sentence(template: str, fields: dict[str, Any]) -> str:
    try:
        return template.format(**fields)
    except Exception:
        # A value without a text must not replace the error that is about it.
        written = {name: _written(value) for name, value in fields.items()}
        return template.format(**written)


def _written(value: Any) -> Any:
    return value if isinstance(value, str) else _Shown(shown(value))


def _rebuild(kind: type[TileopsError], fields: dict[str, Any]) -> TileopsError:
    return kind(**fields)


class DispatchError(TileopsError):
    """Anything that goes wrong between an op and the kernel it selects."""
