"""Every exception of tileops: one class per condition, each with its sentence and its fields.

A sentence says what was asked, what stands in the way and what to do. The fields that the
sentence was made from stay on the object, so programs need not parse text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tileops.selection import Selection


class TileopsError(Exception):
    """The root of the exceptions of tileops.

    Subclasses state ``template``; the keyword arguments of the constructor fill it and become
    attributes.
    """

    template: ClassVar[str] = "{message}"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)
        super().__init__(self.template.format(**fields))

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.fields)


def _rebuild(kind: type[TileopsError], fields: dict[str, Any]) -> TileopsError:
    return kind(**fields)


class DispatchError(TileopsError):
    """Anything that goes wrong between an op and the kernel it selects."""


# Constructing an op: its classes and keys.


class NotAKernelError(DispatchError, TypeError):
    """A class registered under a key subclasses an interface but not ``Kernel``."""

    template = (
        "{op}: key {key!r} is {implementation}, which does not implement {interface}: it "
        "subclasses the interface but not Kernel. Make it subclass both Kernel and {interface}, "
        "and build it through entry_for(call)"
    )


class ForwardSignatureError(DispatchError, TypeError):
    """An implementation's ``forward`` cannot be called with the interface's arguments."""

    template = (
        "{op}: key {key!r}: {implementation}.forward does not take {interface}'s arguments "
        "{expected}; it is forward{given}. Accept every parameter of the interface, positionally; "
        "further parameters need defaults"
    )


class NotAClassmethodError(DispatchError, TypeError):
    """``entry_for`` or ``refusal`` is stated other than as a class method."""

    template = (
        "{op}: key {key!r}: {implementation}.{method} is not a class method; decorate it with "
        "@classmethod, since it is asked before any instance exists"
    )


class AbstractKernelError(DispatchError, TypeError):
    """An implementation leaves abstract methods of its interface unimplemented."""

    template = (
        "{op}: key {key!r}: {implementation} cannot be instantiated: it leaves {interface}'s "
        "abstract {methods} unimplemented"
    )


class SeveralGeneralError(DispatchError, ValueError):
    """An interface has two general implementations."""

    template = (
        "{op}: interface {interface!r} has more than one general implementation: {keys}. "
        "Leave general = True on the one that serves what no other does and set the rest to False; "
        "a subclass inherits it"
    )


class PreferenceCycleError(DispatchError, ValueError):
    """``preferred_over`` leads from a key back to itself."""

    template = (
        "{op}: interface {interface!r}: preferences form a cycle through {cycle}. "
        "Remove one of these preferred_over entries"
    )


class PreferenceError(DispatchError, ValueError):
    """``preferred_over`` names something that is no rival, or stands on the general one."""

    template = (
        "{op}: interface {interface!r}: key {key!r} ({implementation}) states preferred_over "
        "{stated}, {problem}. {remedy}"
    )


class UnknownKernelInterfaceError(DispatchError, ValueError):
    """A class in ``kernel_types`` subclasses none of the op's kernel interfaces."""

    template = (
        "{op}: {keys} keys implement none of its kernel interfaces {interfaces}. Make each class "
        "subclass the interface it serves"
    )


class UndeclaredInterfacesError(DispatchError, ValueError):
    """An op holds kernels and declares no interfaces."""

    template = (
        "{op} holds the kernels {keys} and states no kernel interface; declare interfaces instead "
        "of choosing among kernel_types yourself"
    )


class KeyReuseError(DispatchError, ValueError):
    """A registered key equals a key the op already has."""

    template = (
        "{op}: the registrations {keys} of {origin} reuse keys it has; register them under names "
        "that the op does not use"
    )


class ArchsNeedOneDeviceError(DispatchError, ValueError):
    """``supported_archs`` is stated together with more than one device type."""

    template = (
        "{op}: key {key!r}: {implementation} states supported_archs {archs} and runs on {devices}; "
        "architectures belong to one device type. State one in devices, or write one class per "
        "device type"
    )


