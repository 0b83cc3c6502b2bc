"""Judging one candidate by itself: is it available, and does it serve the call?

Besides `winner_of`, which gives no reasons, this is the only caller of ``refusal``.
"""

from __future__ import annotations

from tileops.errors import DeviceFactsError
from tileops.errors.wording import shown, told
from tileops.selection._candidate import Call, Candidate
from tileops.selection._verdict import Stage, Verdict

_NOT_STATED = "none: no arch is stated or read off a device; --arch 90 or arch=90 states one"
_NOT_READ = "none: {device_type} has no arch unless its backend's register_device_facts reads one"


def unavailable(candidate: Candidate, call: Call) -> Verdict | None:
    """Return why *candidate* cannot run on the call's device, or None when it can."""
    implementation = candidate.implementation
    device_type = call.device_type
    if device_type is None or device_type not in implementation.devices:
        runs_on = ", ".join(sorted(implementation.devices)) or "no device type"
        given = "no accelerator" if device_type is None else device_type
        return Verdict(candidate, Stage.DEVICE, f"runs on {runs_on}, got {given}")
    archs = implementation.supported_archs
    if archs is not None and (arch := call.arch) not in archs:
        supported = ", ".join(map(str, archs))
        unknown = _NOT_STATED if device_type == "cuda" else _NOT_READ
        given = unknown.format(device_type=device_type) if arch is None else str(arch)
        return Verdict(candidate, Stage.ARCH, f"supports arch {supported}, got {given}")
    return None


def judge(candidate: Candidate, call: Call) -> Verdict | None:
    """Return why *candidate* does not apply to *call*, or None when it does.

    Availability is asked first, ``refusal`` only of an available candidate. A refusal that raises,
    or returns neither None nor a sentence, is a defect and becomes a verdict of its own.

    Raises:
        DeviceFactsError: The facts of the call's device cannot be read.
    """
    verdict = unavailable(candidate, call)
    if verdict is not None:
        return verdict
    try:
        reason: object = candidate.implementation.refusal(call)
    except DeviceFactsError:
        # The refusal read a fact of the device, and the device's reader failed.
        raise
    except (Exception, SystemExit) as error:
        return Verdict(candidate, Stage.RAISED, f"refusal raised {told(error)}", error=error)
    if reason is None:
        return None
    if isinstance(reason, str) and reason:
        return Verdict(candidate, Stage.REFUSED, reason)
    return Verdict(candidate, Stage.RAISED, f"refusal returned {shown(reason)}")
