"""The static index of ops, so that help and completion load no torch.

It holds what a command line states: the facts of every interface, inputs, parameters, workloads.

``python -m tileops.cli._index`` writes ``op_index.json`` anew; a test fails when it is stale.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.call_spec import CallSpec, Fact
    from tileops.manifest import Expression, ParamDecl, Signature, TensorDecl
    from tileops.ops.op import Op

FILE = "op_index.json"


@dataclass(frozen=True)
class FactRow:
    """A fact as an option needs it, or a constructor parameter as a word does.

    Attributes:
        name: Its name.
        kind: int, float, bool, str, dtype, choice, or the name of a type that holds several.
        default: The default as the command line spells it, or what it is derived from; None where
            a value is required.
        range: The values it can have, in words.
        choices: The values of a choice.
        optional: Whether ``none`` is a value.
        meaning: What it means, in words.
    """

    name: str
    kind: str
    default: str | None
    range: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class InputRow:
    """An input as its declaration writes it.

    Attributes:
        name: The argument's name.
        dtype: The dtypes it may have.
        shape: Its shape over named dims, splices and parameters.
        presence: When the call has it; empty for an input that is always given.
    """

    name: str
    dtype: str
    shape: str
    presence: str = ""


@dataclass(frozen=True)
class OpRow:
    """An op as the command line needs it.

    Attributes:
        name: The class name.
        module: The module that defines it.
        interfaces: The facts of every interface.
        inputs: The inputs in the order of the call; none for an op without a signature.
        params: The constructor parameters.
        workloads: The names of the manifest's workloads.
        about: What each interface is, in words.
    """

    name: str
    module: str
    interfaces: Mapping[str, tuple[FactRow, ...]]
    inputs: tuple[InputRow, ...] = ()
    params: tuple[FactRow, ...] = ()
    workloads: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)

    def facts(self, interface: str | None = None) -> tuple[FactRow, ...]:
        """Return the facts of one interface, or of all, each once."""
        rows = [self.interfaces[interface]] if interface else self.interfaces.values()
        return tuple({row.name: row for facts in rows for row in facts}.values())

    @property
    def words(self) -> tuple[str, ...]:
        """The names of inputs and parameters, which words give."""
        return (*(one.name for one in self.inputs), *(one.name for one in self.params))


@cache
def in_tree_index() -> dict[str, OpRow]:
    """Read the index that ships with the package."""
    stored = json.loads((files("tileops.cli") / FILE).read_text(encoding="utf-8"))
    return {
        name: OpRow(
            name,
            row["module"],
            {interface: _read_facts(facts) for interface, facts in row["interfaces"].items()},
            tuple(InputRow(**one) for one in row["inputs"]),
            _read_facts(row["params"]),
            tuple(row["workloads"]),
            row["about"],
        )
        for name, row in stored.items()
    }


def _read_facts(stored: list[dict[str, Any]]) -> tuple[FactRow, ...]:
    return tuple(FactRow(**{**fact, "choices": tuple(fact["choices"])}) for fact in stored)


def row_of(op: type[Op]) -> OpRow:
    """Derive the row of an op class from the class itself."""
    signature, entry = op.signature(), op.entry()
    return OpRow(
        op.__name__,
        op.__module__,
        {
            name: tuple(_fact_rows(interface.calls(), _data_dtypes(signature)))
            for name, interface in op.interfaces.items()
        },
        () if signature is None else tuple(_input_row(signature, d) for d in signature.inputs),
        () if signature is None else tuple(map(_param_row, signature.params)),
        () if entry is None else tuple(one.name for one in entry.workloads),
        {name: _summary(interface) for name, interface in op.interfaces.items()},
    )


def _summary(interface: type) -> str:
    """Return the first sentence of an interface's own docstring, without its full stop."""
    first, _, _ = inspect.cleandoc(interface.__doc__ or "").partition("\n\n")
    return " ".join(first.split()).replace("``", "").removesuffix(".")


def _input_row(signature: Signature, decl: TensorDecl) -> InputRow:
    dtypes = {one.name: " | ".join(one.allowed) for one in signature.dtypes}
    presence = [_presence("optional", decl.optional), _presence("", decl.when)]
    dtype = dtypes.get(str(decl.dtype), str(decl.dtype))
    return InputRow(decl.name, dtype, str(decl.shape), ", ".join(filter(None, presence)))


def _presence(word: str, when: Expression) -> str:
    """Say when an input may be absent, or is there; nothing where that is never a question."""
    if when.text in ("True", "False"):
        return word if when.text == "True" else ""
    return f"{word} when {when}".strip()


def _param_row(decl: ParamDecl) -> FactRow:
    from tileops.call_spec import spell

    choices = tuple(decl.choices) if decl.type.kind == "str" else ()
    return FactRow(
        name=decl.name,
        kind="choice" if choices else decl.type.kind,
        default=None if decl.required else spell(decl.default),
        range="" if choices or not decl.choices else ", ".join(map(str, decl.choices)),
        choices=choices,
        optional=decl.type.nullable,
    )


def _data_dtypes(signature: Signature | None) -> str:
    """Return the dtypes of an op whose tensors all have one of the same; else nothing."""
    declared = () if signature is None else signature.dtypes
    return ", ".join(declared[0].allowed) if len(declared) == 1 else ""


def _fact_rows(spec: type[CallSpec], dtypes: str) -> Iterator[FactRow]:
    from tileops.call_spec import facts_declared
    from tileops.introspect.fact_meanings import fact_meanings

    meanings = fact_meanings(spec)
    for fact in facts_declared(spec):
        row = _fact_row(fact, meanings.get(fact.name, ""), spec.DERIVED.get(fact.name))
        yield replace(row, range=dtypes) if row.kind == "dtype" and row.name == "dtype" else row


def _fact_row(fact: Fact, meaning: str, derived: str | None) -> FactRow:
    import enum

    import torch

    from tileops.call_spec import spell

    choices: tuple[str, ...] = ()
    kind = fact.kind.__name__
    if fact.kind is torch.dtype:
        kind = "dtype"
    elif isinstance(fact.kind, type) and issubclass(fact.kind, enum.Enum):
        kind, choices = "choice", tuple(fact.kind.__members__)
    return FactRow(
        name=fact.name,
        kind=kind,
        default=None if fact.required else derived or spell(fact.default),
        range="" if fact.range is None else str(fact.range),
        choices=choices,
        optional=fact.optional,
        meaning=meaning,
    )


def build() -> str:
    """Return the text of the index for the ops as they are."""
    from dataclasses import asdict

    from tileops.ops.catalogue import in_tree_ops

    rows: dict[str, Any] = {name: asdict(row_of(op)) for name, op in in_tree_ops().items()}
    for row in rows.values():
        del row["name"]
    return json.dumps(rows, indent=1, default=list) + "\n"


if __name__ == "__main__":
    from pathlib import Path

    Path(__file__).with_name(FILE).write_text(build(), encoding="utf-8")
