"""The first call of a specialisation: every step in order, and the plan that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from tileops.errors import ForwardOnlyError, MissingSignatureError
from tileops.ops._plan import Plan, empty_plan, returned, with_copies, with_outputs
from tileops.ops._signature import check_results
from tileops.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["first_call"]

Inputs = tuple[torch.Tensor | None, ...]


def first_call(
    op: Op, inputs: tuple[Any, ...], buffers: Mapping[str, Any], execution: Mapping[str, Any]
) -> tuple[Any, Plan]:
    """Check a call, run it, check what came back; return the result and the plan.

    The order is: the checks of the signature, the exit of a call that writes no element, the
    target, the call specs, selection, the entries, the launch.

    Raises:
        SignatureError: The call does not fit the op's signature.
        BackendError: The target cannot be chosen, or its builder returned no kernel.
        SelectionError: No kernel is selected.
        ForwardOnlyError: An input requires a gradient, which the in-tree kernels do not give.
        ResultError: The kernel returned something that does not fit the signature.
    """
    if op.checks is None:
        raise MissingSignatureError(op=type(op).__name__)
    call = op.checks.check(inputs, buffers, execution)
    serving = op.serving
    if call.empty:
        plan = empty_plan(call, serving.check_named)
        return plan(*inputs, **buffers), plan
    with serving.fixed(call.device, bool(op.kernel_types)) as choice:
        if choice.target is None:
            run, source = _in_tree(op, inputs)
        else:
            specs = tuple(None if s is None else _unstrided(s) for s in call.inputs.values())
            run = serving.kernel(choice.target, call.device, specs, op.params)
            source = f"target {choice.target}"
        run = with_copies(call, run, inputs)
        results = run(*inputs, **buffers, **execution)
        outputs = check_results(call, results, inputs, buffers, source=source)
    return returned(outputs), with_outputs(call, run, results)


def _in_tree(op: Op, inputs: Inputs) -> tuple[Plan, str]:
    if torch.is_grad_enabled():
        for name, one in zip(op.input_names, inputs, strict=False):
            if one is not None and one.requires_grad:
                raise ForwardOnlyError(op=type(op).__name__, tensor=name)
    kernels = tuple(op.kernel_for(interface, spec) for interface, spec in op.requests(*inputs))
    return op.bind(kernels, *inputs), ", ".join(type(one).__qualname__ for one in kernels)


def _unstrided(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, spec.device)
