"""What selection needs to know of an implementation and of a call."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


class Call(Protocol):
    """The facts of one call, as far as selection itself reads them."""

    @property
    def device_type(self) -> str | None:
        """The device type, or None when neither a device nor device facts are known."""

    @property
    def arch(self) -> int | None:
        """The device's architecture, or None where its type has none."""

    def options(self) -> tuple[str, ...]:
        """Every fact as command-line options."""

    def describe(self) -> str:
        """Every fact on one line."""


class Implementation(Protocol):
    """The declarations of an implementation class that selection reads."""

    devices: frozenset[str]
    supported_archs: Collection[int] | None
    general: bool
    preferred_over: frozenset[str]

    @classmethod
    def refusal(cls, call: Call) -> str | None:
        """Return why the class does not serve *call*, or None."""


@dataclass(frozen=True)
class Origin:
    """Where a class comes from, and what a fresh process must import to have it.

    Attributes:
        distribution: The distribution whose entry point registered it, such as ``"acme 1.2"``.
        module: The module to import, or None when tileops loads it by itself.
        local: Whether the class is made inside a function, where no import finds it.
    """

    distribution: str | None = None
    module: str | None = None
    local: bool = False

    @property
    def importable(self) -> bool:
        """Whether another process can have the class."""
        return self.module != "__main__" and not self.local


IN_TREE = Origin()


@dataclass(frozen=True)
class Location:
    """A place in a source file, the file given relative to the root it is imported from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Candidate:
    """An implementation under the key it has in one interface of one op."""

    key: str
    implementation: type[Implementation]
    origin: Origin = IN_TREE

    @property
    def name(self) -> str:
        """The qualified name of the implementation class."""
        return self.implementation.__qualname__

    def location(self) -> Location | None:
        """Find the class statement; None where there is no source."""
        try:
            _, line = inspect.getsourcelines(self.implementation)
            path = inspect.getsourcefile(self.implementation)
        except (KeyError, OSError, TypeError):
            # The KeyError is TileLang's, which replaces inspect.getfile for the whole process.
            return None
        parts = self.implementation.__module__.split(".")
        if parts == ["__main__"]:
            parts = []
        stem = (path or "").replace("\\", "/").rsplit("/", 1)[-1]
        is_package = stem == "__init__.py"
        folders = parts if is_package else parts[:-1]
        return Location("/".join([*folders, stem]), line)
