"""The registered targets: what each serves, and which devices its detector claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tileops.errors.wording import shown

if TYPE_CHECKING:
    import torch

    from tileops.backend import DetectorRegistration, Registry


@dataclass(frozen=True)
class TargetState:
    """One target.

    Attributes:
        target: Its name.
        registered_by: Who registered its detector and builders.
        ops: The ops it has a builder for.
        claims: The devices of this machine that its detector claims; None without a detector,
            where only its name selects the target.
        problem: What is wrong: its detector raised, or claims a device that another one claims.
    """

    target: str
    registered_by: tuple[str, ...]
    ops: tuple[str, ...]
    claims: tuple[str, ...] | None
    problem: str | None = None


def target_states(registry: Registry, devices: Sequence[torch.device]) -> tuple[TargetState, ...]:
    """Describe every target of *registry*, asking its detector about *devices*."""
    states = [_state(registry, target, devices) for target in registry.targets()]
    return tuple(_without_rivals(state, states) for state in states)


def _state(registry: Registry, target: str, devices: Sequence[torch.device]) -> TargetState:
    detector = registry.detectors.get(target)
    builders = [one for one in registry.builders.values() if one.target == target]
    owners = {one.claimant for one in builders}
    claims, problem = None, None
    if detector is not None:
        owners.add(detector.claimant)
        claims, problem = _claims(detector, devices)
    ops = tuple(sorted(one.op for one in builders))
    return TargetState(target, tuple(sorted(owners)), ops, claims, problem)


def _claims(
    detector: DetectorRegistration, devices: Sequence[torch.device]
) -> tuple[tuple[str, ...], str | None]:
    claims = []
    for device in devices:
        try:
            if detector.detect(device):
                claims.append(str(device))
        except (Exception, SystemExit) as error:
            # A detector is foreign code: that it fails is what the report is about.
            return tuple(claims), f"its detector raised {shown(error)} for {device}"
    return tuple(claims), None


def _without_rivals(state: TargetState, states: Sequence[TargetState]) -> TargetState:
    """Return *state*, its problem naming the targets that claim a device it claims."""
    claims = set(state.claims or ())
    rivals = [one.target for one in states if one is not state and claims & {*(one.claims or ())}]
    if state.problem is not None or not rivals:
        return state
    return replace(
        state, problem=f"claims {', '.join(sorted(claims))}, as {', '.join(rivals)} does"
    )
