"""The first call of a specialisation: every step in order, and the plan that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from tileops.errors import MissingSignatureError, NotATensorError
from tileops.ops._differentiable import linked, links_of
from tileops.ops._memory import check_memory
from tileops.ops._observed import serve_observed
from tileops.ops._plan import Preparation, Run, empty_run
from tileops.ops._signature import BoundCall, check_results
from tileops.ops._writes import writing
from tileops.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["first_call"]

Inputs = tuple[torch.Tensor | None, ...]


def first_call(
    op: Op, inputs: tuple[Any, ...], buffers: Mapping[str, Any], execution: Mapping[str, Any]
) -> tuple[Any, Run, BoundCall]:
    """Check a call, run it, check what came back.

    The order is: the checks of the signature, the exit of a call that writes no element, the
    target, the call specs, selection, the entries, the launch.

    Returns:
        The result, what later calls like it run, and what the signature says of it.

    Raises:
        SignatureError: The call does not fit the op's signature.
        BackendError: The target cannot be chosen, or its builder returned no kernel.
        SelectionError: No kernel is selected.
        ForwardOnlyError: A tensor requires a gradient, and the op has no backward that gives it.
        NoMemoryError: A tensor has no memory of its own that a kernel could read.
        ResultError: The kernel returned something that does not fit the signature.
    """
    if op.checks is None:
        raise MissingSignatureError(op=type(op).__name__)
    for name, one in (*zip(op.input_names, inputs, strict=False), *buffers.items()):
        if isinstance(one, TensorSpec):
            # The checks accept descriptions, since a call can be explained from them.
            raise NotATensorError(
                op=type(op).__name__, tensor=name, requirement="be a tensor", given="a TensorSpec"
            )
    call = op.checks.check(inputs, buffers, execution)
    check_memory(type(op).__name__, call, inputs, buffers)
    if call.empty:
        links = links_of(op, call, inputs, buffers)
        built = empty_run(call, op.serving.check_named)
        run, _ = serve_observed(op, None, inputs, lambda: (built, ""), empty=True)
        results = run(*inputs, **buffers)
        result, run = linked(links, call, run, results, inputs)
        return result, run, call
    with op.serving.fixed(call.device, bool(op.kernel_types)) as choice:
        target = choice.target
        links = None if target else links_of(op, call, inputs, buffers)
        run, source = serve_observed(op, target, inputs, lambda: _serve(op, call, target, inputs))
        run = writing(call, Preparation.of(call, inputs).on(run), inputs, buffers)
        with nullcontext() if links is None else torch.no_grad():
            results = run(*inputs, **buffers, **execution)
        outputs = check_results(
            call, results, inputs, buffers, source=source, recorded=target is not None
        )
        if target and _cut_off(outputs):
            # A target's kernels may record their own gradients.
            links = links_of(op, call, inputs, buffers)
    result, run = linked(links, call, run, results, inputs)
    return result, run, call


def _cut_off(outputs: Sequence[torch.Tensor]) -> bool:
    return any(one.is_floating_point() for one in outputs) and not any(
        one.requires_grad for one in outputs
    )


def _serve(op: Op, call: BoundCall, target: str | None, inputs: Inputs) -> tuple[Run, str]:
    if target is None:
        kernels = op.kernels_for(inputs)
        return op.bind(kernels, *inputs), ", ".join(type(one).__qualname__ for one in kernels)
    specs = tuple(None if one is None else _unstrided(one) for one in call.inputs.values())
    return op.serving.kernel(target, call.device, specs, op.params), f"target {target}"


def _unstrided(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, spec.device)
