"""The linter for kernel interfaces, implementations, ops and backends.

Loads neither torch nor, unless a contract class has to be parsed, libcst. Facts are read
by `tileops.lint.facts`, linked by `tileops.lint.index` and judged by `tileops.lint.rules`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.lint._request import LintRun, Request, installed_version
    from tileops.lint._run import lint

__all__ = ["LintRun", "Request", "installed_version", "lint"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tileops.lint' has no attribute {name!r}")
    from tileops.lint import _request, _run

    return getattr(_run if name == "lint" else _request, name)
