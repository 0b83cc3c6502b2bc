"""GLAPrefillKernel: any number of steps, chunk by chunk in one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.blank import DENSE, blank
from tileops.kernels.kernel import Entry
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.kernels.linear_attention.gla_chunked import GLAChunkedKernel
from tileops.kernels.linear_attention.programs.gla_tiles import chunk_tiles

__all__ = ["GLAPrefillKernel"]


class GLAPrefillKernel(GLAChunkedKernel, GLAFwdInterface):
    """Any number of steps: a block walks a sequence's chunks, and holds its state in registers.

    Within a chunk steps are weighed by products of gates alone, which never overflow.
    """

    general = True

    @classmethod
    def entry_for(cls, call: GLACall) -> Entry:
        """Identify the build by widths, dtype, scale and whether a state is given."""
        identity = (call.dim_k, call.dim_v, call.dtype, call.scale, call.has_initial_state)
        return identity, lambda: cls(*identity)

    def __init__(
        self, dim_k: int, dim_v: int, dtype: torch.dtype, scale: float, has_initial_state: bool
    ) -> None:
        """Compile the program for these widths on the current device."""
        super().__init__()
        from tileops.kernels.linear_attention.programs.gla_chunks import build

        facts = current_facts()
        assert facts.arch is not None
        self._chunk = chunk_tiles(dim_k, dim_v, facts.arch).chunk
        self._launch = build(dim_k, dim_v, dtype, scale, has_initial_state, facts)

    def bind(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None,
    ) -> Callable[..., Any]:
        """Count the chunks once; the rest of a call is the allocation and the launch."""
        batch, seq_len, heads, dim_k = q.shape
        state = blank((batch, heads, dim_k, v.shape[3]), torch.float32, v.device)
        chunks = -(-seq_len // self._chunk)
        launch, empty_like = self._launch, torch.empty_like

        @any_address
        def run(
            q: torch.Tensor,
            k: torch.Tensor,
            v: torch.Tensor,
            g: torch.Tensor,
            initial_state: torch.Tensor | None,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            before = 0 if initial_state is None else initial_state.data_ptr()
            q_at, k_at, v_at, g_at = q.data_ptr(), k.data_ptr(), v.data_ptr(), g.data_ptr()
            if (q_at | k_at | v_at | g_at | before) & MISALIGNED:
                given = None if initial_state is None else aligned(initial_state)
                return self.forward(aligned(q), aligned(k), aligned(v), aligned(g), given)
            o, final = empty_like(v), empty_like(state, memory_format=DENSE)
            launch(q_at, k_at, v_at, g_at, before, o.data_ptr(), final, seq_len, 1, chunks, 1)
            return o, final

        return run
