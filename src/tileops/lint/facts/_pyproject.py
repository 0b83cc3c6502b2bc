"""The facts of a ``pyproject.toml``: its entry points ``tileops.backends``, and suppressions."""

import re
import tomllib

from tileops.lint.facts._ignores import line_ignores
from tileops.lint.facts._records import EntryPoint, FileFacts, Span

__all__ = ["pyproject_facts"]

_GROUP = "tileops.backends"


def pyproject_facts(data: bytes) -> FileFacts:
    """Return the backends a project declares; none where the file is not well formed.

    Such a file is for packaging tools to complain of.
    """
    try:
        text = data.decode("utf-8")
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return FileFacts()
    group: object = document
    for name in ("project", "entry-points", _GROUP):
        group = group.get(name) if isinstance(group, dict) else None
    if not isinstance(group, dict):
        return FileFacts()
    stated = [(name, value) for name, value in group.items() if isinstance(value, str)]
    points = (EntryPoint(n, v.partition(":")[0].strip(), _span(text, n, v)) for n, v in stated)
    return FileFacts(entry_points=tuple(points), ignores=tuple(line_ignores(text)))


def _span(text: str, name: str, value: str) -> Span:
    """Return where the value stands, quotes included; the first line when it is written oddly."""
    line_of = re.compile(
        rf"\s*[\"']?{re.escape(name)}[\"']?\s*=\s*(?P<value>[\"']{re.escape(value)}[\"'])"
    )
    for number, line in enumerate(text.splitlines(), 1):
        match = line_of.match(line)
        if match:
            start = len(line[: match.start("value")].encode())
            return (number, start, number, start + len(match["value"].encode()))
    return (1, 0, 1, 0)
