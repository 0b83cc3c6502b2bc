"""GLAPartitionedKernel: a long sequence of few heads, cut into parts that run side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.kernel import Entry
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.kernels.linear_attention.gla_chunked import GLAChunkedKernel
from tileops.kernels.linear_attention.programs.gla_tiles import chunk_tiles, partitions

__all__ = ["GLAPartitionedKernel"]

SHORTEST = 1024
"""Steps from which three launches and a second read of the keys and values are paid back."""

MOST_SEQUENCES = 64
"""States up to which walking each from end to end leaves half of a large device idle.

Measured on an H200: 64 states of 4096 steps take 0.7 of the time in two parts, 256 take 1.3.
"""


class GLAPartitionedKernel(GLAChunkedKernel, GLAFwdInterface):
    """Long sequences of few heads: parts of a sequence run side by side.

    What each part adds to the state, and what it leaves of it, is summed up first; a scan over
    the parts turns that into the state that each begins with; then all parts run at once. The
    general implementation ranks below, so no preference is stated.
    """

    @classmethod
    def refusal(cls, call: GLACall) -> str | None:
        """Serve long sequences where there are few."""
        if call.seq_len < SHORTEST:
            return f"serves seq_len of at least {SHORTEST}, got {call.seq_len}"
        if call.sequences > MOST_SEQUENCES:
            return f"serves batch * heads of at most {MOST_SEQUENCES}, got {call.sequences}"
        # Their values are cut in two, so half as many states keep as many blocks busy.
        if call.dim_v == 256 and call.sequences > MOST_SEQUENCES // 2:
            return (
                f"serves batch * heads of at most {MOST_SEQUENCES // 2} where dim_v is 256, "
                f"got {call.sequences}"
            )
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: GLACall) -> Entry:
        """Identify the build by widths, dtype, scale and whether a state is given."""
        identity = (call.dim_k, call.dim_v, call.dtype, call.scale, call.has_initial_state)
        return identity, lambda: cls(*identity)

    def __init__(
        self, dim_k: int, dim_v: int, dtype: torch.dtype, scale: float, has_initial_state: bool
    ) -> None:
        """Compile the three programs for these widths on the current device."""
        super().__init__()
        from tileops.kernels.linear_attention.programs import gla_chunks, gla_scan, gla_summary

        facts = current_facts()
        assert facts.arch is not None
        assert facts.sm_count is not None
        self._tiles = chunk_tiles(dim_k, dim_v, facts.arch)
        self._sm_count = facts.sm_count
        self._summarise = gla_summary.build(dim_k, dim_v, dtype, facts)
        self._scan = gla_scan.build(dim_k, dim_v, has_initial_state, facts)
        # The scan has seen to the initial state: every part begins with one.
        self._launch = gla_chunks.build(dim_k, dim_v, dtype, scale, True, facts)

    def bind(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        g: torch.Tensor,
        initial_state: torch.Tensor | None,
    ) -> Callable[..., Any]:
        """Cut the sequence once; the rest of a call is allocations and launches."""
        batch, seq_len, heads, dim_k = q.shape
        dim_v = v.shape[3]
        shape = (batch, heads, dim_k, dim_v)
        blocks = batch * heads * -(-dim_v // self._tiles.width)
        chunks = -(-seq_len // self._tiles.chunk)
        cut = partitions(chunks, blocks, self._sm_count, self._tiles)

        def run(
            q: torch.Tensor,
            k: torch.Tensor,
            v: torch.Tensor,
            g: torch.Tensor,
            initial_state: torch.Tensor | None,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            o = torch.empty_like(v)
            final = torch.empty(shape, dtype=torch.float32, device=v.device)
            states = final.new_empty((cut.states, *shape))
            fades = final.new_empty((cut.states, *shape[:3]))
            before = 0 if initial_state is None else initial_state.data_ptr()
            at = (q.data_ptr(), k.data_ptr(), v.data_ptr(), g.data_ptr())
            if cut.count > 1:
                self._summarise(
                    *(*at[1:], states, fades.data_ptr()), *(seq_len, cut.span // cut.pieces)
                )
            self._scan(before, fades.data_ptr(), states)
            self._launch(
                *(*at, states.data_ptr(), o.data_ptr(), final),
                *(seq_len, cut.count, cut.span, cut.pieces),
            )
            return o, final

        return run
