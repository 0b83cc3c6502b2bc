"""A template backend: importing this package registers everything it offers and builds nothing."""

from tileops.backend import register_device_facts, register_kernel_builder, register_kernel_type
from tileops_acme._facts import cpu_facts
from tileops_acme._kernels import ShortRowsLayerNorm
from tileops_acme._target import build_layer_norm, build_rms_norm

# Calls that the class refuses are still served by the other implementations of the op.
register_kernel_type("LayerNormFwdOp", "acme_layer_norm_short_rows", ShortRowsLayerNorm)

# An op that selects the target by name, LayerNormFwdOp(..., target="acme"), runs every call on it.
# There is no detector: a detector that claimed the CPU would take over every CPU call.
register_kernel_builder(op="LayerNormFwdOp", target="acme", build_kernel=build_layer_norm)
register_kernel_builder(op="RMSNormFwdOp", target="acme", build_kernel=build_rms_norm)

register_device_facts("cpu", cpu_facts)
