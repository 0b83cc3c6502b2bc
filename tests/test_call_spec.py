"""CallSpec: keyability, device facts stated and derived, equality, ranges, options."""

import copy
import dataclasses
import enum
import pickle
from typing import Annotated, Any

import pytest
import torch

from tileops.call_spec import CallSpec, Range
from tileops.device import READERS, DeviceFacts, FactReaders
from tileops.errors import CallSpecDeviceError, DeviceFactsError
from tileops.kernels.norm.call_spec import LayerNormCall

OTHER = torch.device("privateuseone", 0)


class Layout(enum.Enum):
    ROWS = "row-major"
    PARTS = ["a", "list"]


@dataclasses.dataclass(frozen=True)
class AnyCall(CallSpec):
    value: Any = None  # tileops: ignore[call-spec-mutable-field] -- tests what is refused


@dataclasses.dataclass(frozen=True)
class SeveralCall(CallSpec):
    n: Annotated[int, Range(1, 128)] = 0
    rate: Annotated[float, Range(0.0)] = 0.0
    fused: bool = False
    dtype: torch.dtype = torch.float16
    layout: Layout = Layout.ROWS
    window: Annotated[int, Range(1)] | None = None
    name: str = "plain"

    def impossible(self) -> str | None:
        return f"n must be at least 1, got {self.n}" if self.n < 1 else None


@pytest.fixture
def other_device():
    """Register facts for a device type, and note every reading of them."""
    before, asked = READERS.snapshot(), []

    def read(device):
        asked.append(device)
        return DeviceFacts(arch=7, sm_count=12, smem_budget=4096)

    READERS.register("privateuseone", read)
    yield asked
    READERS.restore(before)


@pytest.mark.parametrize(
    "stated",
    [
        pytest.param({}, id="none"),
        pytest.param({"arch": 90}, id="arch"),
        pytest.param({"sm_count": 132}, id="sm-count"),
        pytest.param({"arch": 90, "smem_budget": 1024}, id="two"),
        pytest.param({"arch": 90, "sm_count": 1, "smem_budget": 2}, id="all"),
        pytest.param({"sm_count": 0}, id="zero-is-stated"),
    ],
)
def test_stated_facts(stated):
    """A spec tells the device facts it was given from those it derives."""
    assert LayerNormCall(n=4, **stated).stated_facts() == stated


def test_stating_none_states_nothing():
    """None stands for a fact that is not given."""
    assert LayerNormCall(arch=None).stated_facts() == {}


@pytest.mark.parametrize(
    ("stated", "facts", "board"),
    [
        pytest.param({"arch": 80}, (80, 108, 163 * 1024), "a100", id="arch-80"),
        pytest.param({"arch": 86}, (86, 84, 99 * 1024), "a40", id="arch-86"),
        pytest.param({"arch": 90}, (90, 132, 227 * 1024), "h100", id="arch-90"),
        pytest.param({"arch": 90, "sm_count": 7}, (90, 7, 227 * 1024), "h100", id="arch-and-sms"),
        pytest.param({"arch": 75}, (75, None, None), None, id="arch-without-a-board"),
        pytest.param(
            {"arch": 90, "sm_count": 7, "smem_budget": 9}, (90, 7, 9), None, id="everything"
        ),
        pytest.param({"sm_count": 7}, (None, 7, None), None, id="no-arch"),
    ],
)
def test_facts_beside_stated_ones(stated, facts, board):
    """Facts without a device mean CUDA; a stated arch lends the rest from its first board."""
    call = LayerNormCall(n=4, **stated)
    assert call.device_type == "cuda"
    assert (call.arch, call.sm_count, call.smem_budget) == facts
    assert call.assumed_board == board
    assert call.resolved() is call


def test_stated_facts_query_no_machine(other_device):
    """A device with every fact stated is not read, and one with an arch on CUDA never is."""
    call = LayerNormCall(device=OTHER, arch=1, sm_count=2, smem_budget=3)
    assert (call.arch, call.sm_count, call.smem_budget) == (1, 2, 3)
    assert LayerNormCall(device="cuda:7", arch=90).sm_count == 132
    assert other_device == []


