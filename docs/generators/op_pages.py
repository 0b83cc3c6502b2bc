"""A page for every op: signature, parameters, interfaces, keys, and where they can run.

``python docs/generators/op_pages.py`` writes ``docs/ops/*.md`` from the manifest and the op
classes. What installed backends add is left out.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from generated import DOCS, marker, write
from tileops import manifest
from tileops.backend import Registry
from tileops.call_spec import option
from tileops.cli._example import example_call
from tileops.cli._index import FactRow, in_tree_index
from tileops.device import BOARDS
from tileops.manifest import BufferDecl, OpEntry, OutputDecl, ParamDecl, Signature, TensorDecl
from tileops.ops._tables import tables_of
from tileops.ops.catalogue import in_tree_ops
from tileops.ops.op import Op
from tileops.selection import Candidate

__all__ = ["FOLDER", "pages"]

FOLDER = "ops"

_INDEX = """\
# Ops

{marker}

Every op is a class of the package: `from tileops import LayerNormFwdOp`.
Constructing it fixes the parameters; calling it takes tensors and returns new ones.
Each page has the op's signature, its kernel interfaces and the keys that serve them.
What some of them compute, and which kernel serves a call, is told by the pages on \
[attention](../attention.md), [gated linear attention](../gated-linear-attention.md) and \
[batch and instance normalization](../batch-and-instance-normalization.md); \
[the glossary](../glossary.md) has the words.
"""


def pages() -> dict[str, str]:
    """Return the page of every op and their index, by path below ``docs/``."""
    entries, ops = manifest.load(), in_tree_ops()
    described = {name: entries[name] for name in ops if name in entries}
    found = {f"{FOLDER}/{name}.md": _page(ops[name], one) for name, one in described.items()}
    return found | {f"{FOLDER}/index.md": _index(ops, described)}


def _index(ops: Mapping[str, type[Op]], entries: Mapping[str, OpEntry]) -> str:
    parts = [_INDEX.format(marker=marker(__file__))]
    for family in sorted({one.family for one in entries.values()}):
        rows = [
            (f"[{name}]({name}.md)", _summary(ops[name]), ", ".join(_code(ops[name].kernel_types)))
            for name, one in entries.items()
            if one.family == family
        ]
        title = family.replace("_", " ").capitalize()
        parts += [f"## {title}", "", _table(("op", "what it does", "keys"), rows), ""]
    return "\n".join(parts)


def _page(op: type[Op], entry: OpEntry) -> str:
    signature = entry.signature
    parts = [
        f"# {entry.name}\n\n{marker(__file__)}",
        f"{_summary(op)}.",
        f"*Reference*: `{entry.reference}`",
        f"```text\n{_usage(entry)}\n```",
        *_signature(signature),
        *_interfaces(op),
        *_cost(entry),
    ]
    return "\n\n".join(parts) + "\n"


def _usage(entry: OpEntry) -> str:
    signature = entry.signature
    params = ", ".join(
        one.name if one.required else f"{one.name}={one.default!r}" for one in signature.params
    )
    inputs = [
        one.name if str(one.optional) == "False" else f"{one.name}=None" for one in signature.inputs
    ]
    named = [buffer.name for buffer in signature.buffers]
    named += [argument.name for argument in signature.execution]
    keywords = [f"{name}=None" for name in named]
    call = ", ".join([*inputs, *(["*", *keywords] if keywords else [])])
    results = ", ".join(one.name for one in signature.outputs)
    return f"op = {entry.name}({params})\n{results} = op({call})"


def _signature(signature: Signature) -> Iterator[str]:
    if signature.params:
        yield "## Parameters"
        yield _table(("name", "type", "default", "values"), map(_param, signature.params))
    yield "## Inputs"
    yield _table(("name", "dtype", "shape", "passed", "notes"), map(_input, signature.inputs))
    yield "## Outputs"
    yield _table(("name", "dtype", "shape", "notes"), map(_output, signature.outputs))
    if signature.buffers:
        yield "## Buffers"
        yield _table(("keyword", "receives"), map(_buffer, signature.buffers))
    if signature.execution:
        yield "## Arguments of a call"
        yield _table(("keyword", "type", "default", "values"), map(_param, signature.execution))
    for one in signature.dtypes:
        yield f"`{one.name}` is {_one_of(one.allowed)}, the same for every tensor that has it."
    conditions = [
        one.says.replace("*", r"\*") if one.says else f"`{one.require}`"
        for one in signature.refinements
    ]
    conditions += [f"{', '.join(_code(one))} are given all or none" for one in signature.together]
    if conditions:
        yield "What else a call must meet:\n\n" + "\n".join(f"- {one}." for one in conditions)


def _param(one: ParamDecl) -> tuple[str, ...]:
    default = "required" if one.default is msgspec.UNSET else f"`{one.default!r}`"
    return f"`{one.name}`", f"`{one.type}`", default, ", ".join(_code(map(repr, one.choices)))


def _input(one: TensorDecl) -> tuple[str, ...]:
    when, optional, written = str(one.when), str(one.optional), str(one.written)
    passed = "always" if when == "True" else f"when `{when}`"
    if optional != "False":
        passed = "optional" if optional == "True" else f"optional when `{optional}`"
    notes = []
    if written != "False":
        notes.append("written in place" + ("" if written == "True" else f" when `{written}`"))
    if one.contiguous:
        notes.append("contiguous")
    if one.device == "cpu":
        notes.append("stays on the CPU")
    return f"`{one.name}`", f"`{one.dtype}`", f"`{one.shape}`", passed, ", ".join(notes)


def _output(one: OutputDecl) -> tuple[str, ...]:
    notes = [] if str(one.when) == "True" else [f"returned when `{one.when}`"]
    if one.alias:
        notes.append(f"is `{one.alias}`, written in place")
    return f"`{one.name}`", f"`{one.dtype}`", f"`{one.shape}`", ", ".join(notes)


def _buffer(one: BufferDecl) -> tuple[str, ...]:
    return f"`{one.name}`", f"`{one.output}`" + (", contiguous" if one.contiguous else "")


def _interfaces(op: type[Op]) -> Iterator[str]:
    if not op.interfaces:
        yield "## Kernels\n\nThe op is made of other ops and holds no kernels of its own."
        return
    tables = tables_of(op, Registry())
    for name, interface in op.interfaces.items():
        facts = in_tree_index()[op.__name__].interfaces[name]
        yield f"## Interface `{name}`"
        yield f"{_first(interface)}\nIt is `{interface.__module__}.{interface.__name__}`."
        yield "The facts that a kernel is selected by, besides the device:"
        yield _table(("fact", "meaning", "type", "values", "default"), map(_fact, facts))
        yield "The keys that serve it:"
        yield _keys(tables[name].candidates)
        yield "Where each can run; [which calls it serves](../supported-kernels.md) is another matter:"
        yield _boards(tables[name].candidates)
        yield f"```text\n{_question(op, name)}\n```"


def _fact(one: FactRow) -> tuple[str, ...]:
    values = one.range or ", ".join(_code(one.choices))
    default = "required" if one.default is None else f"`{one.default}`"
    kind = one.kind + (" or none" if one.optional else "")
    return f"`{one.name}`", one.meaning.replace("*", r"\*"), kind, values, default


def _question(op: type[Op], interface: str) -> str:
    """Return a command that can be run: the first workload's call as facts."""
    facts = example_call(op, interface) or {}
    stated = [word for name, value in facts.items() for word in option(name, value)]
    return shlex.join(["tileops", "explain", op.__name__, "--interface", interface, *stated])


