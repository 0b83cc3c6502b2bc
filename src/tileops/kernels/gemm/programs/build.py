"""From the programs of a product to the functions that launch them."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

from tileops.kernels.compile import bare_function

__all__ = ["NO_TMA", "OWN_SYNC", "build_all"]

# Compiles copies as cp.async and products as mma.sync on every architecture. TMA takes no rows of
# an odd size, and wgmma does not see what threads store to shared memory without a fence.
NO_TMA = MappingProxyType(
    {
        "tl.disable_tma_lower": True,
        "tl.disable_warp_specialized": True,
        "tl.disable_wgmma": True,
    }
)

# For a program whose warps have roles: TileLang takes these for one after the other, would make all
# warps wait between them, and might give what they use the same place.
OWN_SYNC = MappingProxyType(
    {"tl.disable_thread_storage_sync": True, "tl.disable_shared_memory_reuse": True}
)


def build_all(
    programs: Iterable[Any], arch: int, passes: Mapping[str, Any] = MappingProxyType({})
) -> list[Callable[..., None]]:
    """Compile programs side by side; nvcc takes most of the time.

    Args:
        programs: TileLang functions named ``main``.
        arch: The architecture, as 90.
        passes: Options of TileLang's passes, by their names.
    """
    made = list(programs)
    with ThreadPoolExecutor(max_workers=len(made)) as workers:
        return list(workers.map(lambda one: bare_function(one, arch, passes), made))
