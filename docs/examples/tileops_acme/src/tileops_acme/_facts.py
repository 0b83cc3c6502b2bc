"""The facts of the device, for implementations that ask and for ``tileops explain``."""

from __future__ import annotations

import os

import torch

from tileops.backend import DeviceFacts


def cpu_facts(device: torch.device) -> DeviceFacts:
    """Report the cores as multiprocessors; a CPU has no CUDA architecture."""
    return DeviceFacts(arch=None, sm_count=os.cpu_count(), smem_budget=None)
