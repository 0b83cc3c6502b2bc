"""The precedence graph of an op: a text tree, DOT and Mermaid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

from tileops.cli._imports import load_op, stdout_kept_clean
from tileops.cli._ops import explored_interfaces
from tileops.cli._render import Line, columns, write
from tileops.cli._stdout import emit
from tileops.introspect.graph import Overlap, Pair, PrecedenceGraph, precedence_graph
from tileops.selection import EdgeKind

SCHEMA: Final = "tileops.graph/1.0"

_SAID: Final = {
    Overlap.DECLARED: "both serve some calls, precedence is declared",
    Overlap.UNDECLARED: "both serve some calls, NO precedence is declared",
    Overlap.DISJOINT: "proved to serve no call together",
    Overlap.UNKNOWN: "NOT PROVED whether both serve a call",
}


def ask(row: Any, interface: str | None) -> tuple[PrecedenceGraph, ...]:
    """Relate the keys of an op's interfaces.

    Raises:
        UsageFailure: The op has no such interface.
        LoadFailure: The op cannot be loaded.
    """
    with stdout_kept_clean():
        op = load_op(row)
        return tuple(precedence_graph(one) for one in explored_interfaces([op], interface))


def render(graphs: tuple[PrecedenceGraph, ...], form: str) -> None:
    """Write graphs to stdout."""
    if form == "json":
        emit(json.dumps(_record(graphs), indent=2) + "\n")
    elif form == "dot":
        emit("".join(_dot(one) for one in graphs))
    elif form == "mermaid":
        emit("".join(_mermaid(one) for one in graphs))
    else:
        write(line for one in graphs for line in (*_lines(one), ()))


def _lines(graph: PrecedenceGraph) -> Iterator[Line]:
    yield ((f"{graph.op}.{graph.interface}", "bold"),)
    losers = {pair.second for pair in graph.pairs if pair.edge is not None}
    for one in graph.candidates:
        if one.key not in losers:
            yield from _subtree(graph, one.key, 0)
    for pair in graph.pairs:
        if pair.overlap is Overlap.DISJOINT or (pair.edge and pair.overlap is Overlap.DECLARED):
            continue
        style = "bold red" if pair.overlap is Overlap.UNDECLARED else "dim"
        yield ((f"  {pair.first}, {pair.second}: {_SAID[pair.overlap]}", style),)
        if pair.overlap is Overlap.UNDECLARED and pair.shared is not None:
            command = pair.shared.selection.command()
            yield ((f"    {command or pair.shared.selection.call.describe()}", "dim"),)
    yield from _disjoint_lines(graph)


def _disjoint_lines(graph: PrecedenceGraph) -> Iterator[Line]:
    """Yield a line for every key with those that serve none of the same calls."""
    apart: dict[str, list[str]] = {}
    for pair in graph.pairs:
        if pair.overlap is Overlap.DISJOINT:
            apart.setdefault(pair.first, []).append(pair.second)
    if apart:
        yield ((f"  {_SAID[Overlap.DISJOINT]}:", "dim"),)
        rows = [((f"    {key}", "dim"), (f"and {', '.join(o)}", "dim")) for key, o in apart.items()]
        yield from columns(rows)


def _subtree(graph: PrecedenceGraph, key: str, depth: int) -> Iterator[Line]:
    note = "  general" if key == graph.general else ""
    margin = "  " * depth + ("> " if depth else "  ")
    yield ((f"{margin}{key}", ""), (note, "dim"))
    for pair in graph.pairs:
        below = pair.first == key and pair.edge is not None
        if below and not _is_implied(graph, pair):
            yield from _subtree(graph, pair.second, depth + 1)


def _is_implied(graph: PrecedenceGraph, pair: Pair) -> bool:
    """Whether the pair's edge follows from two others, and so need not be drawn."""
    outranks = {(one.first, one.second) for one in graph.pairs if one.edge is not None}
    return any(
        (pair.first, b.key) in outranks and (b.key, pair.second) in outranks
        for b in graph.candidates
    )


def _dot(graph: PrecedenceGraph) -> str:
    lines = [f'digraph "{graph.op}.{graph.interface}" {{', "  node [shape=box];"]
    for one in graph.candidates:
        shape = " [style=dashed]" if one.key == graph.general else ""
        lines.append(f'  "{one.key}"{shape};')
    for pair in graph.pairs:
        lines.append(f'  "{pair.first}" -> "{pair.second}" [{_dot_style(graph, pair)}];')
    return "\n".join([*lines, "}", ""])


def _dot_style(graph: PrecedenceGraph, pair: Pair) -> str:
    if pair.overlap is Overlap.DISJOINT:
        return 'style=dotted dir=none label="disjoint"'
    if pair.edge is None:
        return 'color=red dir=none label="undeclared"'
    return 'style=dashed label="general"' if pair.edge.kind is EdgeKind.GENERAL else "style=solid"


def _mermaid(graph: PrecedenceGraph) -> str:
    lines = ["flowchart TD"]
    names = {one.key: f"k{place}" for place, one in enumerate(graph.candidates)}
    for one in graph.candidates:
        label = f"{one.key} (general)" if one.key == graph.general else one.key
        lines.append(f'  {names[one.key]}["{label}"]')
    for pair in graph.pairs:
        first, second = names[pair.first], names[pair.second]
        lines.append(f"  {first} {_mermaid_link(pair)} {second}")
    return "\n".join([*lines, ""])


def _mermaid_link(pair: Pair) -> str:
    if pair.overlap is Overlap.DISJOINT:
        return "-. disjoint .-"
    if pair.edge is None:
        return "-- undeclared ---"
    return "-. general .->" if pair.edge.kind is EdgeKind.GENERAL else "-->"


def _record(graphs: tuple[PrecedenceGraph, ...]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tileops": version("tileops"),
        "graphs": [
            {
                "op": one.op,
                "interface": one.interface,
                "general": one.general,
                "keys": [candidate.key for candidate in one.candidates],
                "pairs": [
                    {
                        "first": pair.first,
                        "second": pair.second,
                        "overlap": pair.overlap.value,
                        "edge": None if pair.edge is None else list(pair.edge.path),
                        "covers": pair.covers,
                        "shared": None
                        if pair.shared is None
                        else pair.shared.selection.call.describe(),
                    }
                    for pair in one.pairs
                ],
            }
            for one in graphs
        ],
    }
