"""The page of every exception: its sentence, when it is raised, its causes and the remedy.

``python docs/generators/error_catalogue.py`` writes ``docs/errors.md`` from `tileops.errors` and
`tileops.lint.errors`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import tileops.errors
import tileops.lint.errors
from generated import marker, write
from tileops.errors import TileopsError

__all__ = ["Description", "describe", "errors", "pages"]

_INTRODUCTION = """\
# Errors

{marker}

Every exception of tileops is a class of its own in `tileops.errors`, or in `tileops.lint.errors` \
for what keeps the linter from running.
The values that its sentence was made from are attributes of the object, so a program need not read the text.
In the sentences below, words in angle brackets stand for them.

A command that ends with one of these writes the sentence to stderr and exits with 2 or 3; \
[the commands](cli.md) say which code means what.
"""

_FAMILIES = """\
## Families

Catch one of these to handle several conditions alike.

| class | of | covers |
| --- | --- | --- |"""


@dataclass(frozen=True)
class Description:
    """What the docstring of an exception says.

    Attributes:
        when: The condition, as a sentence.
        cause: What usually leads to it; empty for a family.
        remedy: What to do; empty for a family.
    """

    when: str
    cause: str
    remedy: str


def describe(error: type[TileopsError]) -> Description:
    """Read the docstring of an exception."""
    sections = re.split(r"\n\n(Cause|Remedy|Attributes):\n", inspect.cleandoc(error.__doc__ or ""))
    named = dict(zip(sections[1::2], sections[2::2], strict=True))
    cause, remedy = (_prose(named.get(name, "")) for name in ("Cause", "Remedy"))
    return Description(_prose(sections[0]), cause, remedy)


def errors() -> dict[str, list[type[TileopsError]]]:
    """Return the exceptions by the heading of the module that holds them, in reading order."""
    public = (tileops.errors, tileops.lint.errors)
    found = [getattr(module, name) for module in public for name in module.__all__]
    headings: dict[str, list[type[TileopsError]]] = {}
    modules = dict.fromkeys(inspect.getmodule(one) for one in found)
    for module in sorted(filter(None, modules), key=_place):
        own = [one for one in found if one.__module__ == module.__name__]
        own.sort(key=lambda one: inspect.getsourcelines(one)[1])
        headings[_heading(module)] = own
    return headings


def pages() -> dict[str, str]:
    """Return the page by its file name."""
    by_heading = errors()
    families = [one for group in by_heading.values() for one in group if not describe(one).cause]
    parts = [_INTRODUCTION.format(marker=marker(__file__)), *_families(families)]
    for heading, group in by_heading.items():
        raised = [one for one in group if one not in families]
        if raised:
            parts += [f"\n## {heading}\n", *(_entry(one) for one in raised)]
    return {"errors.md": "\n".join(parts).rstrip("\n") + "\n"}


def _families(families: list[type[TileopsError]]) -> Iterator[str]:
    yield _FAMILIES
    for one in families:
        yield f"| `{one.__name__}` | {_bases(one)} | {_first_sentence(describe(one).when)} |"


def _entry(error: type[TileopsError]) -> str:
    said = describe(error)
    return f"""\
### {error.__name__}

{said.when}

> {_sentence(error.template)}

*Cause.*
{said.cause}

*Remedy.*
{said.remedy}

*Is a* {_bases(error)}.
"""


def _bases(error: type[TileopsError]) -> str:
    return ", ".join(f"`{base.__name__}`" for base in error.__bases__)


def _sentence(template: str) -> str:
    """Show a template as a quotation, its fields in angle brackets."""
    literal = re.sub(r"([*_<>`])", r"\\\1", template.replace("{{", "\0").replace("}}", "\1"))
    shown = re.sub(r"\{((?:\\_|\w)+)[^}]*\}", lambda field: _field(field[1]), literal)
    return shown.replace("\0", "{").replace("\1", "}").replace("\n", "<br>\n> ")


def _field(name: str) -> str:
    return "`<" + name.replace("\\", "") + ">`"


def _prose(text: str) -> str:
    lines = " ".join(line.strip() for line in text.splitlines() if line.strip())
    return lines.replace("``", "`")


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _heading(module: ModuleType) -> str:
    return _first_sentence(_prose(module.__doc__ or "")).partition(":")[0]


def _place(module: ModuleType) -> tuple[int, str]:
    """Sort by when a reader meets the errors: root, construction, call, and so on."""
    stem = module.__name__.rpartition(".")[2]
    order = (
        "_root",
        "_construction",
        "_signature",
        "_call",
        "_gradient",
        "_build",
        "_backend",
        "_manifest",
    )
    return (order.index(stem) if stem in order else len(order), module.__name__)


if __name__ == "__main__":
    write(pages())