def _keys(candidates: Iterable[Candidate]) -> str:
    rows = []
    for one in candidates:
        kind: Any = one.implementation
        ranks = "general" if kind.general else ", ".join(_code(sorted(kind.preferred_over)))
        rows.append((f"`{one.key}`", f"`{kind.__name__}`", _first(kind), ranks))
    return _table(("key", "class", "what it is", "preferred over"), rows)


def _boards(candidates: Iterable[Candidate]) -> str:
    archs = sorted({board.facts.arch for board in BOARDS if board.facts.arch is not None})
    heads = [f"{arch}<br>{', '.join(_names(arch))}" for arch in archs]
    rows = []
    for one in candidates:
        kind: Any = one.implementation
        runs = [_runs(kind, arch) for arch in archs]
        rows.append((f"`{one.key}`", ", ".join(sorted(kind.devices)), *runs))
    return _table(("key", "devices", *heads), rows)


def _names(arch: int) -> list[str]:
    return [board.name for board in BOARDS if board.facts.arch == arch]


def _runs(kind: Any, arch: int) -> str:
    supported = kind.supported_archs is None or arch in kind.supported_archs
    return "yes" if "cuda" in kind.devices and supported else "no"


def _cost(entry: OpEntry) -> Iterator[str]:
    yield "## Work and measurements"
    yield (
        f"A call cannot avoid `{entry.roofline.flops}` floating-point operations and "
        f"`{entry.roofline.bytes}` bytes."
    )
    count = len(entry.workloads)
    measured = re.search(
        rf"^### {entry.name}$", (DOCS / "benchmarks.md").read_text("utf-8"), flags=re.M
    )
    if measured:
        anchor = entry.name.lower()
        yield (
            f"The manifest names {count} workloads of it; "
            f"[the benchmarks](../benchmarks.md#{anchor}) have the key that serves each, "
            "and its time on an H200 beside those of its peers."
        )
    else:
        yield f"The manifest names {count} workloads of it; none has been measured yet."


def _summary(kind: type) -> str:
    return _first(kind).rstrip(".")


def _first(kind: type) -> str:
    """Return the first sentence of a docstring."""
    text = " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0].replace("``", "`")


def _one_of(names: tuple[str, ...]) -> str:
    *rest, last = _code(names)
    return f"{', '.join(rest)} or {last}" if rest else last


def _code(names: Iterable[str]) -> list[str]:
    return [f"`{one}`" for one in names]


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table without the columns that no row fills."""
    listed = list(rows)
    kept = [place for place in range(len(heads)) if any(row[place] for row in listed)]
    lines = [[heads[place] for place in kept], ["---" for _ in kept]]
    lines += [[row[place].replace("|", "or") for place in kept] for row in listed]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    write(pages(), FOLDER)
