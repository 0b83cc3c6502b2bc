"""The call specs and kernel interfaces of the norm family."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Annotated

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface

__all__ = [
    "AdaLayerNormFwdInterface",
    "AdaLayerNormZeroFwdInterface",
    "FusedAddLayerNormFwdInterface",
    "FusedAddRMSNormFwdInterface",
    "LayerNormCall",
    "LayerNormFwdInterface",
    "RMSNormFwdInterface",
]


@dataclasses.dataclass(frozen=True)
class LayerNormCall(CallSpec):
    """The facts that select an implementation normalizing trailing rows and build it.

    Layer, RMS, fused-add and adaptive layer normalization take it. ``n`` is the row's element
    count and ``eps`` the op's epsilon.
    """

    n: Annotated[int, Range(1, 2**31 - 1)] = 0
    eps: Annotated[float, Range(0.0)] = 1e-5
    dtype: torch.dtype = torch.float16

    def impossible(self) -> str | None:
        """A row holds at least one element, in a dtype the ops accept."""
        if self.n < 1:
            return f"n must be at least 1, got {self.n}"
        if self.eps < 0.0:
            return f"eps must not be negative, got {self.eps}"
        if self.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            return f"dtype must be float16, bfloat16 or float32, got {self.dtype}"
        return None


class LayerNormFwdInterface(KernelInterface):
    """Layer normalization over the trailing ``call.n`` elements."""

    request = LayerNormCall

    @abstractmethod
    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Normalize each run of ``call.n`` trailing elements; nothing is written in place.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes. Mean and biased variance are those of the whole row; eps is added to the
        variance. A row that holds NaN or an infinity becomes NaN.

        Args:
            x: Any shape whose trailing axes hold ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            weight: ``call.n`` elements of scale in ``call.dtype``.
            bias: ``call.n`` elements of shift in ``call.dtype``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class RMSNormFwdInterface(KernelInterface):
    """Root mean square normalization over the trailing ``call.n`` elements."""

    request = LayerNormCall

    @abstractmethod
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Divide each run of ``call.n`` trailing elements by its root mean square.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes; nothing is written in place. eps is added to the mean of the squares, which is
        taken in float32, and the product with the scale is rounded once. A row that holds NaN
        becomes NaN.

        Args:
            x: Any shape whose trailing axes hold ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            weight: ``call.n`` elements of scale in ``call.dtype``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class FusedAddLayerNormFwdInterface(KernelInterface):
    """The sum of two tensors, and its layer normalization over ``call.n`` elements."""

    request = LayerNormCall

    @abstractmethod
    def forward(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add *residual* to *x*, round, and normalize the rounded sum.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes; nothing is written in place, and *x* and *residual* may be the same tensor.

        Args:
            x: Any shape whose trailing axes hold ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            residual: Shaped like *x*, in ``call.dtype``.
            weight: ``call.n`` elements of scale in ``call.dtype``.
            bias: ``call.n`` elements of shift in ``call.dtype``.

        Returns:
            The normalized sum and the sum itself, two new outputs shaped like *x* in
            ``call.dtype``. The sum equals ``x + residual`` bit by bit, and the statistics are
            those of the rounded sum.
        """


class FusedAddRMSNormFwdInterface(KernelInterface):
    """The sum of two tensors, and its root mean square normalization over ``call.n`` elements."""

    request = LayerNormCall

    @abstractmethod
    def forward(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add *residual* to *x*, round, and divide the rounded sum by its root mean square.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes; nothing is written in place, and *x* and *residual* may be the same tensor.

        Args:
            x: Any shape whose trailing axes hold ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            residual: Shaped like *x*, in ``call.dtype``.
            weight: ``call.n`` elements of scale in ``call.dtype``.

        Returns:
            The normalized sum and the sum itself, two new outputs shaped like *x* in
            ``call.dtype``. The sum equals ``x + residual`` bit by bit, and the mean square is
            that of the rounded sum.
        """


class AdaLayerNormFwdInterface(KernelInterface):
    """Layer normalization without parameters, then a scale and a shift for every element."""

    request = LayerNormCall

    @abstractmethod
    def forward(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        """Return ``scale * layer_norm(x) + shift``, rounded once.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes; nothing is written in place.

        Args:
            x: Any shape whose trailing axis holds ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            scale: Shaped like *x*, in ``call.dtype``.
            shift: Shaped like *x*, in ``call.dtype``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class AdaLayerNormZeroFwdInterface(KernelInterface):
    """Adaptive layer normalization with a gate for every element."""

    request = LayerNormCall

    @abstractmethod
    def forward(
        self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, gate: torch.Tensor
    ) -> torch.Tensor:
        """Return ``gate * (scale * layer_norm(x) + shift)``, rounded once.

        Every tensor is contiguous on ``call.device`` and its data starts at a multiple of
        16 bytes; nothing is written in place.

        Args:
            x: Any shape whose trailing axis holds ``call.n`` elements and that is not empty, in
                ``call.dtype``.
            scale: Shaped like *x*, in ``call.dtype``.
            shift: Shaped like *x*, in ``call.dtype``.
            gate: Shaped like *x*, in ``call.dtype``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """
