"""A second target that claims CUDA devices, so that nothing decides between the two."""

from __future__ import annotations

import acme_target  # noqa: F401

from tileops.backend import register_detector

register_detector("other", lambda device: device.type == "cuda")
