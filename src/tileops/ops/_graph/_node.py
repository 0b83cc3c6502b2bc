"""Node: the custom operator of one op class and effect branch, and the call it stands for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

from tileops.errors import GradientThroughNodeError, MappedCallError
from tileops.manifest import Signature
from tileops.ops._differentiable import Links, links_of
from tileops.ops._graph._backward import as_nodes
from tileops.ops._graph._branch import Branch, branch_of
from tileops.ops._graph._instances import checks_of, instance, living
from tileops.ops._graph._library import BELOW_AUTOGRAD, LIBRARY, unused
from tileops.ops._plan import returned
from tileops.ops._signature import CallChecks
from tileops.ops._signature._wrappers import unstrided
from tileops.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["NODES", "Node", "described", "node_name"]

_unpack_dual: Any = forward_ad.unpack_dual


@dataclass(frozen=True)
class Node:
    """A custom operator, and where the results of a call of it come from.

    Attributes:
        overload: The operator. It takes the inputs, the keywords' values, the parameters as text
            and the instance's number, and returns the new outputs.
        keywords: The buffers and execution arguments it takes, in order.
        sources: Where every output comes from: an input's place, a buffer's keyword, or new.
    """

    overload: Any
    keywords: tuple[str, ...]
    sources: tuple[int | str | None, ...]

    def __call__(
        self, inputs: Sequence[Any], keywords: Mapping[str, Any], params: str, number: int
    ) -> Any:
        """Call the operator; return what the op returns. Dynamo traces this."""
        given = [keywords[name] for name in self.keywords]
        new = self.overload(*inputs, *given, params, number)
        remaining = [new] if isinstance(new, torch.Tensor) else list(new or ())
        outputs = []
        for source in self.sources:
            if source is None:
                outputs.append(remaining.pop(0))
            else:
                outputs.append(inputs[source] if isinstance(source, int) else keywords[source])
        return returned(outputs)


class _Nodes:
    """Every node so far, an attribute each, named as its operator.

    Dynamo guards an attribute on its own, and a dictionary on more than the entry that was read.
    """


NODES = _Nodes()
_names: dict[tuple[type[Op], Branch], str] = {}
_lock = threading.Lock()


def node_name(
    kind: type[Op], checks: CallChecks, given: Sequence[str], keywords: Sequence[str]
) -> str:
    """Return the name of the node of calls that pass these inputs and keywords.

    The operator is registered with torch the first time.
    """
    branch = branch_of(checks, given, keywords)
    with _lock:
        name = _names.get((kind, branch))
        if name is None:
            name = unused(branch.name(kind.__name__, checks.signature))
            setattr(NODES, name, _registered(name, kind, checks.signature, branch))
            _names[kind, branch] = name
    return name


def _registered(name: str, kind: type[Op], signature: Signature, branch: Branch) -> Node:
    LIBRARY.define(name + branch.schema(signature), tags=(torch.Tag.pt2_compliant_tag,))
    overload = getattr(torch.ops.tileops, name).default
    bodies = _Bodies(kind, signature, branch, overload)
    LIBRARY.impl(name, bodies.run, "CompositeExplicitAutograd")
    LIBRARY.impl(name, bodies.differentiate, "Autograd", with_keyset=True)
    LIBRARY.impl(name, bodies.refuse_mapping, "FuncTorchBatched")
    for key in ("Conjugate", "Negative"):
        # torch's own fallback ends in an internal error where such a view is written.
        LIBRARY.impl(name, torch.library.fallthrough_kernel, key)
    torch.library.register_fake(f"tileops::{name}", bodies.fake, lib=LIBRARY)
    return Node(overload, branch.buffers + branch.execution, branch.sources(signature))


@dataclass(frozen=True)
class _Bodies:
    """What the operator does under each of torch's dispatch keys."""

    kind: type[Op]
    signature: Signature
    branch: Branch
    overload: Any

    def run(self, *arguments: Any) -> Any:
        """Make the ordinary call, on the instance named last."""
        inputs, buffers, execution, params, number = self._split(arguments)
        results = instance(self.kind, number, params).launch(inputs, buffers, execution)
        outputs = results if isinstance(results, tuple) else (results,)
        # The fake promised dense results.
        return returned([outputs[place].contiguous() for place in self._new])

    def fake(self, *arguments: Any) -> Any:
        """Make the outputs that the signature infers, which checks the call as far as it can."""
        inputs, buffers, execution, params, _ = self._split(arguments)
        checks = checks_of(self.kind, params)
        call = checks.check(described(self.signature, inputs), buffers, execution)
        specs = list(call.outputs.values())
        return returned([_empty(specs[place]) for place in self._new])

    def differentiate(self, keys: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        """Link results to inputs, or refuse what would cut them off; note what is written."""
        tensors = dict(zip(self._names, arguments, strict=False))
        count = len(self.signature.inputs)
        rest = arguments[count:]

        def below(*inputs: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return self.overload.redispatch(keys & BELOW_AUTOGRAD, *inputs, *rest)

        links = self._links(tensors, arguments)
        for name in (*self.branch.written, *self.branch.buffers):
            if not tensors[name].is_inference():
                torch.autograd.graph.increment_version(tensors[name])
        run = below if links is None else links.through(below)
        return run(*arguments[:count])

    def _links(self, tensors: Mapping[str, Any], arguments: Sequence[Any]) -> Links | None:
        differentiated = [
            name for name, one in tensors.items() if one is not None and _differentiated(one)
        ]
        if not differentiated:
            return None
        inputs, buffers, execution, params, number = self._split(arguments)
        op = living(self.kind, params)
        transformed = peek_interpreter_stack() is not None or forward_ad._current_level >= 0
        if transformed or op.gradient() is None:
            raise GradientThroughNodeError(op=self.kind.__name__, tensor=differentiated[0])
        checks = checks_of(self.kind, params)
        call = checks.check(described(self.signature, inputs), buffers, execution)
        links = links_of(op, call, inputs, buffers)
        if links is None or call.empty:
            return links
        return as_nodes(links, self.kind, inputs, params, number)

    def refuse_mapping(self, *arguments: Any) -> Any:
        """Say that vmap does not map over the op."""
        raise MappedCallError(op=self.kind.__name__)

    def _split(
        self, arguments: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any], str, int]:
        *values, params, number = arguments
        count, branch = len(self.signature.inputs), self.branch
        keywords = values[count:]
        buffers = dict(zip(branch.buffers, keywords, strict=False))
        execution = dict(zip(branch.execution, keywords[len(buffers) :], strict=True))
        return tuple(values[:count]), buffers, execution, params, number

    @cached_property
    def _new(self) -> list[int]:
        sources = self.branch.sources(self.signature)
        return [place for place, source in enumerate(sources) if source is None]

    @cached_property
    def _names(self) -> list[str]:
        return [decl.name for decl in self.signature.inputs] + list(self.branch.buffers)


def _differentiated(tensor: torch.Tensor) -> bool:
    if torch.is_grad_enabled() and tensor.requires_grad:
        return True
    return forward_ad._current_level >= 0 and _unpack_dual(tensor).tangent is not None


def _empty(spec: TensorSpec) -> torch.Tensor:
    return torch.empty(spec.shape, dtype=spec.dtype, device=spec.device)


def described(signature: Signature, inputs: Sequence[Any]) -> list[Any]:
    """Return inputs as the checks need them: tensors described, without strides if none are read.

    Reading the strides of a fake tensor would tie a graph to how its sizes compare.
    """
    exact = [decl.contiguous for decl in signature.inputs]
    return [
        one
        if strides or not isinstance(one, torch.Tensor) or unstrided(one) is not None
        else TensorSpec(tuple(one.shape), one.dtype, one.device)
        for one, strides in zip_longest(inputs, exact[: len(inputs)], fillvalue=True)
    ]
