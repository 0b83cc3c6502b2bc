"""What a class must satisfy to stand under a key of an op, checked when the op is constructed."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

from tileops.call_spec import CallSpec
from tileops.errors import (
    AbstractKernelError,
    ArchsNeedOneDeviceError,
    AvailabilityFormError,
    DeclarationFormError,
    ForwardSignatureError,
    GeneralFormError,
    InterfaceDeclarationError,
    NotAClassmethodError,
    NotAKernelError,
    UndeclaredInterfacesError,
    UnknownKernelInterfaceError,
)
from tileops.errors.wording import shown
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel

__all__ = ["check_classes", "check_tables"]

Interfaces = Mapping[str, type[KernelInterface]]


def check_tables(op: str, tables: Mapping[str, Any]) -> None:
    """Check that what an op declares by name are mappings of names.

    Raises:
        DeclarationFormError: One is no mapping, or has a key that is no name.
    """
    for member, table in tables.items():
        named = isinstance(table, Mapping) and all(isinstance(key, str) and key for key in table)
        if not named:
            raise DeclarationFormError(op=op, member=member, value=shown(table))


def check_classes(op: str, interfaces: Interfaces, kernel_types: Mapping[str, Any]) -> None:
    """Check every class of *kernel_types* against the op's interfaces.

    Raises:
        DispatchError: The subclass that names the first condition violated; see
            `tileops.errors`.
    """
    if kernel_types and not interfaces:
        raise UndeclaredInterfacesError(op=op, keys=", ".join(kernel_types))
    for name, interface in interfaces.items():
        _check_interface(op, name, interface)
    strangers = [key for key, one in kernel_types.items() if not served(one, interfaces)]
    if strangers:
        raise UnknownKernelInterfaceError(
            op=op,
            keys=", ".join(strangers),
            interfaces=", ".join(one.__name__ for one in interfaces.values()),
        )
    for key, kernel_type in kernel_types.items():
        for name in served(kernel_type, interfaces):
            _check_class(op, key, kernel_type, interfaces[name])


def served(kernel_type: Any, interfaces: Interfaces) -> tuple[str, ...]:
    """Return the interfaces that a class inherits, by their keys in the op."""
    if not isinstance(kernel_type, type):
        return ()
    return tuple(name for name, one in interfaces.items() if issubclass(kernel_type, one))


def _check_interface(op: str, name: str, interface: Any) -> None:
    problem = None
    if not (isinstance(interface, type) and issubclass(interface, KernelInterface)):
        problem = "which is no subclass of KernelInterface"
    elif issubclass(interface, Kernel):
        problem = "which is an implementation, not an interface"
    else:
        request = getattr(interface, "request", None)
        forward = inspect.getattr_static(interface, "forward")
        if not inspect.isfunction(forward):
            problem = f"whose forward is {shown(forward)}; it must be a method"
        elif not (isinstance(request, type) and issubclass(request, CallSpec)):
            problem = f"whose request is {shown(request)}; it must be a CallSpec subclass"
    if problem is not None:
        raise InterfaceDeclarationError(op=op, interface=name, value=interface, problem=problem)


def _check_class(op: str, key: str, kernel_type: type, interface: type[KernelInterface]) -> None:
    common = {"op": op, "key": key, "implementation": kernel_type.__qualname__}
    if not issubclass(kernel_type, Kernel):
        raise NotAKernelError(**common, interface=interface.__name__)
    for method in ("entry_for", "refusal"):
        if not isinstance(inspect.getattr_static(kernel_type, method), classmethod):
            raise NotAClassmethodError(**common, method=method)
    missing: Collection[str] = getattr(kernel_type, "__abstractmethods__", frozenset())
    if missing:
        raise AbstractKernelError(
            **common, interface=interface.__name__, methods=", ".join(sorted(missing))
        )
    if not accepts(kernel_type, interface):
        raise ForwardSignatureError(
            **common,
            interface=interface.__name__,
            expected=f"({', '.join(p.name for p in _parameters(interface))})",
            given=_signature_of(kernel_type),
        )
    _check_availability(common, kernel_type)


def _check_availability(common: Mapping[str, str], kernel_type: type[Kernel]) -> None:
    devices: object = kernel_type.devices
    if not isinstance(devices, (frozenset, set)) or not all(isinstance(d, str) for d in devices):
        meant = devices if isinstance(devices, str) and devices else "cuda"
        raise AvailabilityFormError(
            **common, member="devices", value=devices, form=f'frozenset({{"{meant}"}})'
        )
    general: object = kernel_type.general
    if not isinstance(general, bool):
        raise GeneralFormError(**common, value=shown(general))
    archs: object = kernel_type.supported_archs
    if archs is None:
        return
    if not isinstance(archs, (list, tuple, set, frozenset)) or not all(
        type(arch) is int for arch in archs
    ):
        raise AvailabilityFormError(
            **common, member="supported_archs", value=archs, form="[80, 90] or None"
        )
    if len(devices) != 1:
        raise ArchsNeedOneDeviceError(
            **common, archs=archs, devices=", ".join(sorted(devices)) or "no device type"
        )


def accepts(kernel_type: type[Kernel], interface: type[KernelInterface]) -> bool:
    """Whether the class's ``forward`` can be called with the interface's arguments.

    One placeholder per positional parameter of the interface must bind positionally, and its
    keyword-only parameters by name. Names of positional parameters, annotations and defaults
    do not matter.
    """
    parameters = _parameters(interface)
    keywords = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    forward = inspect.getattr_static(kernel_type, "forward")
    bound: list[object] = [] if isinstance(forward, (staticmethod, classmethod)) else [kernel_type]
    if isinstance(forward, classmethod):
        forward = forward.__get__(None, kernel_type)
    try:
        inspect.signature(forward).bind(*bound, *positional, **keywords)
    except (TypeError, ValueError):
        # It does not bind, is nothing that can be called, or does not say what it takes.
        return False
    return True


def _signature_of(kernel_type: type[Kernel]) -> str:
    forward = inspect.getattr_static(kernel_type, "forward")
    try:
        return str(inspect.signature(forward))
    except (TypeError, ValueError):
        return f" = {shown(forward)}"


def _parameters(interface: type[KernelInterface]) -> list[inspect.Parameter]:
    return list(inspect.signature(interface.forward).parameters.values())[1:]
