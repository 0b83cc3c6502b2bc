"""GLADecodeKernel: one step, whose time is that of reading and writing the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.blank import DENSE, blank
from tileops.kernels.kernel import Entry
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.kernels.linear_attention.gla_kernel import GLAKernel
from tileops.kernels.linear_attention.programs.gla_tiles import DecodeTiles, decode_tiles

__all__ = ["GLADecodeKernel"]


class GLADecodeKernel(GLAKernel, GLAFwdInterface):
    """One step: the state is read once and written once, in float32 throughout."""

    @classmethod
    def refusal(cls, call: GLACall) -> str | None:
        """Serve sequences of one step."""
        if call.seq_len != 1:
            return f"serves seq_len 1, got {call.seq_len}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: GLACall) -> Entry:
        """Identify the build by widths, dtype, scale, presence of a state, and tiles."""
        tiles = decode_tiles(call.dim_k, call.dim_v, call.sequences, call.sm_count or 1)
        identity = (
            call.dim_k,
            call.dim_v,
            call.dtype,
            call.scale,
            call.has_initial_state,
            tiles,
        )
        return identity, lambda: cls(*identity)

    def __init__(
        self,
        dim_k: int,
        dim_v: int,
        dtype: torch.dtype,
        scale: float,
        has_initial_state: bool,
        tiles: DecodeTiles,
    ) -> None:
        """Compile the program for these widths on the current device."""
        super().__init__()
        from tileops.kernels.linear_attention.programs.gla_decode import build

        self._launch = build(dim_k, dim_v, dtype, scale, has_initial_state, tiles, current_facts())

    def bind(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None,
    ) -> Callable[..., Any]:
        """Allocate the results and launch; only without a state must its shape be worked out."""
        if initial_state is None:
            shape = (q.shape[0], q.shape[2], q.shape[3], v.shape[3])
            return self._from_zeros(blank(shape, torch.float32, v.device))
        empty_like = torch.empty_like

        @any_address
        def run(
            q: torch.Tensor,
            k: torch.Tensor,
            v: torch.Tensor,
            g: torch.Tensor,
            initial_state: torch.Tensor,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            at = (q.data_ptr(), k.data_ptr(), v.data_ptr(), g.data_ptr(), initial_state.data_ptr())
            if (at[0] | at[1] | at[2] | at[3] | at[4]) & MISALIGNED:
                return self.forward(
                    aligned(q), aligned(k), aligned(v), aligned(g), aligned(initial_state)
                )
            o, final = empty_like(v), empty_like(initial_state, memory_format=DENSE)
            self._launch(*at, o.data_ptr(), final)
            return o, final

        return run

    def _from_zeros(self, state: torch.Tensor) -> Callable[..., Any]:
        empty_like = torch.empty_like

        @any_address
        def run(
            q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, absent: None
        ) -> tuple[torch.Tensor, torch.Tensor]:
            at = (q.data_ptr(), k.data_ptr(), v.data_ptr(), g.data_ptr())
            if (at[0] | at[1] | at[2] | at[3]) & MISALIGNED:
                return self.forward(aligned(q), aligned(k), aligned(v), aligned(g), None)
            o, final = empty_like(v), empty_like(state, memory_format=DENSE)
            self._launch(*at, 0, o.data_ptr(), final)
            return o, final

        return run
