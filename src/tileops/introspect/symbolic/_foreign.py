"""Calls that leave the copied code: built-in functions, classes, and C."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from tileops.introspect.formula import const
from tileops.introspect.symbolic._number import SymbolicNumber
from tileops.introspect.symbolic._proxies import SymbolicBool, SymbolicText, plain_text

if TYPE_CHECKING:
    from tileops.introspect.symbolic._shadow import Shadow

__all__ = ["ENVIRONMENT", "call_foreign", "construct", "handler_of"]

ENVIRONMENT: Final = frozenset(
    [
        "os",
        "posix",
        "nt",
        "time",
        "_time",
        "random",
        "_random",
        "datetime",
        "_datetime",
        "socket",
        "subprocess",
        "secrets",
        "uuid",
        "platform",
        "io",
        "_io",
        "locale",
        "getpass",
    ]
)
"""Modules whose functions answer something that is no fact of a call."""

_NATURAL: Final = frozenset(
    {
        *(abs, all, any, callable, delattr, divmod, getattr, hasattr, hash, isinstance),
        *(issubclass, iter, len, max, min, next, pow, setattr, sorted, sum),
        *(math.ceil, math.floor, math.trunc, math.prod, copy.copy, copy.deepcopy),
    }
)
"""C functions that only use operators which proxies define."""

_NATURAL_CLASSES: Final = frozenset(
    {list, tuple, dict, set, frozenset, range, enumerate, zip, reversed, slice, super, object}
)

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)


def call_foreign(
    shadow: Shadow, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call what has no Python source; with something symbolic only where that is understood."""
    handler = handler_of(function)
    if handler is not None:
        return handler(shadow, *args, **keywords)
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", repr(function))
    owner = getattr(function, "__self__", None)
    outside = ENVIRONMENT & {module, type(owner).__module__}
    if function is open or outside or module.startswith("torch._C._cuda"):
        module = module or type(owner).__module__
        shadow.run.give_up(f"calls {module}.{name}, which is no fact of the call")
    if isinstance(owner, str) and shadow.touches((owner, args, keywords)):
        return _text_method(shadow, owner, function.__name__, args)
    touched = shadow.touches((args, keywords))
    natural = function in _NATURAL or module == "_operator" or isinstance(owner, _CONTAINERS)
    if touched and not natural:
        full = name if module in ("", "builtins") else f"{module}.{name}"
        shadow.run.give_up(f"calls {full} with a symbolic number")
    return function(*args, **keywords)


def handler_of(function: Any) -> Callable[..., Any] | None:
    """Return what stands for a function during exploration, if anything does."""
    try:
        return _HANDLERS.get(function)
    except TypeError:
        return None


def construct(shadow: Shadow, kind: type, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Make an instance of a class; its ``__init__`` runs as a copy."""
    handler = handler_of(kind)
    if handler is not None:
        return handler(shadow, *args, **keywords)
    if not shadow.touches((args, keywords)) or issubclass(kind, BaseException):
        return kind(*args, **keywords)
    if kind in _NATURAL_CLASSES or hasattr(kind, "_fields"):
        return kind(*args, **keywords)
    initial: Any = kind.__init__
    written = isinstance(initial, FunctionType)
    if kind.__new__ is object.__new__ and written and not hasattr(kind, "__post_init__"):
        if dataclasses.is_dataclass(kind) and initial.__code__.co_filename == "<string>":
            return kind(*args, **keywords)
        if not getattr(kind, "__abstractmethods__", None):
            made = object.__new__(kind)
            shadow.call(initial, made, *args, **keywords)
            return made
    return shadow.run.give_up(f"makes a {kind.__qualname__} of a symbolic number")


def _text_method(shadow: Shadow, owner: str, name: str, args: tuple[Any, ...]) -> str:
    if name == "join":
        parts = [part for one in args[0] for part in (owner, one)]
        return shadow.joined(parts[1:])
    if name == "format":
        return SymbolicText.of(shadow.run, plain_text(owner))
    return shadow.run.give_up(f"calls str.{name} with a symbolic number")


def _int(shadow: Shadow, value: Any = 0, *base: Any) -> Any:
    if type(value) is SymbolicNumber:
        return value.__trunc__()
    if type(value) is SymbolicBool:
        return SymbolicNumber(shadow.run, const(0)) + value
    if isinstance(value, SymbolicText):
        shadow.run.give_up("reads a number from a text made of a symbolic number")
    return int(value, *base)


def _float(shadow: Shadow, value: Any = 0.0) -> Any:
    if type(value) is SymbolicNumber:
        if not value.is_real:
            shadow.run.assume("every int is taken as an exact float")
        return SymbolicNumber(shadow.run, value.term, True)
    if isinstance(value, SymbolicText):
        shadow.run.give_up("reads a number from a text made of a symbolic number")
    return float(value)


def _type(shadow: Shadow, value: Any, *rest: Any) -> Any:
    if rest:
        return type(value, *rest)
    return value.__class__ if shadow.touches(value, 0) else type(value)


def _mapped(shadow: Shadow, function: Any, *columns: Any) -> Any:
    return [shadow.call(function, *row) for row in zip(*columns, strict=False)]


def _filtered(shadow: Shadow, function: Any, values: Any) -> Any:
    return [one for one in values if (one if function is None else shadow.call(function, one))]


def _reduced(shadow: Shadow, function: Any, values: Any, *initial: Any) -> Any:
    return functools.reduce(lambda a, b: shadow.call(function, a, b), values, *initial)


def _getattr(shadow: Shadow, owner: Any, name: str, *default: Any) -> Any:
    if not default:
        return shadow.get(owner, name)
    try:
        return shadow.get(owner, name)
    except AttributeError:
        return default[0]


def _replace(shadow: Shadow, value: Any, /, **changes: Any) -> Any:
    if shadow.touches(value, 0):
        return value.with_facts(**changes)
    return dataclasses.replace(value, **changes)


def _fabs(shadow: Shadow, value: Any) -> Any:
    if type(value) is not SymbolicNumber:
        return math.fabs(value)
    return SymbolicNumber(shadow.run, abs(value).term, True)


def _contains(shadow: Shadow, container: Any, item: Any) -> Any:
    return shadow.contains(item, container)


def _unseen(shadow: Shadow, *args: Any, **keywords: Any) -> Any:
    return shadow.run.give_up("looks at its own frame or runs code from a text")


_HANDLERS: Final[dict[Any, Callable[..., Any]]] = {
    int: _int,
    float: _float,
    bool: lambda shadow, value=False: bool(value),
    str: lambda shadow, value="": shadow.spelled(value),
    type: _type,
    map: _mapped,
    filter: _filtered,
    getattr: _getattr,
    functools.reduce: _reduced,
    dataclasses.replace: _replace,
    math.fabs: _fabs,
    # Symbolic values are immutable and copy as themselves.
    copy.copy: lambda shadow, value: copy.copy(value),
    copy.deepcopy: lambda shadow, value, memo=None: copy.deepcopy(value, memo),
    operator.contains: _contains,
    operator.is_: lambda shadow, a, b: shadow.same(a, b),
    operator.is_not: lambda shadow, a, b: not shadow.same(a, b),
    # What a refusal prints would be printed once for every path.
    print: lambda shadow, *values, **keywords: None,
    **dict.fromkeys((builtins.eval, builtins.exec, locals, globals, vars, id), _unseen),
}
