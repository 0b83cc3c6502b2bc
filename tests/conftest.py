"""The template backend, whose kernels run on a CPU, for the tests that need real kernels."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tileops.backend import REGISTRY

ACME = Path(__file__).parents[1] / "docs" / "examples" / "tileops_acme" / "src"


@pytest.fixture
def acme(monkeypatch):
    """Register the template backend for one test, unless the environment has it anyway."""
    REGISTRY.load()
    if "tileops_acme" in sys.modules:
        yield
        return
    before = REGISTRY.snapshot()
    monkeypatch.syspath_prepend(str(ACME))
    importlib.import_module("tileops_acme")
    yield
    REGISTRY.restore(before)
    for name in [one for one in sys.modules if one.partition(".")[0] == "tileops_acme"]:
        del sys.modules[name]
