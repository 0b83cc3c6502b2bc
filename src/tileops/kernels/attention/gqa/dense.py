"""DenseGQAKernel: what the kernels of dense grouped-query attention share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import torch

from tileops.device import DeviceFacts, current_facts
from tileops.kernels.attention.gqa.call_spec import AttentionCall, GQADenseFwdInterface
from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.kernel import Entry, Kernel

__all__ = ["BuiltProgram", "DenseGQAKernel"]


class BuiltProgram(Protocol):
    """A program that runs calls of one form, whatever their batch and lengths."""

    def bind(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor | None
    ) -> Callable[..., torch.Tensor]:
        """Return what runs calls on tensors with the shapes and strides of these."""
        ...


class DenseGQAKernel(Kernel, GQADenseFwdInterface):
    """A kernel over whole sequences, without rotation, for heads of whole 8-element vectors."""

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        """Refuse heads that no program is written for, and what none does on the way."""
        if call.dim % 8 != 0:
            return f"serves dim in multiples of 8, got {call.dim}"
        if call.dim > 256:
            return f"serves dim up to 256, got {call.dim}"
        if call.fuse_rope:
            return f"serves positions rotated beforehand, got fuse_rope {call.fuse_rope}"
        if call.window:
            return f"serves whole sequences, got window {call.window}"
        return super().refusal(call)

    @classmethod
    def entry_for(cls, call: AttentionCall) -> Entry:
        """Identify the build by everything but batch and lengths."""
        form = GQAForm.of(call)
        return form, lambda: cls(form)

    def __init__(self, form: GQAForm) -> None:
        """Compile the program for calls of one form on the current device."""
        super().__init__()
        self._program = self.built(form, current_facts())

    @abstractmethod
    def built(self, form: GQAForm, facts: DeviceFacts) -> BuiltProgram:
        """Compile for calls of one form on the current device, whose facts these are."""

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_scale: torch.Tensor | None = None,
        k_scale: torch.Tensor | None = None,
        v_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Attend with every query of every sequence."""
        scales = (q_scale, k_scale, v_scale)
        return self.bind(q, k, v, *scales)(q, k, v, *scales)

    def bind(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor | None
    ) -> Callable[..., torch.Tensor]:
        """Choose what follows from shapes once; the rest of a call is allocation and launch."""
        return self._program.bind(q, k, v, *scales)
