"""The page of a rule: its docstring, what it weighs and fixes, and its cases as examples.

``python -m tileops.lint._page FOLDER`` writes every page and their index.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from tileops.findings import Severity
from tileops.lint._case import Case, strip_marks
from tileops.lint._registry import all_rules, summary
from tileops.lint._rule import Rule

__all__ = ["index_page", "page", "pages"]

_MEANING = {
    Severity.ERROR: "error: will raise, or select or build the wrong kernel",
    Severity.WARNING: "warning: breaks a written convention",
    Severity.PEDANTIC: "pedantic: off unless selected",
}
_SHOWN = 2
_INTRODUCTION = (
    "`tileops lint` runs the errors and the warnings; `--select all` adds the pedantic ones. "
    "`tileops rule ID` prints one of these pages. How to run them in hooks and in continuous "
    "integration is in [Writing and using the hooks](../writing-and-using-hooks.md)."
)


def page(rule: Rule) -> str:
    """Return the Markdown page of a rule."""
    text = inspect.cleandoc(type(rule).__doc__ or "")
    for heading in ("Why", "Limits"):
        text = text.replace(f"\n{heading}:\n", f"\n## {heading}\n\n")
    prose = "\n".join(line.removeprefix("    ") for line in text.splitlines())
    fixes = " or ".join(str(kind) for kind in rule.fixes) or "none"
    needs = "the whole project" if rule.cross_file else "one file"
    facts = f"*{_MEANING[rule.severity]}; looks at {needs}; fix: {fixes}.*"
    parts = [f"# {rule.id}", facts, prose, "## Flagged", *_flagged(rule), "## Fine", *_fine(rule)]
    suppression = f"# tileops: ignore[{rule.id}] -- reason"
    parts.append(f"To keep a finding, end the statement's header with `{suppression}`.")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def index_page() -> str:
    """Return the Markdown page that lists every rule, the gravest first."""
    parts = ["# Rules", _INTRODUCTION]
    for severity, meaning in _MEANING.items():
        rules = [rule for rule in all_rules().values() if rule.severity is severity]
        rows = ["| rule | fix | |", "|---|---|---|", *map(_row, rules)]
        parts += [f"## {_capital(meaning)}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _row(rule: Rule) -> str:
    fixes = ", ".join(str(kind) for kind in rule.fixes) or "none"
    text = summary(rule).summary.replace("``", "`").replace("|", "\\|")
    return f"| [{rule.id}]({rule.id}.md) | {fixes} | {text} |"


def _flagged(rule: Rule) -> Iterator[str]:
    for case in rule.INVALID[:_SHOWN]:
        yield f"{_capital(case.name)}:"
        yield from _blocks(case)
        yield "\n".join(f"> {message}" for message in case.expected())
    fixed = next((case for case in rule.INVALID if case.fixed is not None), None)
    if fixed is not None:
        yield f"Fixed ({fixed.name}):"
        yield from _blocks(Case(fixed.name, fixed.fixed or ""))


def _fine(rule: Rule) -> Iterator[str]:
    for case in rule.VALID[:_SHOWN]:
        yield f"{_capital(case.name)}:"
        yield from _blocks(case)


def _blocks(case: Case) -> Iterator[str]:
    files = {"": case.files} if isinstance(case.files, str) else case.files
    for path, text in files.items():
        heading = f"# {path}\n" if path else ""
        yield f"```python\n{heading}{strip_marks(text)[0].strip()}\n```"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def pages() -> dict[str, str]:
    """Return every page by file name."""
    return {f"{rule.id}.md": page(rule) for rule in all_rules().values()} | {
        "index.md": index_page()
    }


def main(folder: Path) -> None:
    """Write the pages, and remove those of rules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    written = pages()
    for file in folder.glob("*.md"):
        if file.name not in written:
            file.unlink()
    for name, text in written.items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
