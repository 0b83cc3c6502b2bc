"""GemmKernel: what the kernels of matrix products share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tileops.device import DeviceFacts, current_facts
from tileops.kernels.alignment import MISALIGNED, aligned, any_address
from tileops.kernels.blank import DENSE, blank
from tileops.kernels.gemm.call_spec import VECTOR, GemmCall, GemmFwdInterface
from tileops.kernels.kernel import Entry, Kernel

__all__ = ["GemmKernel", "Launch"]

Launch = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]
"""Multiplies two tensors into a third, all three dense and aligned."""


class GemmKernel(Kernel, GemmFwdInterface):
    """A kernel whose programs are built for columns, depth, dtype and layout, and any row count."""

    supported_archs: list[int] = [80, 86, 89, 90]

    _launches: Mapping[Any, Callable[..., Any]]

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        """Refuse sums that are shorter than one access."""
        if call.k < VECTOR:
            return f"k must span at least one 16-byte vector, {VECTOR} elements, got {call.k}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: GemmCall) -> Entry:
        """Identify the build by everything but the rows, whatever their number."""
        identity = (call.n, call.k, call.dtype, call.trans_a, call.trans_b)
        return identity, lambda: cls(*identity)

    def __init__(self, n: int, k: int, dtype: torch.dtype, trans_a: bool, trans_b: bool) -> None:
        """Compile the programs for products of *n* columns over *k* on the current device."""
        super().__init__()
        self._n, self._k, self._dtype = n, k, dtype
        self._trans_a, self._trans_b = trans_a, trans_b
        self._facts = current_facts()
        self.build(self._facts)

    @abstractmethod
    def build(self, facts: DeviceFacts) -> None:
        """Compile every program that some number of rows needs, on a device of these facts."""

    @abstractmethod
    def launch_for(self, m: int) -> Launch:
        """Return what launches a product of *m* rows; nothing is compiled."""

    def forward(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Multiply *a* by *b* into *out* or a new tensor."""
        run: Callable[..., torch.Tensor] = self.bind(a, b)
        return run(a, b, out)

    def bind(self, a: torch.Tensor, b: torch.Tensor) -> Callable[..., Any]:
        """Choose the program once; the rest of a call is the allocation and the launch."""
        m = a.shape[1 if self._trans_a else 0]
        launch, empty_like = self.launch_for(m), torch.empty_like
        like = blank((m, self._n), a.dtype, a.device)

        @any_address
        def run(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
            if (a.data_ptr() | b.data_ptr()) & MISALIGNED:
                return run(aligned(a), aligned(b), out)
            if out is not None and not _takes_results(out):
                return out.copy_(run(a, b))
            d = empty_like(like, memory_format=DENSE) if out is None else out
            launch(a, b, d)
            return d

        return run if _is_plain(a) and _is_plain(b) else _on_plain(run)


def _is_plain(matrix: torch.Tensor) -> bool:
    """Whether a contiguous matrix has the strides of a new one.

    Those of a dim of one element can be anything, which TileLang does not overlook.
    """
    return matrix.stride() == (matrix.shape[1], 1)


def _plain(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.as_strided(matrix.shape, (matrix.shape[1], 1))


def _on_plain(run: Callable[..., Any]) -> Callable[..., Any]:
    return any_address(lambda a, b, out=None: run(_plain(a), _plain(b), out))


def _takes_results(out: torch.Tensor) -> bool:
    """Whether a kernel may store into *out* itself."""
    return _is_plain(out) and not (out.data_ptr() & MISALIGNED or out.is_neg() or out.is_conj())
