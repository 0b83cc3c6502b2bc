"""Peers of normalization: torch eager and compiled, and Liger where it is installed."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.nn import functional as F

from harness.inputs import Inputs
from harness.peers import Builder, Family, Function, Params

__all__ = ["FAMILY"]

Tensor = torch.Tensor


def layer_norm(params: Params) -> Function:
    """Return layer normalization."""
    shape, eps = params["normalized_shape"], params.get("eps", 1e-5)

    def run(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        return F.layer_norm(x, shape, weight, bias, eps)

    return run


def rms_norm(params: Params) -> Function:
    """Return RMS normalization."""
    shape, eps = params["normalized_shape"], params.get("eps")

    def run(x: Tensor, weight: Tensor | None = None) -> Tensor:
        return F.rms_norm(x, shape, weight, eps)

    return run


def fused_add_layer_norm(params: Params) -> Function:
    """Return the sum, rounded, and its layer normalization."""
    eps = params.get("eps", 1e-5)

    def run(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        added = x + residual
        return F.layer_norm(added, added.shape[-1:], weight, bias, eps), added

    return run


def fused_add_rms_norm(params: Params) -> Function:
    """Return the sum, rounded, and its RMS normalization."""
    eps = params.get("eps", 1e-6)

    def run(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        added = x + residual
        return F.rms_norm(added, added.shape[-1:], weight, eps), added

    return run


def ada_layer_norm(params: Params) -> Function:
    """Return layer normalization, scaled and shifted element by element."""
    eps = params.get("eps", 1e-5)

    def run(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        normalized: Tensor = F.layer_norm(x, x.shape[-1:], None, None, eps)
        return scale * normalized + shift

    return run


def ada_layer_norm_zero(params: Params) -> Function:
    """Return the adaptive layer normalization, gated element by element."""
    adaptive = ada_layer_norm(params)

    def run(x: Tensor, scale: Tensor, shift: Tensor, gate: Tensor) -> Tensor:
        output: Tensor = gate * adaptive(x, scale, shift)
        return output

    return run


def batch_norm(params: Params) -> Function:
    """Return batch normalization; in training with the statistics that torch saves."""
    training, momentum = params.get("training", False), params.get("momentum", 0.1)
    eps = params.get("eps", 1e-5)

    def train(
        x: Tensor,
        mean: Tensor | None = None,
        var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        return torch.native_batch_norm(x, weight, bias, mean, var, True, momentum, eps)

    def infer(
        x: Tensor,
        mean: Tensor,
        var: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        return F.batch_norm(x, mean, var, weight, bias, False, momentum, eps)

    return train if training else infer


def batch_norm_bwd(params: Params) -> Function:
    """Return the gradients of batch normalization in training."""

    def run(
        grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        backward = torch.ops.aten.native_batch_norm_backward
        gradients: tuple[Tensor, Tensor, Tensor] = backward(
            grad, x, weight, None, None, mean, rstd, True, 1e-5, [True, True, True]
        )
        return gradients

    return run


def instance_norm(params: Params) -> Function:
    """Return instance normalization."""
    own, momentum = params.get("use_input_stats", True), params.get("momentum", 0.1)
    eps = params.get("eps", 1e-5)

    def run(
        x: Tensor,
        mean: Tensor | None = None,
        var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        return F.instance_norm(x, mean, var, weight, bias, own, momentum, eps)

    return run


def positive(tensor: Tensor, generator: torch.Generator) -> None:
    """Fill with values between 0.5 and 1.5, as variances and deviations are."""
    tensor.uniform_(0.5, 1.5, generator=generator)


def liger_layer_norm(params: Params, inputs: Inputs) -> Function:
    """Return Liger's layer normalization; it needs a weight and a bias."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction as Liger  # type: ignore[import-not-found]

    _one_trailing_dim(params)
    if len(inputs) < 3 or inputs[1] is None or inputs[2] is None:
        raise NotImplementedError("it needs a weight and a bias")
    eps = params.get("eps", 1e-5)
    return lambda x, weight, bias: Liger.apply(x, weight, bias, eps)


def liger_rms_norm(params: Params, inputs: Inputs) -> Function:
    """Return Liger's RMS normalization, which like ours rounds once, at the end."""
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction as Liger  # type: ignore[import-not-found]

    _one_trailing_dim(params)
    eps = params.get("eps")
    if eps is None:
        assert inputs[0] is not None
        eps = torch.finfo(inputs[0].dtype).eps
    return lambda x, weight=None: Liger.apply(x, weight, eps, 0.0, "gemma", False)


def liger_fused_add_rms_norm(params: Params, inputs: Inputs) -> Function:
    """Return Liger's fused addition and RMS normalization."""
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction as Liger  # type: ignore[import-not-found]

    eps = params.get("eps", 1e-6)
    return lambda x, residual, weight: Liger.apply(x, residual, weight, eps, 0.0, "gemma", False)


def _one_trailing_dim(params: Params) -> None:
    if len(params["normalized_shape"]) != 1:
        raise NotImplementedError("it normalizes over one dim")


_LIGER: dict[str, Mapping[str, Builder]] = {
    "LayerNormFwdOp": {"liger": liger_layer_norm},
    "RMSNormFwdOp": {"liger": liger_rms_norm},
    "FusedAddRMSNormFwdOp": {"liger": liger_fused_add_rms_norm},
}

FAMILY = Family(
    compositions={
        "LayerNormFwdOp": layer_norm,
        "RMSNormFwdOp": rms_norm,
        "FusedAddLayerNormFwdOp": fused_add_layer_norm,
        "FusedAddRMSNormFwdOp": fused_add_rms_norm,
        "AdaLayerNormFwdOp": ada_layer_norm,
        "AdaLayerNormZeroFwdOp": ada_layer_norm_zero,
        "BatchNormFwdOp": batch_norm,
        "BatchNormBwdOp": batch_norm_bwd,
        "InstanceNormFwdOp": instance_norm,
    },
    others=_LIGER,
    fills={"running_var": positive, "rstd": positive},
)
