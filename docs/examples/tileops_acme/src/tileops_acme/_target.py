"""The target's kernels: each serves every call of its op, from the op's signature alone."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tileops.backend import TensorSpec


def build_layer_norm(
    input: TensorSpec,
    weight: TensorSpec | None,
    bias: TensorSpec | None,
    *,
    normalized_shape: tuple[int, ...],
    eps: float,
) -> Callable[..., torch.Tensor]:
    """Build the kernel for inputs like these; a compiler would run here, once per shape."""
    if input.device.type != "cpu":
        raise ValueError(f"the acme target runs on cpu devices, got {input.device}")

    def layer_norm(
        input: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
    ) -> torch.Tensor:
        return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)

    return layer_norm


def build_rms_norm(
    x: TensorSpec,
    weight: TensorSpec | None,
    *,
    normalized_shape: tuple[int, ...],
    eps: float | None,
) -> Callable[..., torch.Tensor]:
    """Build the kernel for inputs like these."""
    if x.device.type != "cpu":
        raise ValueError(f"the acme target runs on cpu devices, got {x.device}")

    def rms_norm(x: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, normalized_shape, weight, eps)

    return rms_norm
