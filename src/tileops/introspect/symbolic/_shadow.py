"""The hooks of rewritten functions: what a call, an attribute, ``in``, ``is`` and a text mean."""

from __future__ import annotations

import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Collection
from fractions import Fraction
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

from tileops.introspect.formula import (
    FALSE,
    TRUE,
    Term,
    all_of,
    any_of,
    compare,
    const,
    member,
    number,
    render,
)
from tileops.introspect.symbolic._foreign import (
    ENVIRONMENT,
    call_foreign,
    construct,
    handler_of,
)
from tileops.introspect.symbolic._number import SymbolicNumber, lifted
from tileops.introspect.symbolic._proxies import SymbolicBool, SymbolicText, plain_text
from tileops.introspect.symbolic._rewrite import HOOKS, NotRewritableError, rewritten
from tileops.introspect.symbolic._run import Run

__all__ = ["CallProxy", "Shadow"]

_OWN_PACKAGE: Final = __name__.rpartition(".")[0]

_LIBRARIES: Final = frozenset({"torch", "numpy", "tilelang", "tvm", "triton"})
"""Code of these is never copied: with a symbolic number it is given up, else it just runs."""


_CONVERSIONS: Final[dict[int, Callable[[Any], str]]] = {115: str, 114: repr, 97: ascii}


class CallProxy:
    """Marks the call specs of an exploration."""


