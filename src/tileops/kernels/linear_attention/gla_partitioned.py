"""GLAPartitionedKernel: a long sequence of few heads, cut into parts that run side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import current_facts
from tileops.kernels.blank import DENSE, blank
from tileops.kernels.kernel import Entry
from tileops.kernels.linear_attention.call_spec import GLACall, GLAFwdInterface
from tileops.kernels.linear_attention.gla_chunked import GLAChunkedKernel
from tileops.kernels.linear_attention.programs.gla_tiles import chunk_tiles, partitions

__all__ = ["GLAPartitionedKernel"]

SHORTEST = 512
"""Steps from which two more launches and a second read of the keys and values are paid back."""

MOST_SEQUENCES = 64
"""States up to which walking each from end to end leaves half of a large device idle.

Measured on an H200: 64 states of 4096 steps take 0.7 of the time in two parts, 256 of 2048 take
1.2 to 1.3.
"""

STEPS_A_SEQUENCE = 16
"""Steps for every state: the more states, the fewer parts, and the longer a part has to be.

Measured on an H200: 16 states of 512 steps take 0.56 of the time, 64 take 0.99, and 0.78 of 1024.
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
        if call.seq_len < STEPS_A_SEQUENCE * call.sequences:
            return (
                f"serves seq_len of at least {STEPS_A_SEQUENCE} * batch * heads, "
                f"got {call.seq_len} and {call.sequences}"
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
        state = blank(shape, torch.float32, v.device)
        blocks = batch * heads * -(-dim_v // self._tiles.width)
        chunks = -(-seq_len // self._tiles.chunk)
        cut = partitions(chunks, blocks, self._sm_count, self._tiles)
        many_states, many_fades = (cut.states, *shape), (cut.states, *shape[:3])
        count, span, pieces = cut.count, cut.span, cut.pieces
        piece = span // pieces
        summarise, scan, launch = self._summarise, self._scan, self._launch
        empty_like = torch.empty_like

        def run(
            q: torch.Tensor,
            k: torch.Tensor,
            v: torch.Tensor,
            g: torch.Tensor,
            initial_state: torch.Tensor | None,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            before = 0 if initial_state is None else initial_state.data_ptr()
            o, final = empty_like(v), empty_like(state, memory_format=DENSE)
            states, fades = final.new_empty(many_states), final.new_empty(many_fades)
            k_at, v_at, g_at, fades_at = k.data_ptr(), v.data_ptr(), g.data_ptr(), fades.data_ptr()
            if count > 1:
                summarise(k_at, v_at, g_at, states, fades_at, seq_len, piece)
            scan(before, fades_at, states)
            states_at, o_at = states.data_ptr(), o.data_ptr()
            launch(
                q.data_ptr(), k_at, v_at, g_at, states_at, o_at, final, seq_len, count, span, pieces
            )
            return o, final

        return run