def test_derived_facts(other_device):
    """Facts that are not stated are read off the device, once."""
    call = LayerNormCall(device=OTHER, n=4)
    assert (call.arch, call.sm_count, call.smem_budget) == (7, 12, 4096)
    assert call.stated_facts() == {}
    assert call.device_type == "privateuseone"
    assert LayerNormCall(device=OTHER, sm_count=3).device_facts() == DeviceFacts(7, 3, 4096)
    assert other_device == [OTHER]


def test_device_type_without_facts():
    """A type without a reader has no facts, which is no error."""
    call = LayerNormCall(device="cpu")
    assert (call.device_type, call.arch, call.sm_count) == ("cpu", None, None)


def test_a_spec_is_made_compared_and_shown_without_reading_its_device(other_device):
    """Construction, equality, hash and repr never query a device."""
    call = LayerNormCall(device=OTHER, n=4)
    assert call == LayerNormCall(device="privateuseone:0", n=4)
    assert hash(call) == hash(LayerNormCall(device="privateuseone:0", n=4))
    assert "n=4" in repr(call)
    assert "n=4" in repr(LayerNormCall(device="cuda:63", n=4))
    assert other_device == []


BASE = LayerNormCall(device="cuda:0", n=4, eps=1e-5, dtype=torch.float16)


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        pytest.param(LayerNormCall(torch.device("cuda", 0), n=4), True, id="device-by-object"),
        pytest.param(LayerNormCall("cuda:0", arch=90, n=4), True, id="device-facts-do-not-count"),
        pytest.param(LayerNormCall("cuda:0", n=5), False, id="other-fact"),
        pytest.param(LayerNormCall("cuda:0", n=4, eps=1e-6), False, id="other-eps"),
        pytest.param(LayerNormCall("cuda:0", n=4, dtype=torch.bfloat16), False, id="other-dtype"),
        pytest.param(LayerNormCall("cuda:1", n=4), False, id="other-index"),
        pytest.param(LayerNormCall("cpu", n=4), False, id="other-type"),
        pytest.param(LayerNormCall(n=4), False, id="no-device"),
        pytest.param(AnyCall("cuda:0"), False, id="other-spec"),
    ],
)
def test_equality(other, equal):
    """Equality and hash cover every fact and the device, never the device facts."""
    assert (other == BASE) is equal
    if equal:
        assert hash(other) == hash(BASE)


@pytest.mark.parametrize(
    ("given", "device"),
    [
        pytest.param("cuda:1", torch.device("cuda", 1), id="by-name"),
        pytest.param(torch.device("cuda"), torch.device("cuda"), id="without-index"),
        pytest.param("cpu:0", torch.device("cpu"), id="cpu-has-no-index"),
        pytest.param(None, None, id="none"),
    ],
)
def test_device_is_normalised(given, device):
    """A device is given by object or name."""
    assert LayerNormCall(device=given).device == device


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(256, id="a-fact-given-positionally"),
        pytest.param("gpu", id="no-such-type"),
        pytest.param("", id="empty"),
        pytest.param(torch.float16, id="dtype"),
    ],
)
def test_bad_device(device):
    """What is no device is a TypeError that names the spec and the value."""
    with pytest.raises(CallSpecDeviceError, match=r"LayerNormCall\.device must be") as caught:
        LayerNormCall(device)
    assert isinstance(caught.value, TypeError)
    assert caught.value.value == repr(device)


