"""What ``tileops trace`` is asked and given: names, recordings that were edited, and its help."""

from __future__ import annotations
