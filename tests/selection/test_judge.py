"""Judging one candidate: device type, then architecture, then its own refusal."""

import pytest
from declared import PlainCall, candidate

from tileops.errors import DeviceFactsError
from tileops.selection import Stage, judge, unavailable


@pytest.mark.parametrize(
    ("devices", "archs", "device_type", "arch", "stage", "reason"),
    [
        pytest.param({"cuda"}, None, "cuda", 90, None, None, id="default-any-arch"),
        pytest.param({"cuda"}, None, "cuda", None, None, None, id="default-arch-unknown"),
        pytest.param({"cuda"}, [80, 90], "cuda", 80, None, None, id="first-of-archs"),
        pytest.param({"cuda"}, [80, 90], "cuda", 90, None, None, id="last-of-archs"),
        pytest.param(
            {"cuda"}, [80, 90], "cuda", 86, "arch", "supports arch 80, 90, got 86", id="between"
        ),
        pytest.param({"cuda"}, [86], "cuda", 87, "arch", "got 87", id="87-is-not-86"),
        pytest.param({"cuda"}, [90], "cuda", 100, "arch", "got 100", id="100-is-not-90"),
        pytest.param({"cuda"}, [90], "cuda", 89, "arch", "got 89", id="below-the-lowest"),
        pytest.param(
            {"cuda"},
            [90],
            "cuda",
            None,
            "arch",
            "got none: no arch is stated or read off a device; --arch 90 or arch=90 states one",
            id="archs-but-none-read",
        ),
        pytest.param(
            {"cpu"},
            [90],
            "cpu",
            None,
            "arch",
            "got none: cpu has no arch unless its backend's register_device_facts reads one",
            id="archs-of-a-device-without-any",
        ),
        pytest.param({"cuda"}, [], "cuda", 90, "arch", "got 90", id="no-arch-at-all"),
        pytest.param({"cuda"}, (90,), "cuda", 90, None, None, id="archs-as-tuple"),
        pytest.param({"cuda"}, {90}, "cuda", 90, None, None, id="archs-as-set"),
        pytest.param({"cuda"}, None, "cpu", None, "device", "runs on cuda, got cpu", id="cpu"),
        pytest.param(
            {"cuda"}, [90], "acme", 90, "device", "runs on cuda, got acme", id="device-before-arch"
        ),
        pytest.param({"cuda"}, None, None, None, "device", "got no accelerator", id="no-device"),
        pytest.param({"xpu", "cuda"}, None, "xpu", None, None, None, id="one-of-two-devices"),
        pytest.param(
            {"xpu", "cuda"}, None, "cpu", None, "device", "runs on cuda, xpu", id="neither-of-two"
        ),
        pytest.param(set(), None, "cuda", 90, "device", "no device type", id="runs-nowhere"),
    ],
)
def test_availability(devices, archs, device_type, arch, stage, reason):
    """A key is available on its device types and exactly on the architectures it states."""
    verdict = unavailable(
        candidate("a", devices=devices, archs=archs), PlainCall(device_type, arch)
    )
    if stage is None:
        assert verdict is None
    else:
        assert verdict.stage is Stage(stage)
        assert verdict.key == "a"
        assert reason in verdict.reason


@pytest.mark.parametrize(
    ("call", "stage"),
    [
        pytest.param(PlainCall("cpu", None), Stage.DEVICE, id="other-device"),
        pytest.param(PlainCall("cuda", 80), Stage.ARCH, id="other-arch"),
    ],
)
def test_refusal_is_not_asked_of_an_unavailable_key(call, stage):
    """Availability filters first: a refusal may rely on the device it is written for."""
    asked = []
    one = candidate("a", archs=[90], refuses=ValueError("not for this device"), asked=asked)
    assert judge(one, call).stage is stage
    assert asked == []


class MuteError(ValueError):
    """An exception, or a reason, that cannot be written."""

    def __str__(self):
        raise ZeroDivisionError

    __repr__ = __str__


@pytest.mark.parametrize(
    ("refuses", "stage", "reason"),
    [
        pytest.param(None, None, None, id="serves"),
        pytest.param("serves batch 1, got 4", Stage.REFUSED, "serves batch 1, got 4", id="refuses"),
        pytest.param(
            ZeroDivisionError("n / 0"), Stage.RAISED, "ZeroDivisionError: n / 0", id="raises"
        ),
        pytest.param(False, Stage.RAISED, "returned False", id="false"),
        pytest.param(True, Stage.RAISED, "returned True", id="true"),
        pytest.param("", Stage.RAISED, "returned ''", id="empty-sentence"),
        pytest.param(NotImplementedError(), Stage.RAISED, "NotImplementedError", id="unwritten"),
        pytest.param(
            MuteError(),
            Stage.RAISED,
            "refusal raised MuteError, whose message raises ZeroDivisionError",
            id="raises-what-cannot-be-written",
        ),
        pytest.param(
            lambda call: [MuteError()],
            Stage.RAISED,
            "refusal returned <list, whose repr raises ZeroDivisionError>",
            id="returns-what-cannot-be-written",
        ),
    ],
)
def test_refusal(refuses, stage, reason):
    """None serves, a sentence refuses, and everything else is a defect of the implementation."""
    verdict = judge(candidate("a", refuses=refuses), PlainCall())
    if stage is None:
        assert verdict is None
    else:
        assert verdict.stage is stage
        assert reason in verdict.reason
    if isinstance(refuses, Exception):
        assert verdict.error is refuses


def test_refusal_reads_the_call():
    """The refusal is a class method of the candidate's class and receives the call itself."""
    one = candidate("a", refuses=lambda call: None if call.n <= 256 else f"got {call.n}")
    assert judge(one, PlainCall(n=256)) is None
    assert judge(one, PlainCall(n=257)).reason == "got 257"


def test_an_interrupt_is_not_a_verdict():
    """KeyboardInterrupt in a refusal stops the program instead of excluding the key."""
    with pytest.raises(KeyboardInterrupt):
        judge(candidate("a", refuses=KeyboardInterrupt()), PlainCall())


def test_unreadable_device_facts_are_not_blamed_on_the_refusal():
    """A refusal that reads a fact of an unreadable device is not defective; the reader is."""
    unreadable = DeviceFactsError(device="acme:0", problem="its reader raised OSError()")
    with pytest.raises(DeviceFactsError, match="its reader raised"):
        judge(candidate("a", refuses=unreadable), PlainCall())
