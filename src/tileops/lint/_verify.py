"""What must hold of a file after its edits, whatever rule made them."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from difflib import SequenceMatcher

from tileops.findings import Edit
from tileops.lint._source import Source
from tileops.lint.facts import Span, parse

__all__ = ["stray_change"]


def stray_change(before: Source, after: Source, edits: Iterable[Edit]) -> str:
    """Return why the edited file is not what the edits say, "" when it is.

    Both texts must parse, no comment may go but with deleted code, and their trees may differ
    only in nodes that an edit touches.
    """
    try:
        parsed, fixed = parse(before.data), parse(after.data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the fixed file would not parse: {error}"
    edits = list(edits)
    lost = _lost_comment(_comments(parsed.data), _comments(fixed.data), edits)
    if lost:
        return f"the fix would lose the comment {lost!r}"
    touched = [(e.range.line, e.range.end_line) for e in edits]
    try:
        differences = _differences(parsed.tree, fixed.tree)
    except RecursionError:
        return "the file nests too deeply for the fix to be verified"
    for where in differences:
        if not any(first - 1 <= where[2] and where[0] <= last + 1 for first, last in touched):
            return f"the fix would change line {where[0]} as well"
    return ""


def _comments(data: bytes) -> list[tuple[int, str]]:
    """Return the comments of a text that parses, with their lines."""
    if b"#" not in data:
        return []
    lines = io.StringIO(data.decode("utf-8", "surrogateescape"), newline=None)
    found: list[tuple[int, str]] = []
    # What the tokenizer stops at lies behind the last comment, since the parser takes the text.
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string))
    return found


def _lost_comment(
    before: list[tuple[int, str]], after: list[tuple[int, str]], edits: list[Edit]
) -> str:
    """Return a comment that is gone and stood in no deleted stretch, or ""."""
    deleted = [edit.range for edit in edits if not edit.text]
    left = Counter(text for _, text in after)
    for line, text in before:
        if any(where.line <= line <= where.end_line for where in deleted):
            continue
        left[text] -= 1
        if left[text] < 0:
            return text
    return ""


def _differences(old: ast.AST, new: ast.AST) -> list[Span]:
    """Return the spans, in the old tree, of the smallest nodes in which the trees differ."""
    if ast.dump(old) == ast.dump(new):
        return []
    if type(old) is not type(new):
        return [_span(old)]
    found: list[Span] = []
    plain = False
    for name in old._fields:
        mine, other = getattr(old, name, None), getattr(new, name, None)
        if isinstance(mine, ast.AST) and isinstance(other, ast.AST):
            found += _differences(mine, other)
        elif isinstance(mine, list) and isinstance(other, list):
            found += _aligned(old, mine, other)
        elif mine != other:
            plain = True
    return [_span(old)] if plain else found


def _aligned(owner: ast.AST, old: list[object], new: list[object]) -> list[Span]:
    if not all(isinstance(item, ast.AST) for item in (*old, *new)):
        return [] if old == new else [_span(owner)]
    nodes = [item for item in old if isinstance(item, ast.AST)]
    others = [item for item in new if isinstance(item, ast.AST)]
    matcher = SequenceMatcher(
        None,
        [ast.dump(node) for node in nodes],
        [ast.dump(node) for node in others],
        autojunk=False,
    )
    found: list[Span] = []
    for tag, first, last, other_first, other_last in matcher.get_opcodes():
        if tag == "replace" and last - first == other_last - other_first:
            pairs = zip(nodes[first:last], others[other_first:other_last], strict=True)
            found += [span for mine, other in pairs for span in _differences(mine, other)]
        elif tag in ("replace", "delete"):
            found += [_span(node) for node in nodes[first:last]]
        elif tag == "insert":
            found.append(_gap(owner, nodes, first))
    return found


def _gap(owner: ast.AST, nodes: list[ast.AST], position: int) -> Span:
    """Return the span an insertion before ``nodes[position]`` may lie in."""
    start = _span(nodes[position - 1])[2] if position else _span(owner)[0]
    end = _span(nodes[position])[0] if position < len(nodes) else _span(owner)[2]
    return (start, 0, max(start, end), 0)


def _span(node: ast.AST) -> Span:
    line = getattr(node, "lineno", None)
    if line is None:
        inner = [child for child in ast.walk(node) if hasattr(child, "lineno")]
        spans = [_span(child) for child in inner]
        first = min((span[0] for span in spans), default=1)
        return (first, 0, max((span[2] for span in spans), default=1), 0)
    first = min([line, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return (first, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
