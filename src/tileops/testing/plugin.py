"""The pytest plugin: what the tests tried of each interface's selection.

pytest imports this module in every project of an environment, so it imports nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_terminal_summary"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of selection coverage."""
    group = parser.getgroup("tileops", "selection of tileops kernels")
    group.addoption(
        "--tileops-coverage",
        action="store_true",
        help="report which conditions and boundaries of each interface's selection the tests tried",
    )
    group.addoption(
        "--tileops-coverage-op",
        action="append",
        default=[],
        metavar="OP",
        help="an op to report, by name or as MODULE:OP; repeatable (default: every in-tree op)",
    )
    group.addoption(
        "--tileops-coverage-fail-under",
        type=float,
        default=None,
        metavar="PERCENT",
        help="fail unless so many boundary pairs are tested on both sides; implies the report",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect where a report is wanted.

    Raises:
        pytest.UsageError: The threshold is no percentage.
    """
    threshold = config.getoption("--tileops-coverage-fail-under")
    # Written so that it is false of nan, too.
    if threshold is not None and not 0 <= threshold <= 100:
        import pytest

        raise pytest.UsageError(
            f"--tileops-coverage-fail-under takes a percentage, 0 to 100; got {threshold:g}"
        )
    if config.getoption("--tileops-coverage") or threshold is not None:
        from tileops.testing._collector import Collector

        names = tuple(config.getoption("--tileops-coverage-op"))
        config.pluginmanager.register(Collector(names, threshold), "tileops-coverage")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say that ops were named for a report that nobody asked for."""
    named = config.getoption("--tileops-coverage-op")
    if named and not config.pluginmanager.has_plugin("tileops-coverage"):
        terminalreporter.write_line(
            "--tileops-coverage-op reports nothing without --tileops-coverage"
        )
