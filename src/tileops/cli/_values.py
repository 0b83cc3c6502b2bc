"""Reading the values of facts and parameters from the command line, without torch."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from tileops.cli._failure import UsageFailure, shortened, unknown
from tileops.cli._index import FactRow
from tileops.device import board_named
from tileops.selection import fact_flag

DTYPES: dict[str, str] = {
    "float16": "float16",
    "f16": "float16",
    "fp16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float32": "float32",
    "f32": "float32",
    "fp32": "float32",
    "float": "float32",
    "float64": "float64",
    "f64": "float64",
    "fp64": "float64",
    "double": "float64",
    "float8_e4m3fn": "float8_e4m3fn",
    "f8e4m3": "float8_e4m3fn",
    "fp8": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "f8e5m2": "float8_e5m2",
    "int8": "int8",
    "i8": "int8",
    "uint8": "uint8",
    "u8": "uint8",
    "int16": "int16",
    "i16": "int16",
    "int32": "int32",
    "i32": "int32",
    "int64": "int64",
    "i64": "int64",
    "bool": "bool",
}
"""Every spelling of a dtype, and torch's name for it."""


class FactType(click.ParamType):  # type: ignore[type-arg]
    """The values of one fact."""

    def __init__(self, row: FactRow) -> None:
        self.row = row
        self.name = row.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a value; a dtype or a choice stays a name until torch is there."""
        label = fact_flag(self.row.name)
        return read_value(self.row, value, label) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the values of a dtype or a choice."""
        known = {"dtype": sorted(set(DTYPES.values())), "bool": ["true", "false"]}.get(
            self.row.kind, [*self.row.choices]
        )
        known += ["none"] if self.row.optional else []
        return [CompletionItem(one) for one in known if one.startswith(incomplete)]


def read_value(row: FactRow, text: str, label: str) -> Any:
    """Read the value of a fact or a parameter; a dtype or a choice stays a name.

    Args:
        row: What it may be.
        text: What was written.
        label: What a failure calls it, such as ``--n``.

    Raises:
        UsageFailure: The text spells no value of it.
    """
    if row.optional and text.lower() == "none":
        return None
    if row.kind == "dtype":
        return read_dtype(text, label)
    if row.kind == "choice":
        if text not in row.choices:
            raise unknown(row.name, text, row.choices, f"{label} takes {', '.join(row.choices)}")
        return text
    readers: dict[str, Callable[[str], Any]] = {
        "int": _integer,
        "float": _number,
        "str": str,
        "bool": _boolean,
        "tuple": _several,
        "frozenset": lambda text: frozenset(_several(text)),
    }
    reader = readers.get(row.kind.partition("[")[0], ast.literal_eval)
    try:
        value = reader(text)
        # A number with thousands of digits can be read, but not always be written again.
        repr(value)
        return value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        wanted = _WANTED.get(row.kind.partition("[")[0], f"a {row.kind}")
        wanted += " or none" if row.optional else ""
        allowed = f", {row.range}" if row.range else ""
        raise UsageFailure(f"{label} takes {wanted}{allowed}; got {shortened(text)}") from None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_WANTED = {
    "int": "a whole number",
    "float": "a finite number",
    "bool": "true or false",
    "tuple": "values with commas between them, such as 16,32 or 'a','b'",
    "frozenset": "values with commas between them, such as 16,32 or 'a','b'",
}


def read_dtype(text: str, label: str) -> str:
    """Read a dtype in any of its spellings and return torch's name of it.

    Raises:
        UsageFailure: The text spells none.
    """
    name = text.removeprefix("torch.").lower()
    if name not in DTYPES:
        names = sorted(set(DTYPES.values()))
        raise unknown("dtype", text, DTYPES, f"{label} takes {', '.join(names)}")
    return DTYPES[name]


def read_arch(text: str) -> int:
    """Read an architecture: ``90``, ``sm_90``, ``SM90`` or ``9.0``.

    Raises:
        UsageFailure: The text spells none.
    """
    digits = text.lower().removeprefix("sm").removeprefix("_").removesuffix("a").replace(".", "")
    if not (digits.isdecimal() and len(digits) < 10):
        board = board_named(text)
        raise UsageFailure(
            f"--arch takes an architecture such as 90 or sm_90; got {shortened(text)}",
            remedy=None if board is None else f"--gpu {board.name} names a board",
        )
    return int(digits)


def at_least(
    least: int, most: int = 2**31 - 1
) -> Callable[[click.Parameter, int | None], int | None]:
    """Return an option's callback that rejects smaller numbers, and larger ones than *most*."""

    def check(param: click.Parameter, value: int | None) -> int | None:
        if value is not None and value < least:
            raise UsageFailure(f"{param.opts[0]} must be {least} or more, got {value}")
        if value is not None and value > most:
            raise UsageFailure(f"{param.opts[0]} must be {most} or less, got {value}")
        return value

    return check


def _integer(text: str) -> int:
    return int(text, 0) if not text.lstrip("-").isdecimal() else int(text)


def _several(text: str) -> tuple[Any, ...]:
    """Read ``16,32``, ``(16, 32)``, ``{16, 32}`` or the only element alone."""
    value = ast.literal_eval(text.strip())
    return tuple(value) if isinstance(value, (tuple, list, set, dict)) else (value,)


def _boolean(text: str) -> bool:
    try:
        return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None
