"""Gradients: ops that are forward only, and backwards that are misdeclared."""

from __future__ import annotations

from tileops.errors._root import DispatchError


class ForwardOnlyError(DispatchError, RuntimeError):
    """An input requires a gradient, and the op's kernels compute no backward.

    Cause:
        Gradients are recorded and a floating input requires one.

    Remedy:
        Call the op under ``torch.no_grad()``, or detach the input.
    """

    template = (
        "{op}: {tensor} requires a gradient, and the op is forward only: its result would be "
        "detached silently. Call it under torch.no_grad(), or pass {tensor}.detach()"
    )


class NoGradientOfInputError(ForwardOnlyError):
    """An input requires a gradient that the op's backward does not give.

    Cause:
        The op has a backward, and it gives the gradients of other inputs.

    Remedy:
        Detach the input, or call the op under ``torch.no_grad()``.
    """

    template = (
        "{op}: {tensor} requires a gradient, and the op's backward gives those of {inputs} alone. "
        "Pass {tensor}.detach(), or call the op under torch.no_grad()"
    )


class GradientIntoBufferError(ForwardOnlyError):
    """A call records a gradient and writes an output into a buffer.

    Cause:
        A tensor requires a gradient, and a buffer is given, which would cut the output off.

    Remedy:
        Leave the buffer out, or call the op under ``torch.no_grad()``.
    """

    template = (
        "{op}: {tensor} requires a gradient, and an output that is written into {buffer} passes "
        "none on. Leave {buffer} out, or call the op under torch.no_grad()"
    )


class GradientDeclarationError(DispatchError, ValueError):
    """The backward that an op declares names what its calls do not have.

    Cause:
        ``gradient()`` names an input or an output that the signature does not list, that this call
        does not return, or that is written in place.

    Remedy:
        Name inputs that are not written, and outputs that the call returns anew.
    """

    template = "{op}: {field} of its gradient() name {name!r}; such a call has {names}"


class GradientFormError(DispatchError, TypeError):
    """An op declares something else than a backward.

    Cause:
        ``gradient()`` returns neither a ``Gradient`` nor None, or one whose ``run`` cannot be
        called or whose other members are no tuples of names.

    Remedy:
        Return a ``tileops.ops.gradient.Gradient`` with tuples of names and a function to run, or
        None.
    """

    template = (
        "{op}: gradient() returned {value}; return a Gradient whose run can be called and whose "
        "other members are tuples of names, or None"
    )


class RepeatedGradientNameError(DispatchError, ValueError):
    """The backward that an op declares names one tensor twice in one place.

    Cause:
        A name stands twice in ``inputs``, ``outputs`` or ``saved`` of what ``gradient()`` returns.

    Remedy:
        Name every tensor once.
    """

    template = "{op}: {field} of its gradient() name {name!r} twice. Name it once"


class GradientOfNothingError(DispatchError, ValueError):
    """The backward that an op declares is one of no output.

    Cause:
        ``outputs`` of what ``gradient()`` returns is empty, so no result would require a gradient.

    Remedy:
        Name the outputs that a gradient comes back for, or return None for an op without a
        backward.
    """

    template = (
        "{op}: its gradient() names no output, so every result would be detached silently. Name "
        "the outputs that a gradient comes back for, or return None"
    )


class SecondDerivativeError(ForwardOnlyError):
    """A gradient of the op is computed so that it can be differentiated itself.

    Cause:
        ``create_graph=True`` asks for a graph of the backward, and the backward records none.

    Remedy:
        Compute the gradient without ``create_graph``, or give the op that runs the backward one of
        its own.
    """

    template = (
        "{op}: its gradient is computed with create_graph=True, and its backward gives none of its "
        "own: a second derivative would be cut off silently. Leave create_graph out, or pass the "
        "op detached inputs"
    )


class BatchedGradientError(DispatchError, NotImplementedError):
    """Several gradients of one result of the op are computed at once.

    Cause:
        ``is_grads_batched=True``, ``vectorize=True`` or ``torch.func.vmap`` maps over the backward,
        whose kernels read one gradient.

    Remedy:
        Ask for the gradients one after another.
    """

    template = (
        "{op}: its backward is mapped over a batch of gradients, by is_grads_batched, vectorize or "
        "vmap, and its kernels read one gradient. Ask for the gradients one after another"
    )


class GradientThroughNodeError(ForwardOnlyError):
    """An input requires a gradient in a call that torch traces, compiles or transforms.

    Cause:
        Gradients are recorded, or a transform of ``torch.func`` differentiates, and the op is one
        opaque node there, under a differentiable target too.

    Remedy:
        Call the op under ``torch.no_grad()``, or detach the input.
    """

    template = (
        "{op}: {tensor} requires a gradient, and none passes through the op where torch traces, "
        "compiles or transforms the call: its result would be detached silently. Call it under "
        "torch.no_grad(), or pass {tensor}.detach()"
    )
