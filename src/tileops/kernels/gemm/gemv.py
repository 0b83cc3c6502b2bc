"""GemvKernel: the matrix product of very few rows, without tensor cores."""

from __future__ import annotations

import torch

from tileops.device import DeviceFacts
from tileops.kernels.gemm.call_spec import VECTOR, GemmCall
from tileops.kernels.gemm.gemm_kernel import GemmKernel, Launch
from tileops.kernels.gemm.tiles import GEMV_ROWS

__all__ = ["GemvKernel"]


class GemvKernel(GemmKernel):
    """Products of one row or very few: a read of the second operand at the speed of memory.

    On Hopper it serves one row: further rows cost its threads more than reading does.
    """

    preferred_over = frozenset({"gemm_skinny", "gemm_tma"})

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        """Refuse more rows, and what lies between two vectors."""
        if call.m > GEMV_ROWS:
            return f"serves up to {GEMV_ROWS} rows, got {call.m}"
        if call.m > 1 and call.arch == 90:
            return f"serves one row on arch 90, got {call.m}"
        if call.trans_a and call.m > 1:
            return f"serves one row where a is stored transposed, got {call.m}"
        if not call.b_in_vectors:
            return (
                f"reads rows of b in vectors of {VECTOR} elements, got n {call.n}, k {call.k}, "
                f"trans_b {call.trans_b}"
            )
        return super().refusal(call)

    def build(self, facts: DeviceFacts) -> None:
        """Compile a program for one row and one for several."""
        from tileops.kernels.gemm.programs.gemv import build

        heights = (1,) if self._trans_a or facts.arch == 90 else (1, GEMV_ROWS)
        self._launches = build(heights, self._n, self._k, self._dtype, self._trans_b, facts)

    def launch_for(self, m: int) -> Launch:
        """Choose the program by the rows, and pass it addresses: one row has no layout."""
        program = self._launches[1 if m == 1 else GEMV_ROWS]

        def launch(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
            program(a.data_ptr(), b, d.data_ptr(), m)

        return launch
