"""Peers that Triton tunes: their configurations compiled ahead, each by one of many processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["sharing"]

NEVER = [float("inf")] * 3
"""The times of a configuration that another process compiles."""


@contextmanager
def sharing(share: int, shares: int) -> Iterator[None]:
    """Compile every *shares*-th configuration from *share* on, and choose nothing.

    Triton keeps what it compiles on disk. What it would choose among a share is forgotten at the
    end, in this process as well.

    Args:
        share: Which of the shares, from zero.
        shares: How many there are.

    Raises:
        ImportError: Triton is not installed.
    """
    from triton.runtime.autotuner import Autotuner  # type: ignore[import-not-found]

    bench, run = Autotuner._bench, Autotuner.run
    met: list[Any] = []

    def bench_share(self: Any, *arguments: Any, config: Any, **meta: Any) -> Any:
        place = self.configs.index(config) if config in self.configs else 0
        return bench(self, *arguments, config=config, **meta) if place % shares == share else NEVER

    def run_forgetting(self: Any, *arguments: Any, **keywords: Any) -> Any:
        met.append(self)
        self.cache_results = False
        return run(self, *arguments, **keywords)

    Autotuner._bench, Autotuner.run = bench_share, run_forgetting
    try:
        yield
    finally:
        Autotuner._bench, Autotuner.run = bench, run
        for one in met:
            one.cache.clear()
