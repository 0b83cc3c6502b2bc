"""Building the selected kernel: its entry, its program, what must be installed."""

from __future__ import annotations

from tileops.errors._root import DispatchError, TileopsError


class EntryShapeError(DispatchError, TypeError):
    """``entry_for`` returned something that is not a pair."""

    template = (
        "{op}: {implementation}.entry_for returned {value}; "
        "return the pair (build identity, factory)"
    )


class BuildIdentityError(DispatchError, TypeError):
    """``entry_for`` returned a build identity that cannot be hashed."""

    template = (
        "{op}: {implementation}.entry_for returned the build identity {value}, which cannot be "
        "hashed; use tuples and frozensets of immutable values"
    )


class FactoryError(DispatchError, TypeError):
    """``entry_for`` returned a factory that cannot be called."""

    template = (
        "{op}: {implementation}.entry_for returned {value} as its factory; return a callable "
        "without parameters that builds the kernel"
    )


class ProgramCompileError(TileopsError):
    """A compiler refuses a program's source."""

    template = "nvcc does not compile the program for sm_{arch}:\n{log}"


class MissingCompilerError(TileopsError):
    """A program is to be compiled for a device that is not there, and nvcc is missing."""

    template = "Compiling for sm_{arch} needs nvcc; install the CUDA toolkit and put nvcc on PATH"


class MissingExtraError(TileopsError, ImportError):
    """Something of an optional extra is used and not installed."""

    template = "{what} needs {package}; run: pip install 'tileops[{extra}]'"
