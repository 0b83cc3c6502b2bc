"""Which target serves an op on a device: argument, process default, detectors, in-tree."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tileops.backend._registration import BUILTIN
from tileops.backend._registry import Registry
from tileops.errors import (
    AmbiguousTargetError,
    BackendError,
    TargetWithoutBuilderError,
    UnknownTargetError,
)
from tileops.errors.wording import shown


@dataclass(frozen=True)
class TargetChoice:
    """The target of an op and why it was chosen.

    Attributes:
        target: Its name, or None for the in-tree kernels.
        source: ``target=``, ``the process default``, ``its detector`` or ``no target claims it``.
    """

    target: str | None
    source: str


def check_named_target(registry: Registry, op: str, argument: str | None) -> TargetChoice | None:
    """Return the choice that a name makes, or None where only the detectors can say.

    Raises:
        UnknownTargetError: The name is not registered.
    """
    named = (
        (argument, "target=")
        if argument is not None
        else (
            registry.default_target,
            "the process default",
        )
    )
    target, source = named
    if target is None:
        return None
    if target == BUILTIN:
        return TargetChoice(None, source)
    if target not in registry.targets():
        failures = ", ".join(one.name for one in registry.failures)
        raise UnknownTargetError(
            op=op,
            target=target,
            source=source,
            targets=", ".join(registry.targets()) or "none",
            failures=f"; backends that failed to load: {failures}" if failures else "",
        )
    return TargetChoice(target, source)


def choose_target(
    registry: Registry, op: str, argument: str | None, device: torch.device, holds_kernels: bool
) -> TargetChoice:
    """Choose the target of an op for calls on *device*; no hardware is queried.

    Args:
        registry: The registered targets.
        op: The op's class name.
        argument: The op's ``target=``.
        device: The device of the call.
        holds_kernels: Whether the op has kernels of its own; a composite op without a builder
            leaves the target to the ops it is made of.

    Raises:
        UnknownTargetError: A named target is not registered.
        AmbiguousTargetError: Several detectors claim the device.
        BackendError: A detector raised.
        TargetWithoutBuilderError: The target has no builder for an op that holds kernels.
    """
    choice = check_named_target(registry, op, argument)
    if choice is None:
        choice = _detect(registry, op, device)
    if choice.target is None or (op, choice.target) in registry.builders:
        return choice
    if not holds_kernels:
        return TargetChoice(None, "its parts choose")
    raise TargetWithoutBuilderError(
        op=op,
        target=choice.target,
        source=choice.source,
        targets=", ".join(registry.targets_of(op)) or "none",
    )


def _detect(registry: Registry, op: str, device: torch.device) -> TargetChoice:
    claiming = []
    for target, registration in sorted(registry.detectors.items()):
        try:
            claims = bool(registration.detect(device))
        except (Exception, SystemExit) as error:
            raise BackendError(
                what=f"the detector of target {target!r} ({registration.claimant})",
                problem=f"raised {shown(error)} for {device}",
            ) from error
        if claims:
            claiming.append(target)
    if len(claiming) > 1:
        raise AmbiguousTargetError(op=op, targets=", ".join(claiming), device=device)
    if claiming:
        return TargetChoice(claiming[0], "its detector")
    return TargetChoice(None, "no target claims the device")
