"""Asking an op for a kernel, and calling it: the call spec, selection, gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileops.errors._root import DispatchError

if TYPE_CHECKING:
    from tileops.selection import Selection


class UnknownInterfaceError(DispatchError, KeyError):
    """An op is asked for an interface it does not have."""

    template = "{op} has no kernel interface {interface!r}; it has {interfaces}"


class CallSpecTypeError(DispatchError, TypeError):
    """The call spec has the wrong type for the interface."""

    template = "{op}: interface {interface!r} takes a {request} call spec, got {given}"


class UnkeyableFactError(DispatchError, TypeError):
    """A call spec holds a value that a cache cannot be keyed by."""

    template = (
        "{spec}.{field} is {value}, which cannot key a dispatch cache: {problem}. "
        "Hold immutable values: None, bool, int, float, str, dtype, device, enum members, frozen "
        "dataclasses, and tuples or frozensets of these"
    )


class StatedFactsError(DispatchError, TypeError):
    """A call spec with explicit device facts is given where a kernel would be built."""

    template = (
        "{op}.kernel_for({interface!r}, ...): this call spec states {facts}; a kernel is built for "
        "a real device and its facts are derived from device. Only key_for and explain accept "
        "stated device facts"
    )


class CallSpecDeviceError(DispatchError, TypeError):
    """A call spec's device is no device."""

    template = (
        "{spec}.device must be a torch.device, its name or None, got {value}. "
        "Give facts by keyword: device is the first field"
    )


class SelectionError(DispatchError, ValueError):
    """A call that selects no kernel.

    Attributes:
        selection: Every verdict; None where no selection took place.
    """

    selection: Selection | None = None


class OpNotAvailableError(SelectionError):
    """No key of the interface can run on the call's device type."""

    template = (
        "{op}: in-tree kernels do not run on {where}: {interface!r} has implementations for "
        "{devices}. {remedy}\n{reproduction}"
    )


class UnservedCallError(OpNotAvailableError):
    """Some key runs on the device type, but none is both available and applicable."""

    template = (
        "{op}: no implementation serves this call of {interface!r} ({facts}):\n{reasons}\n"
        "Change what a reason names, or add an implementation\n{reproduction}"
    )


class AmbiguousDispatchError(SelectionError, RuntimeError):
    """Several implementations serve the call and none has precedence over the others."""

    template = (
        "{op}: dispatch is ambiguous: {keys} all serve this call of {interface!r} ({facts}) and "
        "none has precedence. State which wins, for example preferred_over = "
        'frozenset({{"{loser}"}}) in {winner}\n{reproduction}'
    )


class DefectiveRefusalError(SelectionError, RuntimeError):
    """An implementation's ``refusal`` raised, or returned something that is no reason."""

    template = (
        "{op}: {implementation}.refusal (key {key!r}) is defective: {problem}. A refusal returns "
        "None or a sentence, for every call\n{reproduction}"
    )


class ForwardOnlyError(DispatchError, RuntimeError):
    """An input requires a gradient, and the op's kernels compute no backward."""

    template = (
        "{op}: {tensor} requires a gradient, and the op is forward only: its result would be "
        "detached silently. Call it under torch.no_grad(), or pass {tensor}.detach()"
    )


class NoMemoryError(DispatchError, TypeError):
    """A call would run on a tensor that has no memory for a kernel to read or write."""

    template = (
        "{op}: {tensor} is {what}: it has no memory of its own, and kernels are given addresses. "
        "Call the op on ordinary tensors, outside of tracing and of torch.func"
    )


class MissingSignatureError(DispatchError, TypeError):
    """An op is called that no manifest entry describes."""

    template = (
        "{op} cannot be called: no class it derives from has an entry in the manifest. Write one, "
        "or override signature()"
    )
