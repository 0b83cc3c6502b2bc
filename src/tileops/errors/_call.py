"""Asking an op for a kernel, and calling it: the call spec, selection."""

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


class JitTraceError(DispatchError, NotImplementedError):
    """An op is called while ``torch.jit.trace`` records.

    Cause:
        The kernels of an op are no operators of torch: the trace would hold the memory that they
        are given, without what they write.

    Remedy:
        Use ``torch.compile`` or ``torch.export``.
    """

    template = (
        "{op}: torch.jit.trace does not see the kernels of the op, and would record a result that "
        "nothing computes. Use torch.compile or torch.export"
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


class FixedParameterError(DispatchError, AttributeError):
    """A parameter of an op is assigned after the op was constructed.

    Cause:
        Kernels and plans are made for the parameters that the constructor was given, as are the
        checks; some would go on with the old value.

    Remedy:
        Construct another op with the other value.
    """

    template = (
        "{op}: {name} cannot be assigned: kernels and plans are made for the value that the op was "
        "constructed with. Construct another op"
    )
