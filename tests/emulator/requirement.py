"""The mark of tests that run kernels on the CPU."""

from __future__ import annotations

import pytest

from .toolchain import missing

__all__ = ["EMULATED"]

_MISSING = missing()

EMULATED = pytest.mark.skipif(_MISSING is not None, reason=_MISSING or "")
"""Skips tests where the emulator cannot run, and says why."""
