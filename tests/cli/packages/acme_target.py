"""A backend's target that claims every CUDA device and serves layer normalization."""

from __future__ import annotations

from tileops.backend import register_detector, register_kernel_builder

register_detector("acme", lambda device: device.type == "cuda")
register_kernel_builder("LayerNormFwdOp", "acme", lambda *specs, **params: print)
