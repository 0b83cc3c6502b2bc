"""Reading a call given as tensors: words ``name=value``, and workloads by name; without torch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileops.cli._failure import UsageFailure, shortened, unknown
from tileops.cli._index import OpRow
from tileops.cli._table import counted
from tileops.cli._values import read_dtype, read_value
from tileops.manifest import TypedShape
from tileops.selection import fact_flag

_STRIDED = re.compile(r"(.*)@\s*\(([\d,\s]*)\)\s*")
_DTYPE = re.compile(r"\s*([\w.]+)\s*(\[.*)")


@dataclass(frozen=True)
class GivenTensor:
    """A tensor as a word states it; without strides, a contiguous one."""

    typed: TypedShape
    stride: tuple[int, ...] | None = None


@dataclass(frozen=True)
class GivenCall:
    """A call as words state it.

    Attributes:
        inputs: The tensors; None for one that is said to be absent.
        params: The values of constructor parameters, a dtype by its name.
        workload: The workload that the words change, if any.
    """

    inputs: Mapping[str, GivenTensor | None]
    params: Mapping[str, Any]
    workload: str | None = None


def read_call(
    row: OpRow, words: Sequence[str], workload: str | None, facts: Sequence[str]
) -> GivenCall:
    """Read a call given by words, by a workload, or by a workload that words change.

    Args:
        row: The op.
        words: The words ``name=value``.
        workload: The name of a workload.
        facts: The names of the facts that options state.

    Raises:
        UsageFailure: A word is none, names nothing of the op or has a wrong value, or both facts
            and tensors are given.
    """
    pairs = [_split(row, word) for word in words]
    first = f"{pairs[0][0]}=" if pairs else "--workload"
    if facts:
        raise UsageFailure(
            f"{fact_flag(facts[0])} states a fact, and {first} a call that has its own",
            remedy="\n".join(["ask by facts or by tensors, not by both", *_by_interface(row)]),
        )
    if not row.inputs:
        raise UsageFailure(
            f"{row.name} has no signature, so {first} cannot be read",
            remedy=f"ask by its facts: {', '.join(fact_flag(f.name) for f in row.facts())}",
        )
    if workload is not None and workload not in row.workloads:
        raise unknown("workload", workload, row.workloads, of=row.name)
    inputs: dict[str, GivenTensor | None] = {}
    params: dict[str, Any] = {}
    kinds = {one.name: one for one in row.params}
    for name, text in pairs:
        if name in inputs or name in params:
            raise UsageFailure(f"{name}= is given twice")
        if name in kinds:
            params[name] = read_value(kinds[name], text, f"{name}=")
        else:
            inputs[name] = read_tensor(text, f"{name}=")
    return GivenCall(inputs, params, workload)


def _by_interface(row: OpRow) -> list[str]:
    names = ", ".join(row.interfaces)
    return [f"facts are asked about by --interface: {names}"] if len(row.interfaces) > 1 else []


def read_tensor(text: str, label: str) -> GivenTensor | None:
    """Read ``f16[32,256]``, with strides ``f16[32,256]@(1,32)``; None for ``none``.

    Raises:
        UsageFailure: The text describes no tensor.
    """
    if text.lower() == "none":
        return None
    strided = _STRIDED.fullmatch(text)
    body = text if strided is None else strided[1]
    dtype = _DTYPE.fullmatch(body)
    try:
        # The manifest knows fewer spellings of a dtype than the command line.
        typed = TypedShape.parse(f"{read_dtype(dtype[1], label)}{dtype[2]}" if dtype else body)
        stride = None if strided is None else _sizes(strided[2])
    except ValueError as error:
        raise UsageFailure(_unreadable(error, text, label)) from None
    if stride is not None and len(stride) != len(typed.shape):
        sizes, strides = counted(len(typed.shape), "size"), counted(len(stride), "stride")
        raise UsageFailure(f"{label} has {sizes} and {strides}")
    return GivenTensor(typed, stride)


def _unreadable(error: ValueError, text: str, label: str) -> str:
    """Say why a tensor cannot be read, quoting it as it was written."""
    said = str(error)
    if "is no tensor" not in said:
        return f"{label} {said}"
    sizes = _DTYPE.fullmatch(text.partition("@")[0])
    if sizes is not None and re.search(r"-\s*\d", sizes[2]):
        return f"{label}{shortened(text)} has a negative size; a tensor has none"
    how = "f16[32,256]" if "@" not in text else "f16[32,256]@(256,1)"
    return f"{label}{shortened(text)} is no tensor; write it like {how}"


def _split(row: OpRow, word: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals:
        raise UsageFailure(
            f"{word!r} is no name=value",
            remedy=f"tileops explain {row.name} --help lists inputs and parameters",
        )
    if row.inputs and name not in row.words:
        inputs = ", ".join(one.name for one in row.inputs)
        params = ", ".join(one.name for one in row.params) or "none"
        remedy = f"{row.name} has the inputs {inputs} and the parameters {params}"
        raise unknown("input or parameter", name, row.words, remedy)
    return name, text


def _sizes(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if any(len(word) > 18 for word in words):
        raise ValueError("no tensor has a stride of more than 18 digits")
    return tuple(map(int, words))
