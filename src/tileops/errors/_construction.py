"""Constructing an op: what is wrong with its classes, keys and preferences."""

from __future__ import annotations

from tileops.errors._root import DispatchError


class NotAKernelError(DispatchError, TypeError):
    """A class registered under a key subclasses an interface but not ``Kernel``.

    Cause:
        The class under the key inherits from the interface only.

    Remedy:
        Inherit from ``Kernel`` and the interface, and build the class through ``entry_for``.
    """

    template = (
        "{op}: key {key!r} is {implementation}, which does not implement {interface}: it "
        "subclasses the interface but not Kernel. Make it subclass both Kernel and {interface}, "
        "and build it through entry_for(call)"
    )


class ForwardSignatureError(DispatchError, TypeError):
    """An implementation's ``forward`` cannot be called with the interface's arguments.

    Cause:
        ``forward`` has another number of positional parameters than the interface's, or a
        further one without a default, or is nothing that can be called.

    Remedy:
        Accept every argument of the interface by position and give further ones a default.
    """

    template = (
        "{op}: key {key!r}: {implementation}.forward does not take {interface}'s arguments "
        "{expected}; it is forward{given}. Accept every parameter of the interface, positionally; "
        "further parameters need defaults"
    )


class NotAClassmethodError(DispatchError, TypeError):
    """``entry_for`` or ``refusal`` is stated other than as a class method.

    Cause:
        The method is an ordinary or a static one, though it is asked before an instance exists.

    Remedy:
        Decorate it with ``@classmethod``.
    """

    template = (
        "{op}: key {key!r}: {implementation}.{method} is not a class method; decorate it with "
        "@classmethod, since it is asked before any instance exists"
    )


class AbstractKernelError(DispatchError, TypeError):
    """An implementation leaves abstract methods of its interface unimplemented.

    Cause:
        An abstract method of the interface has no implementation in the class.

    Remedy:
        Implement every method that the message names.
    """

    template = (
        "{op}: key {key!r}: {implementation} cannot be instantiated: it leaves {interface}'s "
        "abstract {methods} unimplemented"
    )


class GeneralFormError(DispatchError, TypeError):
    """``general`` of an implementation is neither True nor False.

    Cause:
        The member is a name, a number or None.

    Remedy:
        State ``general = True``, or leave it out.
    """

    template = "{op}: key {key!r}: {implementation} states general = {value}; write True or False"


class SeveralGeneralError(DispatchError, ValueError):
    """An interface has two general implementations.

    Cause:
        Two classes state ``general = True``, often one of them by inheritance.

    Remedy:
        Set ``general = False`` on all but the one that serves what no other does.
    """

    template = (
        "{op}: interface {interface!r} has more than one general implementation: {keys}. "
        "Leave general = True on the one that serves what no other does and set the rest to False; "
        "a subclass inherits it"
    )


class PreferenceCycleError(DispatchError, ValueError):
    """``preferred_over`` leads from a key back to itself.

    Cause:
        Following ``preferred_over`` from a key leads back to it.

    Remedy:
        Remove one of the entries that the message names.
    """

    template = (
        "{op}: interface {interface!r}: preferences form a cycle through {cycle}. "
        "Remove one of these preferred_over entries"
    )


class PreferenceError(DispatchError, ValueError):
    """``preferred_over`` names something that is no rival, or stands on the general one.

    Cause:
        The set names the class itself, an unknown key or one of another interface, or it stands
        on the general implementation.

    Remedy:
        Name other keys of the same interface; a subclass that inherits the set restates it.
    """

    template = (
        "{op}: interface {interface!r}: key {key!r} ({implementation}) states preferred_over "
        "{stated}, {problem}. {remedy}"
    )


class UnknownKernelInterfaceError(DispatchError, ValueError):
    """A class in ``kernel_types`` subclasses none of the op's kernel interfaces.

    Cause:
        A class under a key inherits from no interface that the op lists.

    Remedy:
        Make it inherit from the interface it serves, or list that interface in ``interfaces``.
    """

    template = (
        "{op}: {keys} keys implement none of its kernel interfaces {interfaces}. Make each class "
        "subclass the interface it serves"
    )


class UndeclaredInterfacesError(DispatchError, ValueError):
    """An op holds kernels and declares no interfaces.

    Cause:
        The op has ``kernel_types`` and no ``interfaces``.

    Remedy:
        Write ``interfaces``; which kernel runs is then decided by the op's tables.
    """

    template = (
        "{op} holds the kernels {keys} and states no kernel interface; declare interfaces instead "
        "of choosing among kernel_types yourself"
    )


class KeyReuseError(DispatchError, ValueError):
    """A registered key equals a key the op already has.

    Cause:
        A backend registered a key that the op itself declares.

    Remedy:
        Register the implementation under another key.
    """

    template = (
        "{op}: the registrations {keys} of {origin} reuse keys it has; register them under names "
        "that the op does not use"
    )


class ArchsNeedOneDeviceError(DispatchError, ValueError):
    """``supported_archs`` is stated together with more than one device type.

    Cause:
        Architectures are numbered per device type, and the class names several types.

    Remedy:
        Name one type in ``devices``, or write one class per type.
    """

    template = (
        "{op}: key {key!r}: {implementation} states supported_archs {archs} and runs on {devices}; "
        "architectures belong to one device type. State one in devices, or write one class per "
        "device type"
    )


class DeclarationFormError(DispatchError, TypeError):
    """``kernel_types`` or ``interfaces`` of an op is no mapping of names.

    Cause:
        The class attribute is a list or None, or one of its keys is no text.

    Remedy:
        State a dict from names to classes.
    """

    template = "{op} states {member} = {value}; state a dict from names to classes"


class AvailabilityFormError(DispatchError, TypeError):
    """``devices`` or ``supported_archs`` is stated in a form that membership cannot be asked of.

    Cause:
        The member is a string, a number or something else that is no collection of them.

    Remedy:
        Write the form that the message shows.
    """

    template = "{op}: key {key!r}: {implementation} states {member} = {value!r}; write {form}"


class InterfaceDeclarationError(DispatchError, TypeError):
    """An entry of an op's ``interfaces`` is no kernel interface with a call spec.

    Cause:
        The entry is no subclass of ``KernelInterface``, its ``request`` is no call spec type, or
        its ``forward`` is no method.

    Remedy:
        Name the interface class, and set ``request`` on it to its call spec.
    """

    template = "{op}: interfaces[{interface!r}] is {value!r}, {problem}"
