"""What ``tileops trace`` is asked and given: names, recordings that were edited, and its help."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "traced_block.h200.jsonl"
