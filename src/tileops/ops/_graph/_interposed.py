"""Whether torch stands between a call and the kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

__all__ = ["interposed"]

_modes = torch._C._len_torch_dispatch_stack
_jit_trace = torch._C._get_tracing_state

_PLAIN = frozenset({type(None), torch.Tensor, torch.nn.Parameter, torch.nn.Buffer})
_NO_DISPATCH = torch.Tensor.__torch_dispatch__


def interposed(tensors: Iterable[Any]) -> bool:
    """Whether a call must reach torch's dispatcher before it may reach a kernel.

    So it is while a dispatch mode is on (fake tensors, ``make_fx``, flop counters), inside a
    transform of ``torch.func`` or a level of forward-mode differentiation, while
    ``torch.jit.trace`` records, and when an input is of a subclass that dispatches, as fake tensors
    are.
    """
    if _modes() or peek_interpreter_stack() is not None or forward_ad._current_level >= 0:
        return True
    if _jit_trace() is not None:
        return True
    return any(
        type(one) not in _PLAIN
        and getattr(type(one), "__torch_dispatch__", _NO_DISPATCH) is not _NO_DISPATCH
        for one in tensors
    )
