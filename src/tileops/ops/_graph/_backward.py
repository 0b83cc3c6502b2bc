"""The backward of a node: an operator too, which runs the backward of the instance it names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from tileops.errors import GradientThroughNodeError
from tileops.ops._differentiable import Links
from tileops.ops._graph._instances import instance, living
from tileops.ops._graph._library import BELOW_AUTOGRAD, LIBRARY, unused
from tileops.ops.gradient import Gradient

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["as_nodes"]

Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

_overloads: dict[tuple[type[Op], Names], Any] = {}
_lock = threading.Lock()


def as_nodes(
    links: Links, kind: type[Op], inputs: Sequence[Any], params: str, number: int
) -> Links:
    """Return the same links with an operator for the backward, so that it can be traced.

    Args:
        links: The links of the call.
        kind: The op's class.
        inputs: The inputs of the call.
        params: The op's parameters as text.
        number: The instance's number.
    """
    overload = _overload(kind, links.gradient)
    wanted = [
        position
        for position, place in enumerate(links.inputs)
        if place < len(inputs) and inputs[place] is not None and inputs[place].requires_grad
    ]

    def run(*tensors: Any) -> list[Any]:
        found = dict(zip(wanted, overload(*tensors, wanted, params, number), strict=True))
        return [found.get(position) for position in range(len(links.inputs))]

    return replace(links, gradient=replace(links.gradient, run=run))


def _overload(kind: type[Op], gradient: Gradient) -> Any:
    key = (kind, (gradient.inputs, gradient.outputs, gradient.saved))
    with _lock:
        if key not in _overloads:
            _overloads[key] = _registered(kind, gradient)
        return _overloads[key]


def _registered(kind: type[Op], gradient: Gradient) -> Any:
    name = unused(f"{kind.__name__}_backward")
    arguments = [f"Tensor gradient_of_{one}" for one in gradient.outputs]
    arguments += [f"Tensor? {one}" for one in gradient.saved]
    arguments += ["int[] wanted", "str params", "SymInt instance"]
    LIBRARY.define(
        f"{name}({', '.join(arguments)}) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,)
    )
    overload = getattr(torch.ops.tileops, name).default
    bodies = _Bodies(kind, (*gradient.outputs, *gradient.saved), overload)
    LIBRARY.impl(name, bodies.run, "CompositeExplicitAutograd")
    LIBRARY.impl(name, bodies.differentiate, "Autograd", with_keyset=True)
    torch.library.register_fake(f"tileops::{name}", bodies.fake, lib=LIBRARY)
    return overload


@dataclass(frozen=True)
class _Bodies:
    """What the operator does under each of torch's dispatch keys."""

    kind: type[Op]
    names: tuple[str, ...]
    overload: Any

    def run(self, *arguments: Any) -> list[torch.Tensor]:
        """Run the backward of the instance named last."""
        *tensors, wanted, params, number = arguments
        found = _listed(instance(self.kind, number, params), tensors)
        given = {_storage(one) for one in tensors if one is not None}
        return [_new(found[position], given) for position in wanted]

    def fake(self, *arguments: Any) -> list[torch.Tensor]:
        """Run the backward of an instance like it on fake tensors."""
        *tensors, wanted, params, _ = arguments
        found = _listed(living(self.kind, params), tensors)
        return [
            torch.empty(found[one].shape, dtype=found[one].dtype, device=found[one].device)
            for one in wanted
        ]

    def differentiate(self, keys: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        """Let no second derivative be cut off."""
        for name, one in zip(self.names, arguments, strict=False):
            if one is not None and one.requires_grad and torch.is_grad_enabled():
                raise GradientThroughNodeError(op=f"{self.kind.__name__}'s backward", tensor=name)
        with torch._C._AutoDispatchBelowAutograd():
            return self.overload.redispatch(keys & BELOW_AUTOGRAD, *arguments)


def _listed(op: Op, tensors: Sequence[Any]) -> Sequence[Any]:
    gradient = op.gradient()
    assert gradient is not None
    with _differentiating():
        found = gradient.run(*tensors)
    return found if isinstance(found, tuple | list) else (found,)


def _differentiating() -> AbstractContextManager[Any]:
    """Let torch record gradients inside an operator: a backward may need one for its result."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in ("AutogradFunctionality", "AutogradOther"):
        excluded = excluded - torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    guard: AbstractContextManager[Any] = torch._C._ForceDispatchKeyGuard(
        torch._C._dispatch_tls_local_include_set(), excluded
    )
    return guard


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _new(tensor: torch.Tensor, given: set[int]) -> torch.Tensor:
    """Return what an operator may return: a dense tensor in memory of its own."""
    dense = tensor.detach().contiguous()
    return dense.clone() if _storage(dense) in given else dense
