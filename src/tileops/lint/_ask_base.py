"""Rewriting a ``refusal`` so that every path that may serve asks the base class."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit
from tileops.lint._rule import Repair, Sources
from tileops.lint._source import Source
from tileops.lint.facts import FunctionFacts, Span
from tileops.lint.index import ClassNode

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._paths import Paths

__all__ = ["ask_base", "form"]


def form(function: "cst.FunctionDef", paths: "Paths") -> str:
    """Return which rewriting makes every path ask: "append", "replace", "split", or "" for none."""
    import libcst as cst

    from tileops.lint._syntax import is_none

    if paths.falls_through:
        indented = isinstance(function.body, cst.IndentedBlock)
        return "append" if not paths.bad and indented else ""
    last = function.body.body[-1]
    statement = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    if len(paths.bad) != 1 or paths.bad[0] is not statement:
        return ""
    value = paths.bad[0].value
    if is_none(value):
        return "replace"
    arms = (value.body, value.orelse) if isinstance(value, cst.IfExp) else ()
    alone = isinstance(last, cst.SimpleStatementLine) and len(last.body) == 1
    return "split" if alone and any(is_none(arm) for arm in arms) else ""


def ask_base(form: str, span: Span, owner: ClassNode, method: FunctionFacts) -> Repair | None:
    """Return the repair that ends a ``refusal`` with ``super().refusal``, None without a form."""
    if not form:
        return None
    applicability = Applicability.UNSAFE if form == "split" else Applicability.SAFE
    build = partial(_edits, form, span, owner, method)
    return Repair(applicability, f"end with super().refusal({method.params[1].name})", build)


def _edits(
    form: str, span: Span, owner: ClassNode, method: FunctionFacts, sources: Sources
) -> Iterator[Edit]:
    from tileops.lint import _edits as edits

    source = sources[owner.module.path]
    text = f"return super().refusal({method.params[1].name})"
    if form == "append":
        yield edits.append_statement(source, method, text)
    elif form == "replace":
        yield edits.replace(source, span, text)
    else:
        yield from _split(source, span, text)


def _split(source: Source, span: Span, text: str) -> Iterator[Edit]:
    """Turn ``return None if served else reason`` into an ``if`` and a question to the base."""
    import libcst as cst

    from tileops.lint._edits import replace
    from tileops.lint._syntax import code, is_none

    node = cst.parse_statement(source.slice(span).replace("\r\n", "\n"))
    match node:
        case cst.SimpleStatementLine(body=[cst.Return(value=cst.IfExp() as value)]):
            served = is_none(value.body)
            reason = value.orelse if served else value.body
            test = f"not ({code(value.test)})" if served else code(value.test)
            indent = source.indent(span[0])
            lines = [f"if {test}:", f"{indent}    return {code(reason)}", f"{indent}{text}"]
            yield replace(source, span, source.newline.join(lines))
