"""Calls that record a gradient: which may, and what torch's autograd is told of them.

Only plans of calls with an input that requires a gradient pass through here; all others are
untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from tileops.errors import (
    BatchedGradientError,
    ForwardOnlyError,
    GradientDeclarationError,
    GradientFormError,
    GradientIntoBufferError,
    GradientOfNothingError,
    NoGradientOfInputError,
    RepeatedGradientNameError,
    ResultCountError,
    ResultDeviceError,
    ResultDtypeError,
    ResultShapeError,
    ResultTypeError,
    SecondDerivativeError,
)
from tileops.errors.wording import shown
from tileops.ops._plan import Run, with_outputs
from tileops.ops._signature import BoundCall
from tileops.ops._signature._describe import described, dtype_name
from tileops.ops.gradient import Gradient

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["Links", "linked", "links_of"]

_dispatch_keys: Any = torch._C._dispatch_keys

_BATCHED: tuple[Any, ...] = (
    torch._C._dispatch_key_parse("Batched"),
    torch._C._dispatch_key_parse("FuncTorchBatched"),
)
"""What marks a tensor that stands for several, of ``is_grads_batched`` and of ``vmap``."""


@dataclass(frozen=True)
class Links:
    """Where a call's gradients come from and go to.

    Attributes:
        op: The op's name.
        gradient: The backward.
        inputs: The places of the inputs that get a gradient.
        outputs: The places, among the new outputs, of those that a gradient comes back for.
        saved: What the backward reads: places among the inputs followed by the new outputs, None
            for an input that is absent.
        computed: Whether the backward computes something; that of a call without elements gives
            zeros, whose own gradients are zeros.
    """

    op: str
    gradient: Gradient
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    saved: tuple[int | None, ...]
    computed: bool = True

    def through(self, run: Run) -> Run:
        """Return *run*, its results linked to its inputs."""
        apply: Run = _Through.apply
        return lambda *inputs, **keywords: apply(self, run, keywords, *inputs)

    def back(
        self,
        gradients: Sequence[Any],
        saved: Sequence[Any],
        wanted: Sequence[bool],
        shapes: Sequence[Sequence[int] | None],
    ) -> dict[int, torch.Tensor]:
        """Return the gradient of every input that gets one, by its place.

        Args:
            gradients: The gradient of every output that one comes back for.
            saved: What the backward reads.
            wanted: Per input, whether it requires a gradient.
            shapes: The shapes of the inputs that get a gradient, None for one that is absent.

        Raises:
            BatchedGradientError: Several gradients come at once.
            SecondDerivativeError: What the backward returns is to be differentiated, and cannot be.
            ResultError: The backward returned another number of gradients, or something else.
        """
        found = self._found((*gradients, *saved))
        listed = found if isinstance(found, tuple | list) else (found,)
        names = self.gradient.inputs
        if len(listed) != len(names):
            raise ResultCountError(
                op=self.op,
                source="its backward",
                tensor="gradients",
                requirement=f"a gradient for each of {', '.join(names)}",
                given=str(len(listed)),
            )
        given = {}
        for name, place, one, shape in zip(names, self.inputs, listed, shapes, strict=True):
            if place < len(wanted) and wanted[place]:
                self._check(name, one, shape, gradients[0].device)
                given[place] = one
        return given

    def _found(self, tensors: Sequence[Any]) -> Any:
        """Run the backward, which may be asked for one gradient, and for no second one."""
        if any(_batched(one) for one in tensors):
            raise BatchedGradientError(op=self.op)
        differentiated = torch.is_grad_enabled() and any(
            one is not None and one.requires_grad for one in tensors
        )
        try:
            found = self.gradient.run(*tensors)
        except ForwardOnlyError as error:
            if differentiated and type(error) is ForwardOnlyError:
                raise SecondDerivativeError(op=self.op) from error
            raise
        listed = found if isinstance(found, tuple | list) else (found,)
        linked = any(isinstance(one, torch.Tensor) and one.requires_grad for one in listed)
        if differentiated and not linked and self.computed:
            raise SecondDerivativeError(op=self.op)
        return found

    def _check(
        self, name: str, one: Any, shape: Sequence[int] | None, device: torch.device
    ) -> None:
        about = {"op": self.op, "source": "its backward", "tensor": f"the gradient of {name}"}
        if not isinstance(one, torch.Tensor):
            raise ResultTypeError(**about, requirement="be a tensor", given=described(one))
        if shape is not None and one.shape != shape:
            requirement = f"have shape {tuple(shape)}"
            raise ResultShapeError(**about, requirement=requirement, given=str(tuple(one.shape)))
        if not one.is_floating_point():
            requirement = "have a floating dtype"
            raise ResultDtypeError(**about, requirement=requirement, given=dtype_name(one.dtype))
        if one.device != device:
            raise ResultDeviceError(**about, requirement=f"be on {device}", given=str(one.device))


class _Through(torch.autograd.Function):
    """A call whose backward the op declares."""

    @staticmethod
    def forward(ctx: Any, links: Links, run: Run, keywords: Mapping[str, Any], *inputs: Any) -> Any:
        results = run(*inputs, **keywords)
        outputs = tuple(results) if isinstance(results, tuple | list) else (results,)
        ctx.links = links
        # Zeros for the outputs that pass none on would be launches that nobody reads.
        ctx.set_materialize_grads(False)
        asked = [outputs[place] for place in links.outputs]
        ctx.forms = [(one.shape, one.dtype, one.device) for one in asked]
        ctx.shapes = [
            inputs[place].shape if place < len(inputs) and inputs[place] is not None else None
            for place in links.inputs
        ]
        tensors = (*inputs, *outputs)
        ctx.save_for_backward(*[None if one is None else tensors[one] for one in links.saved])
        ctx.mark_non_differentiable(
            *[one for place, one in enumerate(outputs) if place not in links.outputs]
        )
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        _, _, _, *wanted = ctx.needs_input_grad
        given = [
            _zeros_of(*form) if gradients[place] is None else gradients[place]
            for place, form in zip(ctx.links.outputs, ctx.forms, strict=True)
        ]
        found = ctx.links.back(given, ctx.saved_tensors, wanted, ctx.shapes)
        return (None, None, None, *[found.get(place) for place in range(len(wanted))])


def _batched(tensor: torch.Tensor | None) -> bool:
    if tensor is None:
        return False
    keys = _dispatch_keys(tensor)
    return any(keys.has(one) for one in _BATCHED)


def _zeros_of(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


def links_of(
    op: Op, call: BoundCall, inputs: Sequence[Any], buffers: Mapping[str, Any]
) -> Links | None:
    """Return how the gradients of a call flow; None where it records none.

    Raises:
        ForwardOnlyError: A tensor requires a gradient that the call would cut off; a subclass
            where the op has a backward that does not give it.
        GradientDeclarationError: The op's backward names what its calls do not have.
        GradientFormError: What the op declares is no backward.
    """
    if not torch.is_grad_enabled():
        return None
    named = [*zip(call.inputs, inputs, strict=False), *buffers.items()]
    required = [name for name, one in named if one is not None and one.requires_grad]
    if not required:
        return None
    gradient: Any = op.gradient()
    if gradient is None:
        raise ForwardOnlyError(op=call.op, tensor=required[0])
    _check_form(call.op, gradient)
    for keyword in buffers:
        raise GradientIntoBufferError(op=call.op, tensor=required[0], buffer=keyword)
    for name in required:
        if name not in gradient.inputs:
            raise NoGradientOfInputError(
                op=call.op, tensor=name, inputs=", ".join(gradient.inputs) or "no input"
            )
    if call.empty:
        gradient = replace(gradient, saved=gradient.inputs, run=_zeros(len(gradient.outputs)))
    return _placed(call, gradient, len(inputs))


def _check_form(op: str, gradient: Any) -> None:
    """Check what an op declares, whatever its calls have.

    Raises:
        GradientFormError: It is no backward.
        GradientOfNothingError: It is the backward of no output.
        RepeatedGradientNameError: It names a tensor twice in one place.
    """
    if not isinstance(gradient, Gradient) or not callable(gradient.run):
        raise GradientFormError(op=op, value=shown(gradient))
    for field in ("inputs", "outputs", "saved"):
        names: object = getattr(gradient, field)
        if not isinstance(names, tuple) or not all(isinstance(one, str) for one in names):
            raise GradientFormError(op=op, value=shown(gradient))
        for name in names:
            if names.count(name) > 1:
                raise RepeatedGradientNameError(op=op, field=field, name=name)
    if not gradient.outputs:
        raise GradientOfNothingError(op=op)


def linked(
    links: Links | None, call: BoundCall, run: Run, results: Any, inputs: Sequence[Any]
) -> tuple[Any, Run]:
    """Return the result of a call in the form that the op returns it, and what later calls run.

    Args:
        links: How its gradients flow, or None.
        call: The call.
        run: Ran it, and runs calls like it.
        results: What *run* returned, checked.
        inputs: The inputs of the call.
    """

    def made(*inputs: Any) -> Any:
        return results

    through = (lambda one: one) if links is None else links.through
    result = with_outputs(call, through(made), results)(*inputs)
    return result, with_outputs(call, through(run), results)


def _zeros(outputs: int) -> Callable[..., Any]:
    """Return the backward of a call that computes nothing: it reads the inputs of the call."""
    return lambda *tensors: [
        None if one is None else torch.zeros_like(one) for one in tensors[outputs:]
    ]


def _placed(call: BoundCall, gradient: Gradient, count: int) -> Links:
    names = list(call.inputs)
    new = [name for name in call.outputs if name not in call.aliases]
    for what, declared, known in (
        ("inputs", gradient.inputs, [name for name in names if name not in call.written]),
        ("outputs", gradient.outputs, new),
        ("saved", gradient.saved, names + new),
    ):
        for name in declared:
            if name not in known:
                raise GradientDeclarationError(
                    op=call.op, field=what, name=name, names=", ".join(known) or "nothing"
                )

    def place(name: str) -> int | None:
        if name in names:
            return names.index(name) if names.index(name) < count else None
        return count + new.index(name)

    return Links(
        call.op,
        gradient,
        tuple(names.index(name) for name in gradient.inputs),
        tuple(new.index(name) for name in gradient.outputs),
        tuple(place(name) for name in gradient.saved),
        computed=not call.empty,
    )
