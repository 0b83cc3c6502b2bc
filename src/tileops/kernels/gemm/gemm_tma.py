"""GemmTmaKernel: the matrix product of Hopper, for operands that TMA can bring in."""

from __future__ import annotations

from tileops.device import DeviceFacts
from tileops.kernels.gemm.call_spec import VECTOR, GemmCall
from tileops.kernels.gemm.gemm_kernel import GemmKernel, Launch
from tileops.kernels.gemm.tiles import TMA_TILES, quickest

__all__ = ["GemmTmaKernel"]


class GemmTmaKernel(GemmKernel):
    """Matrix products on Hopper: one warpgroup copies with TMA, the others multiply with wgmma.

    For many tiles a block stays and stores one while the next is loaded.
    """

    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        """Refuse operands whose rows start between two vectors."""
        if not call.a_in_vectors:
            return (
                f"reads rows of a in vectors of {VECTOR} elements, got m {call.m}, k {call.k}, "
                f"trans_a {call.trans_a}"
            )
        if not call.b_in_vectors:
            return (
                f"reads rows of b in vectors of {VECTOR} elements, got n {call.n}, k {call.k}, "
                f"trans_b {call.trans_b}"
            )
        return super().refusal(call)

    def build(self, facts: DeviceFacts) -> None:
        """Compile a program per tile."""
        from tileops.kernels.gemm.programs.tma import build

        self._launches = build(
            TMA_TILES, self._n, self._k, self._dtype, self._trans_a, self._trans_b, facts
        )

    def launch_for(self, m: int) -> Launch:
        """Choose the tile that ends soonest."""
        assert self._facts.sm_count is not None
        return self._launches[quickest(TMA_TILES, m, self._n, self._k, self._facts.sm_count)]
