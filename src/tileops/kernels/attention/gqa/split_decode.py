"""SplitDecode: a built decoding program, and what a launch of it needs besides its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileops.device import DeviceFacts, allocated_apart, current_device
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.plain import empty_in, on_plain
from tileops.kernels.attention.gqa.tickets import Tickets
from tileops.kernels.attention.gqa.tiling import (
    DecodeTiling,
    clusters_for,
    decode_tiling,
    head_tiles,
    record_floats,
)

__all__ = ["SplitDecode"]

TICKETS = Tickets()
"""The counters of every launch, whatever program it runs: those of one stream take turns."""


class SplitDecode:
    """One query a sequence, with the keys split over as many clusters as a length is worth."""

    def __init__(
        self,
        launch: Callable[..., None],
        form: GQAForm,
        tiling: DecodeTiling,
        sm_count: int,
        device: torch.device,
        *,
        whole: bool = False,
        tickets: Tickets = TICKETS,
    ) -> None:
        """Keep what launches calls of one form.

        Args:
            launch: Runs the program; see `tileops.kernels.attention.gqa.programs.decode.build`.
            form: What the program is built for.
            tiling: How a block works.
            sm_count: Multiprocessors of the device.
            device: Where the program runs.
            whole: Whether each head's keys go to one cluster, however many they are.
            tickets: The counters of launches on the device.
        """
        self._launch, self._form, self._tiling = launch, form, tiling
        self._sm_count, self._whole, self._tickets = sm_count, whole, tickets
        self._floats = record_floats(form.group, form.dim, tiling.cluster)
        tickets.prepare(device)
        self._out_dtype: torch.dtype = getattr(torch, form.out_dtype)
        # What a launch without parts to merge is passed, and does not touch.
        self._no_parts, self._no_tickets = allocated_apart(
            lambda: (
                torch.zeros((1, self._floats), dtype=torch.float32, device=device),
                torch.zeros(1, dtype=torch.int32, device=device),
            )
        )

    @classmethod
    def built(
        cls, form: GQAForm, facts: DeviceFacts, cluster: int = 1, whole: bool = False
    ) -> SplitDecode:
        """Compile for calls of one form on the current device, whose facts these are.

        Args:
            form: What the program is built for.
            facts: Of the current device.
            cluster: Blocks of a cluster.
            whole: As for the constructor.
        """
        from tileops.kernels.attention.gqa.programs.decode import build

        device = current_device()
        assert facts.arch is not None
        assert facts.sm_count is not None
        assert facts.smem_budget is not None
        assert device is not None
        tiling = decode_tiling(form.dim, form.itemsize, facts.arch, facts.smem_budget, cluster)
        launch = build(form, tiling, facts)
        return cls(launch, form, tiling, facts.sm_count, device, whole=whole)

    def bind(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor | None
    ) -> Callable[..., torch.Tensor]:
        """Return what runs calls on tensors with the shapes and strides of these.

        Args:
            q: The queries.
            k: The keys.
            v: The values.
            scales: The three scales, None for 16-bit inputs.
        """
        pairs = q.shape[0] * self._form.heads_kv * head_tiles(self._form.group)
        clusters = self.clusters(pairs, k.shape[1])
        passed = sum(one is not None for one in scales)
        launch, take = self._launch, self._tickets.take
        no_parts, no_tickets = self._no_parts, self._no_tickets
        empty_like, empty = empty_in(self._out_dtype, q), torch.empty
        size, counters = (pairs * clusters, self._floats), pairs * self._tiling.cluster

        def run_whole(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: Any) -> Any:
            if (q.data_ptr() | k.data_ptr() | v.data_ptr()) & MISALIGNED:
                q, k, v = aligned(q), aligned(k), aligned(v)
            o = empty_like(q)
            launch(q, k, v, *scales[:passed], o, no_parts, no_tickets, 1)
            return o

        def run_split(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: Any) -> Any:
            if (q.data_ptr() | k.data_ptr() | v.data_ptr()) & MISALIGNED:
                q, k, v = aligned(q), aligned(k), aligned(v)
            device = q.device
            o = empty_like(q)
            parts = empty(size, dtype=torch.float32, device=device)
            launch(q, k, v, *scales[:passed], o, parts, take(device, counters), clusters)
            return o

        run = run_whole if clusters == 1 else run_split
        # Neither looks at where scales start.
        return on_plain(run if passed else any_address(run), q, k, v, *scales)

    def clusters(self, pairs: int, seqlen_kv: int) -> int:
        """Return over how many clusters the keys of each of *pairs* heads are split."""
        if self._whole:
            return 1
        head_bytes = 2 * self._form.dim * self._form.itemsize
        return clusters_for(pairs, seqlen_kv, head_bytes, self._tiling, self._sm_count)
