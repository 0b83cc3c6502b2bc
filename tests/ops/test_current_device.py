"""What a launch leaves current, on a machine of several CUDA devices."""

from __future__ import annotations

import pytest
import torch

from tileops.ops._current_device import keeping_current_device


@pytest.fixture
def devices(monkeypatch):
    """Two CUDA devices of which the first is current, as torch tells of them."""
    state = [0]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: state[0])
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: state.__setitem__(0, index))
    return state


def launching_on(state, index, failing=False):
    """What a compiled program does: make the device of its tensors current, and leave it so."""

    def run(x, *, out=None):
        state[0] = index
        if failing:
            raise ValueError("refused")
        return x, out

    return run


@pytest.mark.parametrize(
    ("current", "index"),
    [
        pytest.param(0, 1, id="tensors-on-another"),
        pytest.param(0, 0, id="tensors-on-the-current-one"),
        pytest.param(1, 0, id="another-is-current"),
    ],
)
def test_the_current_device_stays(devices, current, index):
    """Whichever it is, and wherever the tensors lie; what is passed and returned is the same."""
    devices[0] = current
    run = keeping_current_device(launching_on(devices, index), torch.device("cuda", index))
    assert run(3, out=4) == (3, 4)
    assert devices == [current]


def test_the_current_device_stays_when_a_launch_fails(devices):
    """The error arrives as it is."""
    run = keeping_current_device(launching_on(devices, 1, failing=True), torch.device("cuda", 1))
    with pytest.raises(ValueError, match="refused"):
        run(3)
    assert devices == [0]


@pytest.mark.parametrize(
    ("count", "device"),
    [
        pytest.param(1, torch.device("cuda", 0), id="one-device"),
        pytest.param(2, torch.device("cpu"), id="cpu"),
    ],
)
def test_nothing_is_kept_where_nothing_changes(devices, monkeypatch, count, device):
    """The function is the same one, so a hit costs nothing more."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    run = launching_on(devices, 0)
    assert keeping_current_device(run, device) is run
