"""Runs the CUDA kernels of TileLang programs on the CPU; see README.md."""

from __future__ import annotations

from .cuda_kernel import run_cuda
from .device import emulated_device
from .errors import (
    ArgumentError,
    CompilationError,
    EmulatorError,
    HostFunctionError,
    KernelFaultError,
    UnsupportedSourceError,
)
from .launch import Options
from .program import EmulatedProgram, run
from .requirement import EMULATED
from .tensor_map import tensor_map
from .toolchain import missing

__all__ = [
    "EMULATED",
    "ArgumentError",
    "CompilationError",
    "EmulatedProgram",
    "EmulatorError",
    "HostFunctionError",
    "KernelFaultError",
    "Options",
    "UnsupportedSourceError",
    "emulated_device",
    "missing",
    "run",
    "run_cuda",
    "tensor_map",
]
