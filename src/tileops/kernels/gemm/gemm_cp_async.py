"""GemmCpAsyncKernel: the matrix product of any size on any architecture."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.gemm.call_spec import VECTOR
from tileops.kernels.gemm.gemm_kernel import GemmKernel, Launch
from tileops.kernels.gemm.tiles import BOUNDED_TILES, bounded

__all__ = ["GemmCpAsyncKernel"]


class GemmCpAsyncKernel(GemmKernel):
    """Matrix products of every size, with asynchronous copies and mma.

    It copies by accesses of 16 bytes where rows are whole vectors, and by narrower ones elsewhere.
    """

    general = True

    def build(self, facts: DeviceFacts) -> None:
        """Compile a program for few rows and one for many, and for rows in and out of vectors."""
        from tileops.kernels.gemm.programs.cp_async import build

        self._launches = build(
            BOUNDED_TILES, self._n, self._k, self._dtype, self._trans_a, self._trans_b, facts
        )

    def launch_for(self, m: int) -> Launch:
        """Choose the tile by the rows, and the accesses by whether they are whole vectors."""
        return self._launches[bounded(m), m % VECTOR == 0]
