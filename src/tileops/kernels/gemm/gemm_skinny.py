"""GemmSkinnyKernel: the matrix product of few rows on Hopper."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.gemm.call_spec import VECTOR, GemmCall
from tileops.kernels.gemm.gemm_kernel import Launch
from tileops.kernels.gemm.gemm_tma import GemmTmaKernel
from tileops.kernels.gemm.tiles import SKINNY_ROWS, skinny_tiles

__all__ = ["GemmSkinnyKernel"]


class GemmSkinnyKernel(GemmTmaKernel):
    """Matrix products of few rows on Hopper, where reading one operand takes the time.

    The sum over k is split among the blocks of a cluster, so that every multiprocessor reads.
    """

    preferred_over = frozenset({"gemm_tma"})

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        """Refuse many rows, and columns that are stored between two vectors."""
        if call.m > SKINNY_ROWS:
            return f"serves up to {SKINNY_ROWS} rows, got {call.m}"
        if call.n % VECTOR != 0:
            return f"writes rows in vectors of {VECTOR} elements, got n {call.n}"
        return super().refusal(call)

    def build(self, facts: DeviceFacts) -> None:
        """Compile a program per number of rows to have room for."""
        from tileops.kernels.gemm.programs.skinny import build

        assert facts.sm_count is not None
        tiles = skinny_tiles(self._n, facts.sm_count)
        self._launches = build(
            tiles, self._n, self._k, self._dtype, self._trans_a, self._trans_b, facts
        )

    def launch_for(self, m: int) -> Launch:
        """Choose the first tile that has room for the rows."""
        return self._launches[next(tile for tile in self._launches if m <= tile.rows)]
