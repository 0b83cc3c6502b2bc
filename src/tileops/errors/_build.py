"""Building the selected kernel: its entry, its program, what must be installed."""

from __future__ import annotations

from tileops.errors._root import DispatchError, TileopsError


class EntryShapeError(DispatchError, TypeError):
    """``entry_for`` returned something that is not a pair.

    Cause:
        ``entry_for`` returned the kernel, a class or a tuple of another length.

    Remedy:
        Return the build identity and a factory, as a tuple of two.
    """

    template = (
        "{op}: {implementation}.entry_for returned {value}; "
        "return the pair (build identity, factory)"
    )


class BuildIdentityError(DispatchError, TypeError):
    """``entry_for`` returned a build identity that cannot be hashed.

    Cause:
        The identity holds a list, a dict or another mutable value.

    Remedy:
        Build it from tuples and frozensets of the call's facts.
    """

    template = (
        "{op}: {implementation}.entry_for returned the build identity {value}, which cannot be "
        "hashed; use tuples and frozensets of immutable values"
    )


class FactoryError(DispatchError, TypeError):
    """``entry_for`` returned a factory that cannot be called.

    Cause:
        The second element of the pair is a kernel that is built already, or another value.

    Remedy:
        Return a function without parameters that builds the kernel.
    """

    template = (
        "{op}: {implementation}.entry_for returned {value} as its factory; return a callable "
        "without parameters that builds the kernel"
    )


class KernelCompileError(DispatchError, RuntimeError):
    """The program of the selected kernel does not compile.

    Cause:
        TileLang or nvcc refuses the program that the factory compiles for this build identity; the
        exception's ``__cause__`` is what it raised.

    Remedy:
        Correct the program, or refuse the calls that it is not written for.
    """

    template = (
        "{op}: key {key!r}: the program of {implementation} does not compile for {device}, build "
        "identity {identity}: {problem}. Nothing of it is kept, and other calls are served as "
        "before; correct the program, or refuse such calls in {implementation}.refusal"
    )


class CompileCacheError(DispatchError, RuntimeError):
    """The program of the selected kernel cannot be kept on disk.

    Cause:
        TileLang cannot write to the folder where it keeps compiled programs; the exception's
        ``__cause__`` is what the system said.

    Remedy:
        Let ``TILELANG_CACHE_DIR`` name a folder that can be written, before the process starts.
    """

    template = (
        "{op}: key {key!r}: the program of {implementation} for {device}, build identity "
        "{identity}, cannot be kept in {folder}: {problem}. Let TILELANG_CACHE_DIR name a folder "
        "that can be written, before the process starts"
    )


class BuiltValueError(DispatchError, TypeError):
    """The factory that ``entry_for`` returned built something that is no kernel.

    Cause:
        The factory returns None, a class, or an object that is no ``Kernel``.

    Remedy:
        Return a factory that builds and returns the kernel, as ``lambda: cls(...)`` does.
    """

    template = (
        "{op}: the factory that {implementation}.entry_for returned built {value}, which is no "
        "kernel; return one that builds an instance of a Kernel subclass"
    )


class ProgramCompileError(TileopsError):
    """A compiler refuses a program's source.

    Cause:
        The generated source does not compile for the architecture; the message has the
        compiler's log.

    Remedy:
        Correct the program, or leave the architecture out of ``supported_archs``.
    """

    template = "nvcc does not compile the program for sm_{arch}:\n{log}"


class MissingCompilerError(TileopsError):
    """A program is to be compiled for a device that is not there, and nvcc is missing.

    Cause:
        No ``nvcc`` is on the path.

    Remedy:
        Install the CUDA toolkit and put its ``bin`` folder on the path.
    """

    template = "Compiling for sm_{arch} needs nvcc; install the CUDA toolkit and put nvcc on PATH"


class MissingExtraError(TileopsError, ImportError):
    """Something of an optional extra is used and not installed.

    Cause:
        The command or function uses torch, tilelang, z3 or matplotlib, and the base
        installation has none of them.

    Remedy:
        Install the extra with the command in the message.
    """

    template = "{what} needs {package}; run: pip install 'tileops[{extra}]'"
