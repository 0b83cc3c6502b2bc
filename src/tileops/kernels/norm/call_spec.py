"""The call specs and kernel interfaces of the norm family.

`LayerNormCall` is that of rows. `BatchNormCall`, that of channels, is written in `channel_calls`
beside the calls that each interface narrows it to.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Annotated, ClassVar

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.norm import channel_calls
from tileops.kernels.norm._accepted import unaccepted
from tileops.kernels.norm.channel_calls import BatchNormCall
from tileops.kernels.norm.programs import channel_layout as limits

__all__ = [
    "AdaLayerNormFwdInterface",
    "AdaLayerNormZeroFwdInterface",
    "BatchNormBwdInterface",
    "BatchNormCall",
    "BatchNormInferFwdInterface",
    "BatchNormTrainFwdInterface",
    "FusedAddLayerNormFwdInterface",
    "FusedAddRMSNormFwdInterface",
    "InstanceNormFwdInterface",
    "InstanceNormInferFwdInterface",
    "InstanceNormTrainFwdInterface",
    "LayerNormCall",
    "LayerNormFwdInterface",
    "RMSNormFwdInterface",
]


@dataclasses.dataclass(frozen=True)
class LayerNormCall(CallSpec):
    """The facts that select an implementation normalizing trailing rows and build it.

    Layer, RMS, fused-add and adaptive layer normalization take it.

    Attributes:
        n: Elements of a row, which is normalized by itself.
        eps: What is added to the variance, or to the mean square, before its root is taken.
        dtype: Of every tensor.
    """

    n: Annotated[int, Range(1, 2**31 - 1)] = 0
    eps: Annotated[float, Range(0.0)] = 1e-5
    dtype: torch.dtype = torch.float16

    def impossible(self) -> str | None:
        """A row holds at least one element, in a dtype the ops accept."""
        if self.n < 1:
            return f"n must be at least 1, got {self.n}"
        return unaccepted(self.eps, self.dtype)


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


class BatchNormTrainFwdInterface(KernelInterface):
    """Batch normalization by the statistics of the batch, which move the running ones."""

    request = BatchNormCall
    narrowed = channel_calls.BatchNormTrainCall

    @classmethod
    def workspace(cls, call: BatchNormCall) -> int:
        """Return the float32 elements of the workspace: three for every part of a channel."""
        if call.n * call.spatial < limits.LEAST_SPLIT or call.c > limits.MOST_SPLIT_CHANNELS:
            return 0
        return 3 * limits.PARTS * call.c

    @abstractmethod
    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        workspace: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Normalize every channel of *x* by its own mean and biased variance.

        Every tensor is contiguous on ``call.device``; the data of *x* starts at a multiple of
        16 bytes. Statistics are float32, and equal calls give equal bits. A channel that holds NaN
        or an infinity becomes NaN; of one element, the unbiased variance is undefined.

        Args:
            x: Shape ``(n, c, *spatial dims)`` in ``call.dtype``, not empty.
            running_mean: ``(c,)`` float32, moved in place by ``call.momentum`` towards the mean;
                None without ``call.has_running_stats``.
            running_var: ``(c,)`` float32, moved likewise towards the unbiased variance.
            weight: ``(c,)`` scales in ``call.dtype``; None, for ones, without ``call.has_weight``.
            bias: ``(c,)`` shifts in ``call.dtype``; None, for zeros, without ``call.has_bias``.
            workspace: ``workspace(call)`` float32 elements for this call alone, whose contents are
                undefined before and after; None where that is 0.

        Returns:
            A new output shaped like *x*, in ``call.dtype``, and two new float32 tensors ``(c,)``:
            the mean, and the reciprocal root of the biased variance plus eps.
        """


