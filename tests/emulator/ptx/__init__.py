"""A translator of inline PTX to C++."""

from .rewriting import rewrite
from .text import split_top

__all__ = ["rewrite", "split_top"]