class AvailabilityFormError(DispatchError, TypeError):
    """``devices`` or ``supported_archs`` is stated in a form that membership cannot be asked of."""

    template = "{op}: key {key!r}: {implementation} states {member} = {value!r}; write {form}"


class InterfaceDeclarationError(DispatchError, TypeError):
    """An entry of an op's ``interfaces`` is no kernel interface with a call spec."""

    template = "{op}: interfaces[{interface!r}] is {value!r}, {problem}"


# Asking an op for a kernel: the call spec.


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


# Building the selected kernel.


class EntryShapeError(DispatchError, TypeError):
    """``entry_for`` returned something that is not a pair."""

    template = (
        "{op}: {implementation}.entry_for returned {value}; "
        "return the pair (build identity, factory)"
    )


class BuildIdentityError(DispatchError, TypeError):
    """``entry_for`` returned a build identity that cannot be hashed."""

    template = (
        "{op}: {implementation}.entry_for returned the build identity {value}, which cannot be "
        "hashed; use tuples and frozensets of immutable values"
    )


class FactoryError(DispatchError, TypeError):
    """``entry_for`` returned a factory that cannot be called."""

    template = (
        "{op}: {implementation}.entry_for returned {value} as its factory; return a callable "
        "without parameters that builds the kernel"
    )


class ForwardOnlyError(DispatchError, RuntimeError):
    """An input requires a gradient, and the op's kernels compute no backward."""

    template = (
        "{op}: {tensor} requires a gradient, and the op is forward only: its result would be "
        "detached silently. Call it under torch.no_grad(), or pass {tensor}.detach()"
    )


class MissingSignatureError(DispatchError, TypeError):
    """An op is called that no manifest entry describes."""

    template = (
        "{op} cannot be called: no class it derives from has an entry in the manifest. Write one, "
        "or override signature()"
    )


class MissingExtraError(TileopsError, ImportError):
    """Something of an optional extra is used and not installed."""

    template = "{what} needs {package}; run: pip install 'tileops[{extra}]'"


class CallSpecDeviceError(DispatchError, TypeError):
    """A call spec's device is no device."""

    template = (
        "{spec}.device must be a torch.device, its name or None, got {value}. "
        "Give facts by keyword: device is the first field"
    )


# Backends.


class BackendError(TileopsError, ValueError):
    """A backend registers something wrong, or one of its functions fails."""

    template = "{what}: {problem}"


class DeviceFactsError(BackendError):
    """The facts of a device cannot be registered or read."""

    template = "device facts of {device}: {problem}"


class UnknownTargetError(BackendError):
    """A target is named that no backend has registered."""

    template = (
        "{op}: target {target!r} ({source}) is not registered; registered targets: {targets}. "
        "Install or import the backend that registers it{failures}"
    )


class AmbiguousTargetError(BackendError):
    """Several targets claim the device of a call."""

    template = (
        "{op}: targets {targets} all claim {device}. Name one with target=, or set one with "
        "tileops.backend.set_default_target"
    )


class TargetWithoutBuilderError(OpNotAvailableError):
    """The selected target has registered no builder for the op."""

    template = (
        "{op}: target {target!r} ({source}) has registered no builder for this op; targets that "
        "have one: {targets}. Choose one of them, or target=tileops.backend.BUILTIN for the "
        "in-tree kernels"
    )


class TargetKernelError(BackendError):
    """A target's builder returned something that cannot be called."""

    template = (
        "{op}: the builder of target {target!r} returned {value} for this call; return the kernel, "
        "a callable that takes the op's inputs"
    )


class ProgramCompileError(TileopsError):
    """A compiler refuses a program's source."""

    template = "nvcc does not compile the program for sm_{arch}:\n{log}"


class MissingCompilerError(TileopsError):
    """A program is to be compiled for a device that is not there, and nvcc is missing."""

    template = "Compiling for sm_{arch} needs nvcc; install the CUDA toolkit and put nvcc on PATH"
