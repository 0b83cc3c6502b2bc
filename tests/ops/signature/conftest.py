"""Checks of the synthetic entries, and short ways to write tensors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tileops import manifest
from tileops.manifest import TypedShape
from tileops.ops._signature import CallChecks
from tileops.tensor_spec import TensorSpec

SYNTHETIC = Path(__file__).parents[2] / "manifest" / "synthetic"


@pytest.fixture(scope="session")
def entries() -> dict[str, manifest.OpEntry]:
    """The synthetic entries together with those shipped."""
    return {**manifest.load(SYNTHETIC), **manifest.load()}


@pytest.fixture
def checks(entries: dict[str, manifest.OpEntry]) -> Callable[..., CallChecks]:
    """Checks of an op constructed with parameters: ``checks("GemmLike", trans_a=True)``."""

    def make(stem: str, **params: Any) -> CallChecks:
        op = f"{stem}FwdOp"
        return CallChecks(op, entries[op].signature, params)

    return make


@pytest.fixture(scope="session")
def spec() -> Callable[..., TensorSpec]:
    """A description from text: ``spec("f16[4, 8]")``, on cuda:0 unless told otherwise."""

    def make(
        text: str, device: str = "cuda:0", stride: tuple[int, ...] | None = None
    ) -> TensorSpec:
        typed = TypedShape.parse(text)
        return TensorSpec(typed.shape, getattr(torch, typed.dtype), torch.device(device), stride)

    return make
