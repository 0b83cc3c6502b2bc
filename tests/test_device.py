"""Device facts: the catalogue against vendor figures, and the readers of real devices."""

import threading
import time

import pytest
import torch

from tileops.backend import Registry
from tileops.device import (
    BOARDS,
    READERS,
    DeviceFacts,
    FactReaders,
    board_named,
    facts_of,
    first_board_of,
)
from tileops.errors import BackendError, DeviceFactsError

KIB = 1024
OTHER = torch.device("privateuseone", 0)
SECOND = torch.device("privateuseone", 1)


@pytest.mark.parametrize(
    ("name", "capability", "sm_count", "smem_kib"),
    [
        # SM counts: the GA100, GA102, AD102, GH100 whitepapers and the boards' datasheets. Shared
        # memory per block: 1 KiB less than the "164, 100, 100, 228, 228 KB per SM" that the Ampere,
        # Ada, Hopper and Blackwell tuning guides give.
        pytest.param("a100", (8, 0), 108, 164 - 1, id="a100"),
        pytest.param("a40", (8, 6), 10752 // 128, 100 - 1, id="a40"),
        pytest.param("rtx3090", (8, 6), 10496 // 128, 100 - 1, id="rtx3090"),
        pytest.param("l4", (8, 9), 7424 // 128, 100 - 1, id="l4"),
        pytest.param("l40s", (8, 9), 18176 // 128, 100 - 1, id="l40s"),
        pytest.param("rtx4090", (8, 9), 16384 // 128, 100 - 1, id="rtx4090"),
        pytest.param("h100", (9, 0), 16896 // 128, 228 - 1, id="h100-sxm"),
        pytest.param("h100-pcie", (9, 0), 14592 // 128, 228 - 1, id="h100-pcie"),
        pytest.param("h200", (9, 0), 16896 // 128, 228 - 1, id="h200"),
        pytest.param("b200", (10, 0), 148, 228 - 1, id="b200"),
    ],
)
def test_catalogue(name, capability, sm_count, smem_kib):
    """A board's facts are the vendor's: arch is major * 10 + minor, memory is that of one block."""
    major, minor = capability
    facts = board_named(name).facts
    assert facts == DeviceFacts(major * 10 + minor, sm_count, smem_kib * KIB)


def test_every_board_is_compared_with_the_vendor():
    """No board of the catalogue is missing from the table above."""
    (mark,) = test_catalogue.pytestmark
    assert {param.values[0] for param in mark.args[1]} == {board.name for board in BOARDS}


def test_boards_name_their_source():
    """Every board says where its facts are from, and no two share a name."""
    assert all(board.source and board.title for board in BOARDS)
    assert len({board.name for board in BOARDS}) == len(BOARDS)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("h200", "h200", id="exact"),
        pytest.param("H200", "h200", id="any-case"),
        pytest.param("h900", None, id="unknown"),
        pytest.param("", None, id="empty"),
    ],
)
def test_board_named(name, found):
    """Boards are found by their command-line name, whatever its case."""
    board = board_named(name)
    assert (board.name if board else None) == found


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        pytest.param(80, "a100", id="80"),
        pytest.param(86, "a40", id="86-first-of-two"),
        pytest.param(89, "l4", id="89-first-of-three"),
        pytest.param(90, "h100", id="90"),
        pytest.param(100, "b200", id="100"),
        pytest.param(87, None, id="87-not-in-the-catalogue"),
        pytest.param(75, None, id="75-not-in-the-catalogue"),
    ],
)
def test_first_board_of(arch, name):
    """The first board of an architecture stands for it; others do not stand in."""
    board = first_board_of(arch)
    assert (board.name if board else None) == name


def test_reader_says_the_facts_of_its_type():
    """A registered reader is asked once per device and gets that device."""
    readers, asked = FactReaders(), []

    def read(device):
        asked.append(device)
        return DeviceFacts(arch=7, sm_count=10 + device.index)

    readers.register("privateuseone", read)
    for _ in range(3):
        assert readers.facts_of(OTHER) == DeviceFacts(7, 10, None)
        assert readers.facts_of(SECOND) == DeviceFacts(7, 11, None)
    assert asked == [OTHER, SECOND]


def test_concurrent_questions_read_once():
    """Threads that ask at once wait for one reading."""
    readers, asked, together = FactReaders(), [], threading.Barrier(4)

    def read(device):
        asked.append(device)
        time.sleep(0.02)
        return DeviceFacts(arch=1)

    def ask():
        together.wait()
        readers.facts_of(OTHER)

    readers.register("privateuseone", read)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [OTHER]


def test_type_without_reader_has_no_facts():
    """Without a reader every fact is None, which is no error."""
    assert FactReaders().facts_of(OTHER) == DeviceFacts(None, None, None)
    assert FactReaders().facts_of(torch.device("cpu")) == DeviceFacts()


def test_reader_registered_after_the_first_question():
    """A reader counts from its registration on, even for a device that was asked about before."""
    readers = FactReaders()
    assert readers.facts_of(OTHER).arch is None
    readers.register("privateuseone", lambda device: DeviceFacts(arch=3))
    assert readers.facts_of(OTHER).arch == 3


def test_reader_may_ask_about_another_device():
    """One device's facts may be told by another's."""
    readers = FactReaders()
    host = torch.device("cpu")
    readers.register("cpu", lambda device: DeviceFacts(sm_count=4))
    readers.register(
        "privateuseone", lambda device: DeviceFacts(sm_count=readers.facts_of(host).sm_count)
    )
    assert readers.facts_of(OTHER).sm_count == 4


def raising(device):
    raise OSError("no driver")


def returning_a_dict(device):
    return {"arch": 7}


def returning_none(device):
    return None


class MuteError(Exception):
    def __repr__(self):
        raise ZeroDivisionError


def raising_what_cannot_be_written(device):
    raise MuteError


def returning_what_cannot_be_written(device):
    return MuteError()


@pytest.mark.parametrize(
    ("reader", "fragment"),
    [
        pytest.param(
            raising_what_cannot_be_written,
            "raised <MuteError, whose repr raises ZeroDivisionError>",
            id="raises-what-cannot-be-written",
        ),
        *[
            pytest.param(
                lambda device, value=value: DeviceFacts(90, value, 1024),
                f"says that sm_count is {value!r}; return an int of 1 or more, or None",
                id=f"says-{value}",
            )
            for value in (0, -1, 132.0, True, "132")
        ],
        pytest.param(
            returning_what_cannot_be_written,
            "returned <MuteError, whose repr raises ZeroDivisionError> instead",
            id="returns-what-cannot-be-written",
        ),
        pytest.param(raising, "OSError('no driver')", id="raises"),
        pytest.param(returning_a_dict, "{'arch': 7} instead of DeviceFacts", id="dict"),
        pytest.param(returning_none, "None instead of DeviceFacts", id="none"),
    ],
)
def test_bad_reader(reader, fragment):
    """A reader that raises or talks nonsense is a BackendError that names it, every time."""
    readers = FactReaders()
    readers.register("privateuseone", reader)
    for _ in range(2):
        with pytest.raises(BackendError) as caught:
            readers.facts_of(OTHER)
        assert fragment in str(caught.value)
        assert reader.__name__ in str(caught.value)
        assert "privateuseone:0" in str(caught.value)
    if reader is raising:
        assert isinstance(caught.value.__cause__, OSError)


def test_reader_is_asked_again_after_it_failed():
    """A failure is not kept."""
    readers, answers = FactReaders(), [None, DeviceFacts(arch=5)]
    readers.register("privateuseone", lambda device: answers.pop(0))
    with pytest.raises(DeviceFactsError):
        readers.facts_of(OTHER)
    assert readers.facts_of(OTHER).arch == 5


@pytest.mark.parametrize(
    ("device_type", "reader", "fragment"),
    [
        pytest.param("cuda", raising, "reads CUDA devices itself", id="cuda"),
        pytest.param("mtia:0", raising, "register it for 'mtia'", id="one-device"),
        pytest.param("xpu", raising, "has registered it already", id="registered-already"),
        pytest.param("mtia", "not a function", "not callable", id="not-callable"),
        pytest.param("", raising, "must be a name", id="no-name"),
        pytest.param(None, raising, "must be a name", id="none"),
    ],
)
def test_refused_registration(device_type, reader, fragment):
    """CUDA is built in, a type has one reader for all its devices, and a reader can be called."""
    registry = Registry(entry_points=tuple)
    registry.register_device_facts("xpu", raising)
    with pytest.raises(BackendError, match="register_device_facts") as caught:
        registry.register_device_facts(device_type, reader)
    assert fragment in str(caught.value)
    assert registry.readers.device_types == ("cuda", "xpu")


def test_restore_forgets_readers_and_what_they_said():
    """The readers return to a snapshot, for a backend that fails to load half way."""
    readers = FactReaders()
    before = readers.snapshot()
    readers.register("privateuseone", lambda device: DeviceFacts(arch=5))
    assert readers.facts_of(OTHER).arch == 5
    readers.restore(before)
    assert readers.facts_of(OTHER).arch is None
    assert readers.device_types == ("cuda",)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_cuda_device_of_another_machine(name):
    """A CUDA device that this machine lacks cannot be read, and the error says which."""
    with pytest.raises(DeviceFactsError, match=f"{name}: CUDA cannot read it"):
        facts_of(torch.device(name))


@pytest.mark.gpu
def test_cuda_facts():
    """A real device's facts are what CUDA says, and agree with the catalogue where it is known."""
    device = torch.device("cuda", 0)
    properties = torch.cuda.get_device_properties(device)
    facts = facts_of(device)
    major, minor = torch.cuda.get_device_capability(device)
    assert (facts.arch, facts.sm_count) == (major * 10 + minor, properties.multi_processor_count)
    for board in BOARDS:
        if board.title in (properties.name, f"{properties.name} SXM5"):
            assert facts == board.facts
    with torch.cuda.device(device):
        assert facts_of(torch.device("cuda")) is facts_of(device)
    assert READERS.facts_of(device) is facts
