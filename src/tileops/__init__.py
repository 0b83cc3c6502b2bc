"""GPU operators in TileLang whose kernel choice can be seen, checked and proved.

Importing this package loads neither torch nor tilelang: public names are resolved on first use
(PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.introspect import trace
    from tileops.introspect.fallback import warn_on_fallback
    from tileops.ops.attention.gqa import GQADenseFwdOp
    from tileops.ops.gemm.gemm import GemmFwdOp
    from tileops.ops.linear_attention.gla import GLAFwdOp
    from tileops.ops.norm.ada_layer_norm import AdaLayerNormFwdOp
    from tileops.ops.norm.ada_layer_norm_zero import AdaLayerNormZeroFwdOp
    from tileops.ops.norm.batch_norm import BatchNormFwdOp
    from tileops.ops.norm.batch_norm_bwd import BatchNormBwdOp
    from tileops.ops.norm.fused_add_layer_norm import FusedAddLayerNormFwdOp
    from tileops.ops.norm.fused_add_rms_norm import FusedAddRMSNormFwdOp
    from tileops.ops.norm.instance_norm import InstanceNormFwdOp
    from tileops.ops.norm.layer_norm import LayerNormFwdOp
    from tileops.ops.norm.rms_norm import RMSNormFwdOp

__version__ = "0.1.0"

_HOMES: dict[str, str] = {
    "AdaLayerNormFwdOp": "tileops.ops.norm.ada_layer_norm",
    "AdaLayerNormZeroFwdOp": "tileops.ops.norm.ada_layer_norm_zero",
    "BatchNormBwdOp": "tileops.ops.norm.batch_norm_bwd",
    "BatchNormFwdOp": "tileops.ops.norm.batch_norm",
    "FusedAddLayerNormFwdOp": "tileops.ops.norm.fused_add_layer_norm",
    "FusedAddRMSNormFwdOp": "tileops.ops.norm.fused_add_rms_norm",
    "GQADenseFwdOp": "tileops.ops.attention.gqa",
    "GemmFwdOp": "tileops.ops.gemm.gemm",
    "GLAFwdOp": "tileops.ops.linear_attention.gla",
    "InstanceNormFwdOp": "tileops.ops.norm.instance_norm",
    "LayerNormFwdOp": "tileops.ops.norm.layer_norm",
    "RMSNormFwdOp": "tileops.ops.norm.rms_norm",
    "warn_on_fallback": "tileops.introspect.fallback",
}

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GLAFwdOp",
    "GQADenseFwdOp",
    "GemmFwdOp",
    "InstanceNormFwdOp",
    "LayerNormFwdOp",
    "RMSNormFwdOp",
    "__version__",
    "trace",
    "warn_on_fallback",
]


_MODULES = {"trace": "tileops.introspect.trace"}
"""Modules that are public under a shorter name."""

_EXTRA = ("tilelang", "torch", "z3")
"""What the extra ``ops`` installs."""


def __getattr__(name: str) -> Any:
    home = _MODULES.get(name) or _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tileops' has no attribute {name!r}")
    try:
        module = import_module(home)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        from tileops.errors import MissingExtraError

        raise MissingExtraError(what=f"tileops.{name}", package=error.name, extra="ops") from error
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
