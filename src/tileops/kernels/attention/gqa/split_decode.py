"""SplitDecode: a built decoding program, and what a launch of it needs besides its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts, allocated_apart, current_device
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.tickets import Tickets
from tileops.kernels.attention.gqa.tiling import (
    DecodeTiling,
    clusters_for,
    decode_tiling,
    head_tiles,
)

__all__ = ["SplitDecode"]

TICKETS = Tickets()
"""The counters of every launch, whatever program it runs: those of one stream take turns."""


class SplitDecode:
    """One query a sequence, with the keys split over as many clusters as a length is worth."""

    def __init__(
        self, form: GQAForm, tiling: DecodeTiling, facts: DeviceFacts, whole: bool = False
    ) -> None:
        """Compile for calls of one form on the current device.

        Args:
            form: What the program is built for.
            tiling: How a block works.
            facts: Of the current device.
            whole: Whether each head's keys go to one cluster, however many they are.
        """
        from tileops.kernels.attention.gqa.programs.decode import build, record_floats

        self.form, self.tiling = form, tiling
        self._launch = build(form, tiling, facts)
        self._floats = record_floats(form, tiling)
        self._sm_count = facts.sm_count or 1
        self._whole = whole
        device = current_device()
        # What a launch without parts to merge is passed, and does not touch.
        self._no_parts = allocated_apart(lambda: torch.zeros((1, self._floats), device=device))
        self._no_tickets = allocated_apart(lambda: torch.zeros(1, dtype=torch.int32, device=device))
        self._out_dtype: torch.dtype = getattr(torch, form.out_dtype)

    @classmethod
    def with_clusters_of(
        cls, blocks: int, form: GQAForm, facts: DeviceFacts, whole: bool = False
    ) -> SplitDecode:
        """Compile for clusters of so many blocks; see the constructor for the rest."""
        assert facts.arch is not None
        assert facts.smem_budget is not None
        tiling = decode_tiling(form.dim, form.itemsize, facts.arch, facts.smem_budget, blocks)
        return cls(form, tiling, facts, whole)

    def bind(self, q: torch.Tensor, k: torch.Tensor, scaled: bool) -> Callable[..., torch.Tensor]:
        """Return what runs calls on tensors shaped like these.

        Args:
            q: The queries.
            k: The keys.
            scaled: Whether the scales are passed on.
        """
        pairs = q.shape[0] * self.form.heads_kv * head_tiles(self.form.group)
        clusters = self.clusters(pairs, k.shape[1])
        launch, dtype = self._launch, self._out_dtype
        no_parts, no_tickets = self._no_parts, self._no_tickets
        empty_like, empty, here = torch.empty_like, torch.empty, TICKETS.here
        size = (pairs * clusters, self._floats)

        def run(q: torch.Tensor, *others: Any) -> torch.Tensor:
            o = empty_like(q, dtype=dtype)
            given = others if scaled else others[:2]
            if clusters == 1:
                launch(q, *given, o, no_parts, no_tickets, 1)
            else:
                parts = empty(size, dtype=torch.float32, device=q.device)
                launch(q, *given, o, parts, here(q.device), clusters)
            return o

        return run

    def clusters(self, pairs: int, seqlen_kv: int) -> int:
        """Return over how many clusters the keys of each of *pairs* heads are split."""
        if self._whole:
            return 1
        head_bytes = 2 * self.form.dim * self.form.itemsize
        return clusters_for(pairs, seqlen_kv, head_bytes, self.tiling, self._sm_count)
