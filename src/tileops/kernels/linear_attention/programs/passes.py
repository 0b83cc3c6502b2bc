"""The compiler passes that the programs of linear attention need."""

from types import MappingProxyType

from tileops.kernels.compile import OWN_BARRIERS

__all__ = ["PASSES"]

# TileLang lets buffers share memory whose uses do not overlap, and counts on barriers that it would
# place between them itself.
PASSES = MappingProxyType({**OWN_BARRIERS, "tl.disable_shared_memory_reuse": True})
