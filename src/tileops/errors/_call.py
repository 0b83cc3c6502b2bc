"""Asking an op for a kernel, and calling it: the call spec, selection, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.errors._root import DispatchError, TileopsError

if TYPE_CHECKING:
    from tileops.selection import Selection


class UnknownInterfaceError(DispatchError, KeyError):
    """An op is asked for an interface it does not have.

    Cause:
        ``key_for``, ``kernel_for`` or ``explain`` is given a name that the op does not declare.

    Remedy:
        Use one of the names in the message.
    """

    template = "{op} has no kernel interface {interface!r}; it has {interfaces}"


class CallSpecTypeError(DispatchError, TypeError):
    """The call spec has the wrong type for the interface.

    Cause:
        The call spec belongs to another interface.

    Remedy:
        Pass an instance of the type that the message names.
    """

    template = "{op}: interface {interface!r} takes a {request} call spec, got {given}"


class ImpossibleCallError(DispatchError, ValueError):
    """A question is about a call that no op makes.

    Cause:
        A fact of the call spec has another type than declared or lies outside its range, or
        ``impossible()`` of the call spec says why there is no such call.

    Remedy:
        Correct the fact that the message names.
    """

    template = "{op}: no call of {interface!r} has these facts: {problem}"


class UnkeyableFactError(DispatchError, TypeError):
    """A call spec holds a value that a cache cannot be keyed by.

    Cause:
        A fact is a list, a dict, a tensor or another mutable value.

    Remedy:
        Hold a tuple, a frozenset or a frozen dataclass instead.
    """

    template = (
        "{spec}.{field} is {value}, which cannot key a dispatch cache: {problem}. "
        "Hold immutable values: None, bool, int, float, str, dtype, device, enum members, frozen "
        "dataclasses, and tuples or frozensets of these"
    )


class StatedFactsError(DispatchError, TypeError):
    """A call spec with explicit device facts is given where a kernel would be built.

    Cause:
        ``kernel_for`` is given a call spec that states facts of a device instead of naming one.

    Remedy:
        Leave the facts out to build, or ask with ``key_for`` or ``explain``.
    """

    template = (
        "{op}.kernel_for({interface!r}, ...): this call spec states {facts}; a kernel is built for "
        "a real device and its facts are derived from device. Only key_for and explain accept "
        "stated device facts"
    )


class CallSpecDeviceError(DispatchError, TypeError):
    """A call spec's device is no device.

    Cause:
        A fact is given by position, where the device stands.

    Remedy:
        Give every fact by keyword.
    """

    template = (
        "{spec}.device must be a torch.device, its name or None, got {value}. "
        "Give facts by keyword: device is the first field"
    )


class TensorSpecError(TileopsError, ValueError):
    """A description of a tensor that no tensor has.

    Attributes:
        member: The member of the description.
        requirement: What it must be, as the end of a sentence.
        given: What it is.

    Cause:
        A size or a stride is negative or no integer, there is a stride too few or too many, or
        the dtype or the device is none.

    Remedy:
        Describe a tensor that there is, or take the description of one with ``TensorSpec.of``.
    """

    template = "TensorSpec: {member} must {requirement}, got {given}"


class SelectionError(DispatchError, ValueError):
    """A call that selects no kernel.

    Attributes:
        selection: Every verdict; None where no selection took place.
    """

    selection: Selection | None = None


class OpNotAvailableError(SelectionError):
    """No key of the interface can run on the call's device type.

    Cause:
        The tensors are on a device type that no implementation names, or there is no
        accelerator and the call names none.

    Remedy:
        Move the tensors, state a device, or install a backend for the device type.
    """

    template = (
        "{op}: in-tree kernels do not run on {where}: {interface!r} has implementations for "
        "{devices}. {remedy}\n{reproduction}"
    )


class UnservedCallError(OpNotAvailableError):
    """Some key runs on the device type, but none is both available and applicable.

    Cause:
        Every implementation is unavailable on the architecture or refuses; the message has the
        reason of each.

    Remedy:
        Change what one of the reasons names, or add an implementation that serves the call.
    """

    template = (
        "{op}: no implementation serves this call of {interface!r} ({facts}):\n{reasons}\n"
        "Change what a reason names, or add an implementation\n{reproduction}"
    )


class AmbiguousDispatchError(SelectionError, RuntimeError):
    """Several implementations serve the call and none has precedence over the others.

    Cause:
        The regions of several implementations overlap in this call and none states that it
        wins.

    Remedy:
        State ``preferred_over`` in the one that should win.
    """

    template = (
        "{op}: dispatch is ambiguous: {keys} all serve this call of {interface!r} ({facts}) and "
        "none has precedence. State which wins, for example preferred_over = "
        'frozenset({{"{loser}"}}) in {winner}\n{reproduction}'
    )


class DefectiveRefusalError(SelectionError, RuntimeError):
    """An implementation's ``refusal`` raised, or returned something that is no reason.

    Cause:
        ``refusal`` has a defect that this call reaches; the exception it raised is the cause of
        this one.

    Remedy:
        Make ``refusal`` return None or a sentence for every call.
    """

    template = (
        "{op}: {implementation}.refusal (key {key!r}) is defective: {problem}. A refusal returns "
        "None or a sentence, for every call\n{reproduction}"
    )


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


class NoMemoryError(DispatchError, TypeError):
    """A call would run on a tensor that has no memory for a kernel to read or write.

    Cause:
        The tensor is a fake, functional or batched one, as tracing and ``torch.func`` make
        them, or its storage was freed, as sharded training does between uses.

    Remedy:
        Call the op on ordinary tensors that are allocated, outside of what traces or transforms.
    """

    template = (
        "{op}: {tensor} is {what}: it has no memory of its own, and kernels are given addresses. "
        "Call the op on ordinary tensors, outside of tracing and of torch.func"
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


class MappedCallError(DispatchError, NotImplementedError):
    """An op is called inside ``torch.func.vmap`` on tensors that it maps over.

    Cause:
        The op has no batching rule: its kernels read whole tensors.

    Remedy:
        Call the op outside ``vmap``, with the mapped dim among the dims of its inputs.
    """

    template = (
        "{op}: torch.func.vmap does not map over the op, whose kernels read whole tensors. Call it "
        "outside vmap, with the mapped dim among the dims of its inputs"
    )


class DroppedOpError(DispatchError, ReferenceError):
    """A traced graph names an op instance that no longer exists, or never did in this process.

    Cause:
        The op was dropped while what was compiled or exported from it was kept, or an exported
        program was loaded in another process.

    Remedy:
        Keep the op as long as the graph, and export again in each process.
    """

    template = (
        "{op}: a traced graph calls instance {number} with {params}, and no such instance is alive "
        "in this process. A graph does not keep the ops it calls: keep them for as long as what "
        "was compiled or exported, and export again in another process"
    )


class MissingSignatureError(DispatchError, TypeError):
    """An op is called that no manifest entry describes.

    Cause:
        The op's class, and every class it derives from, is absent from the manifest.

    Remedy:
        Add an entry to the family's file, or override ``signature()``.
    """

    template = (
        "{op} cannot be called: no class it derives from has an entry in the manifest. Write one, "
        "or override signature()"
    )