@pytest.mark.parametrize(
    "assign",
    [pytest.param("n", id="fact"), pytest.param("arch", id="device-fact")],
)
def test_specs_are_frozen(assign):
    """The facts of a call do not change."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(LayerNormCall(n=4), assign, 1)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(BASE, id="with-device"),
        pytest.param(LayerNormCall(arch=90, n=4), id="with-stated-facts"),
    ],
)
def test_copies_keep_what_is_stated(call):
    """Pickling and copying keep facts, device and stated facts, and state no others."""
    for same in (pickle.loads(pickle.dumps(call)), copy.deepcopy(call), copy.copy(call)):
        assert same == call
        assert same.stated_facts() == call.stated_facts()


def test_with_device_and_with_facts():
    """Copies change what is named; with_facts keeps the stated facts, with_device drops them."""
    call = SeveralCall(arch=90, n=4, fused=True)
    moved = call.with_device(torch.device("cuda:1"))
    assert (moved.device, moved.stated_facts()) == (torch.device("cuda:1"), {})
    assert moved.facts() == call.facts()
    assert call.with_device(None, arch=80).arch == 80
    wider = call.with_facts(n=8)
    assert (wider.n, wider.fused, wider.stated_facts()) == (8, True, {"arch": 90})
    assert call.with_facts(arch=80).stated_facts() == {"arch": 80}


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has an accelerator")
@pytest.mark.parametrize(
    ("device", "device_type"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("cuda", None, id="cuda-without-index"),
        pytest.param("cuda:0", "cuda", id="cuda-by-index"),
        pytest.param("cpu", "cpu", id="cpu"),
        pytest.param("meta", "meta", id="meta"),
    ],
)
def test_resolved_without_an_accelerator(device, device_type):
    """The current device is meant where none is given; this machine has none."""
    assert LayerNormCall(device=device).resolved().device_type == device_type


@pytest.mark.parametrize(
    ("call", "options"),
    [
        pytest.param(
            SeveralCall(arch=90, n=4, fused=True, layout=Layout.PARTS),
            "--n 4 --rate 0.0 --fused --dtype float16 --layout PARTS --window none --name plain "
            "--arch 90 --sm-count 132 --smem-budget 232448",
            id="stated-arch",
        ),
        pytest.param(
            SeveralCall("cpu", n=4, window=2),
            "--n 4 --rate 0.0 --no-fused --dtype float16 --layout ROWS --window 2 --name plain "
            "--device cpu",
            id="device-without-facts",
        ),
        pytest.param(
            LayerNormCall(n=1), "--n 1 --eps 1e-05 --dtype float16 --device cuda", id="none"
        ),
    ],
)
def test_options(call, options):
    """Every fact becomes an option, and where the call runs is always stated."""
    assert call.options() == tuple(options.split())


def test_options_of_a_device_with_facts(other_device):
    """Another process may lack the device, so its facts are spelled out."""
    words = LayerNormCall(device=OTHER, n=4).options()
    assert " ".join(words).endswith(
        "--device privateuseone --arch 7 --sm-count 12 --smem-budget 4096"
    )


def test_options_of_a_cpu_with_facts(monkeypatch):
    """Every machine has a CPU, and reads its facts itself; those that are stated stay."""
    readers = FactReaders()
    readers.register("cpu", lambda _: DeviceFacts(sm_count=2))
    monkeypatch.setattr("tileops.device.READERS", readers)
    assert LayerNormCall(device="cpu", n=4).sm_count == 2
    words = ("--n", "4", "--eps", "1e-05", "--dtype", "float16", "--device", "cpu")
    assert LayerNormCall(device="cpu", n=4).options() == words
    stated = LayerNormCall(device="cpu", n=4, sm_count=3)
    assert stated.options() == (*words, "--sm-count", "3")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        pytest.param(
            LayerNormCall(arch=90, n=4, dtype=torch.bfloat16),
            "n 4, eps 1e-05, dtype bfloat16, device cuda, arch 90",
            id="stated",
        ),
        pytest.param(
            LayerNormCall(device="cpu", n=4),
            "n 4, eps 1e-05, dtype float16, device cpu",
            id="no-arch",
        ),
        pytest.param(
            LayerNormCall(n=4), "n 4, eps 1e-05, dtype float16, device no device", id="none"
        ),
    ],
)
def test_describe(call, text):
    """One line holds every fact."""
    assert call.describe() == text


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_cuda_device_of_another_machine_is_described_but_not_read():
    """Where CUDA is absent a spec for it has no facts, and says so only when they are asked for."""
    call = LayerNormCall(device="cuda:1", n=4)
    assert call.describe().endswith("device cuda:1")
    assert call.options()[-2:] == ("--device", "cuda:1")
    with pytest.raises(DeviceFactsError, match="cuda:1"):
        _ = call.arch
