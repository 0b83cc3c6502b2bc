"""Calls on fake tensors and on ordinary ones at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from tileops.errors import NoMemoryError

__all__ = ["check_mixture"]


def check_mixture(op: str, tensors: Mapping[str, Any]) -> None:
    """Check that all tensors of a call are fake where one is, as torch wants it.

    Args:
        op: The op's name.
        tensors: The tensors by name, None for one that is absent.

    Raises:
        NoMemoryError: Some are fake and some are not, or all would be made fake.
    """
    # Nothing is fake before this is imported, and importing it takes long.
    module = sys.modules.get("torch._subclasses.fake_tensor")
    if module is None:
        return
    given: dict[str, Any] = {n: one for n, one in tensors.items() if isinstance(one, torch.Tensor)}
    fakes = [name for name, one in given.items() if isinstance(one, module.FakeTensor)]
    others = [name for name in given if name not in fakes]
    mode = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    if fakes:
        mode = mode or given[fakes[0]].fake_mode
    if mode is None or not others or _allowed(module, mode):
        return
    first = fakes[0] if fakes else "every tensor allocated now"
    raise NoMemoryError(op=op, tensor=first, what=f"fake, and {others[0]} is not")


def _allowed(module: Any, mode: Any) -> bool:
    override: bool | None = module.fake_tensor_tls.allow_non_fake_inputs_override
    allowed: bool = mode.allow_non_fake_inputs if override is None else override
    return allowed