class Shadow:
    """Runs copies of functions in place of the functions, for one execution at a time.

    Attributes:
        run: The execution in progress.
    """

    run: Run

    def __init__(self) -> None:
        self._copies: dict[FunctionType, FunctionType | str] = {}
        self._codes: dict[int, CodeType] = {}

    def is_modelled(self, code: CodeType) -> bool:
        """Whether *code* belongs to a copy."""
        return id(code) in self._codes

    # Hooks.

    def call(self, function: Any, /, *args: Any, **keywords: Any) -> Any:
        """Call *function*, or its copy."""
        function, args, keywords = _unwrapped(function, args, keywords)
        if isinstance(function, FunctionType):
            return self._call_function(function, args, keywords)
        if isinstance(function, type):
            return construct(self, function, args, keywords)
        written = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(written, FunctionType):
            return self.call(written, function, *args, **keywords)
        return call_foreign(self, function, args, keywords)

    def get(self, owner: Any, name: str) -> Any:
        """Read an attribute; properties run as copies."""
        if owner is os and name in ("environ", "environb"):
            self.run.give_up(f"reads os.{name}, which is no fact of the call")
        if isinstance(owner, ModuleType):
            return getattr(owner, name)
        found = _class_attribute(owner, name)
        receiver = cast(Any, owner).__self__ if type(owner) is super else owner
        if type(found) is property and isinstance(found.fget, FunctionType):
            return self.call(found.fget, receiver)
        if type(found) is functools.cached_property:
            if name not in vars(receiver):
                vars(receiver)[name] = self.call(found.func, receiver)
            return vars(receiver)[name]
        return getattr(owner, name)

    def contains(self, item: Any, container: Any) -> Any:
        """Return whether *item* is in *container*."""
        test = getattr(type(container), "__contains__", None)
        if isinstance(test, FunctionType):
            return self.call(test, container, item)
        if not self.touches(item):
            return item in container
        if isinstance(container, range) and type(item) is SymbolicNumber and not item.is_real:
            return SymbolicBool(self.run, _in_range(item.term, container))
        if isinstance(container, Collection) and not isinstance(container, (str, bytes, range)):
            return SymbolicBool(self.run, self._equal_to_one_of(item, container))
        return self.run.give_up(f"looks for a symbolic number in a {type(container).__name__}")

    def same(self, left: Any, right: Any) -> bool:
        """Return whether two values are one object."""
        for one, other in ((left, right), (right, left)):
            if type(one) is SymbolicBool:
                return isinstance(other, bool) and bool(one) is bool(other)
            if type(one) is SymbolicNumber and isinstance(other, (int, float)):
                self.run.give_up("asks whether numbers are one object")
        return left is right

    def text(self, *parts: Any) -> str:
        """Put a formatted text together."""
        spelled = [one if isinstance(one, str) else self._spelled(*one) for one in parts]
        return self.joined(spelled)

    def modulo(self, left: Any, right: Any) -> Any:
        """Return ``left % right``."""
        if not isinstance(left, str) or not self.touches(right):
            return left % right
        return SymbolicText.of(self.run, plain_text(left))

    # What the hooks are made of.

    def touches(self, value: Any, depth: int = 2) -> bool:
        """Whether *value* is symbolic or holds something symbolic."""
        if type(value) in (SymbolicNumber, SymbolicBool, SymbolicText):
            return True
        if isinstance(value, CallProxy):
            return True
        if depth and isinstance(value, (list, tuple, set, frozenset)):
            return any(self.touches(one, depth - 1) for one in value)
        if depth and isinstance(value, dict):
            return any(self.touches(one, depth - 1) for one in value.values())
        return False

    def joined(self, parts: Collection[str]) -> str:
        """Concatenate texts; the result is symbolic when one of them is."""
        whole = "".join(map(plain_text, parts))
        symbolic = any(isinstance(one, SymbolicText) for one in parts)
        return SymbolicText.of(self.run, whole) if symbolic else whole

    def spelled(self, value: Any) -> str:
        """Return ``str(value)``."""
        if type(value) is SymbolicNumber:
            return SymbolicText.of(self.run, "{" + render(value.term) + "}")
        return value if isinstance(value, SymbolicText) else str(value)

    def copy_of(self, function: FunctionType) -> FunctionType | None:
        """Return the copy of a function, itself when it is one, or None when there is none."""
        if self.is_modelled(function.__code__):
            return function
        copy = self._copies.get(function)
        if copy is None:
            copy = self._copies[function] = self._copied(function)
        return copy if isinstance(copy, FunctionType) else None

    def _copied(self, function: FunctionType) -> FunctionType | str:
        try:
            code = rewritten(function.__code__)
        except NotRewritableError as problem:
            return str(problem)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        hooks = {mark: CellType(getattr(self, name)) for name, mark in HOOKS.items()}
        closure = tuple(hooks.get(name) or cells[name] for name in code.co_freevars)
        copy = FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, closure
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        self._remember(code)
        return copy

    def _remember(self, code: CodeType) -> None:
        self._codes[id(code)] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._remember(constant)

    def _call_function(
        self, function: FunctionType, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        module = function.__module__ or ""
        root = module.partition(".")[0]
        handled = handler_of(function)
        if handled is not None:
            return handled(self, *args, **keywords)
        if module.startswith(_OWN_PACKAGE) or self.is_modelled(function.__code__):
            return function(*args, **keywords)
        if module in ENVIRONMENT or (module + ".").startswith("torch.cuda."):
            name = f"{module}.{function.__qualname__}"
            self.run.give_up(f"calls {name}, which is no fact of the call")
        touched = self.touches((args, keywords))
        if root in _LIBRARIES or root in sys.stdlib_module_names:
            if not touched:
                return function(*args, **keywords)
            if root in _LIBRARIES:
                self.run.give_up(f"calls {module}.{function.__qualname__} with a symbolic number")
        copy = self.copy_of(function)
        if copy is None:
            if not touched:
                return function(*args, **keywords)
            self.run.give_up(str(self._copies[function]))
        return copy(*args, **keywords)

    def _spelled(self, value: Any, conversion: int, spec: str) -> str:
        if type(value) is SymbolicNumber:
            return self.spelled(value)
        if isinstance(value, SymbolicText):
            return value
        convert = _CONVERSIONS.get(conversion)
        return format(convert(value) if convert else value, spec)

    def _equal_to_one_of(self, item: Any, values: Collection[Any]) -> Term:
        numbers = [one for one in values if isinstance(one, (int, float, Fraction))]
        plain = not self.touches(values) and all(map(math.isfinite, numbers))
        if plain and type(item) is SymbolicNumber and item.fact is not None:
            exact = [Fraction(one) if isinstance(one, float) else int(one) for one in numbers]
            return member(item.fact.name, sorted(exact))
        return any_of(self._equal(item, one) for one in values)

    def _equal(self, left: Any, right: Any) -> Term:
        if isinstance(left, tuple) and isinstance(right, tuple):
            if len(left) != len(right):
                return FALSE
            return all_of(self._equal(a, b) for a, b in zip(left, right, strict=True))
        for one, other in ((left, right), (right, left)):
            if type(one) is SymbolicNumber:
                value = lifted(one, other)
                return FALSE if value is None else compare("eq", one.term, value.term)
        # bool() of a comparison takes a side where it has to.
        return TRUE if left == right else FALSE


def _unwrapped(
    function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return what a method, a partial or a cached function calls, and with which arguments."""
    while True:
        kind = type(function)
        if kind is MethodType:
            function, args = function.__func__, (function.__self__, *args)
        elif kind is functools.partial:
            args, keywords = (*function.args, *args), {**function.keywords, **keywords}
            function = function.func
        elif kind is functools._lru_cache_wrapper:
            function = function.__wrapped__
        else:
            return function, args, keywords


def _class_attribute(owner: Any, name: str) -> Any:
    """Find what a class says of an attribute; None where the metaclass or nothing says it."""
    classes: tuple[type, ...] = type(owner).__mro__
    if type(owner) is super:
        bound = cast(Any, owner)
        classes = bound.__self_class__.__mro__
        classes = classes[classes.index(bound.__thisclass__) + 1 :]
    for one in classes:
        if name in vars(one):
            return vars(one)[name]
    return None


def _in_range(term: Term, values: range) -> Term:
    if not values:
        return FALSE
    low, high = min(values[0], values[-1]), max(values[0], values[-1])
    step = abs(values.step)
    bounds = [compare("ge", term, const(low)), compare("le", term, const(high))]
    if step != 1:
        offset = number("add", term, const(-low))
        bounds.append(compare("eq", number("mod", offset, const(step)), const(0)))
    return all_of(bounds)