class BatchNormInferFwdInterface(KernelInterface):
    """Batch normalization by running statistics."""

    request = BatchNormCall
    narrowed: ClassVar[type[CallSpec] | None] = channel_calls.BatchNormInferCall

    @abstractmethod
    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor,
        running_var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """Normalize every channel of *x* by the statistics given; nothing is written in place.

        Every tensor is contiguous on ``call.device``; the data of *x* starts at a multiple of
        16 bytes.

        Args:
            x: Shape ``(n, c, *spatial dims)`` in ``call.dtype``, not empty.
            running_mean: ``(c,)`` float32, the mean of each channel.
            running_var: ``(c,)`` float32, the variance of each channel.
            weight: ``(c,)`` scales in ``call.dtype``; None, for ones, without ``call.has_weight``.
            bias: ``(c,)`` shifts in ``call.dtype``; None, for zeros, without ``call.has_bias``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class BatchNormBwdInterface(KernelInterface):
    """The gradients of batch normalization by the statistics of the batch."""

    request = BatchNormCall
    narrowed = channel_calls.BatchNormBwdCall
    workspace = BatchNormTrainFwdInterface.workspace

    @abstractmethod
    def forward(
        self,
        grad_output: torch.Tensor,
        x: torch.Tensor,
        mean: torch.Tensor,
        rstd: torch.Tensor,
        weight: torch.Tensor | None,
        workspace: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Differentiate; nothing is written in place but the workspace.

        With xn = (x - mean) rstd of a channel of L elements, the gradient of the input is
        w rstd (dy - sum(dy) / L - xn sum(dy xn) / L), that of the scale sum(dy xn), that of the
        shift sum(dy) (Ioffe and Szegedy, "Batch Normalization", 2015).

        Every tensor is contiguous on ``call.device``; the data of *grad_output* and of *x* starts
        at a multiple of 16 bytes. Equal calls give equal bits.

        Args:
            grad_output: Shaped like *x*, in ``call.dtype``.
            x: The input of the forward pass, ``(n, c, *spatial dims)`` in ``call.dtype``.
            mean: ``(c,)`` float32, the means that the forward pass returned.
            rstd: ``(c,)`` float32, the reciprocal deviations that it returned.
            weight: ``(c,)`` scales in ``call.dtype``; None, for ones, without ``call.has_weight``.
            workspace: ``workspace(call)`` float32 elements for this call alone, whose contents are
                undefined before and after; None where that is 0.

        Returns:
            New gradients in ``call.dtype``: of *x*, shaped like it, of the scale and of the shift,
            ``(c,)`` each.
        """


class InstanceNormFwdInterface(KernelInterface):
    """Instance normalization: every plane by its own statistics."""

    request = BatchNormCall
    narrowed = channel_calls.InstanceNormCall

    @abstractmethod
    def forward(
        self, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
    ) -> torch.Tensor:
        """Normalize every plane of *x* by its mean and biased variance; nothing is written.

        Every tensor is contiguous on ``call.device``; the data of *x* starts at a multiple of
        16 bytes.

        Args:
            x: Shape ``(n, c, *spatial dims)`` in ``call.dtype``, not empty.
            weight: ``(c,)`` scales in ``call.dtype``; None, for ones, without ``call.has_weight``.
            bias: ``(c,)`` shifts in ``call.dtype``; None, for zeros, without ``call.has_bias``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class InstanceNormTrainFwdInterface(KernelInterface):
    """Instance normalization that moves running statistics."""

    request = BatchNormCall
    narrowed = channel_calls.InstanceNormTrainCall

    @abstractmethod
    def forward(
        self,
        x: torch.Tensor,
        running_mean: torch.Tensor,
        running_var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        """Normalize every plane of *x* by its mean and biased variance.

        Every tensor is contiguous on ``call.device``; the data of *x* starts at a multiple of
        16 bytes. Of planes of one element, the unbiased variance is undefined.

        Args:
            x: Shape ``(n, c, *spatial dims)`` in ``call.dtype``, not empty.
            running_mean: ``(c,)`` float32, moved in place by ``call.momentum`` towards the average
                over the batch of the planes' means.
            running_var: ``(c,)`` float32, moved likewise towards that of their unbiased variances.
            weight: ``(c,)`` scales in ``call.dtype``; None, for ones, without ``call.has_weight``.
            bias: ``(c,)`` shifts in ``call.dtype``; None, for zeros, without ``call.has_bias``.

        Returns:
            A new output shaped like *x*, in ``call.dtype``.
        """


class InstanceNormInferFwdInterface(BatchNormInferFwdInterface):
    """Instance normalization by running statistics, which is batch normalization by them."""

    request = BatchNormCall
    narrowed = channel_calls.InstanceNormInferCall
