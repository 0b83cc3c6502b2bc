"""What makes a call one of another kind, which is checked and planned for itself."""

from __future__ import annotations

import contextlib

import pytest
import torch
from blend_family import TrainedStirFwdOp

from tileops.ops._observers import subscribe


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Other(torch.Tensor):
    """Another one."""


X = torch.ones(4, 4)
SCALE = torch.ones(4)


def strided(one):
    return torch.stack([one, one], -1)[..., 0]


def inference(one):
    with torch.inference_mode():
        return one.clone()


DIFFERENT = {
    "type": {"x": X.as_subclass(Plain)},
    "parameter": {"x": torch.nn.Parameter(X.clone(), requires_grad=False)},
    "type-of-another-input": {"scale": SCALE.as_subclass(Plain)},
    "rows": {"x": torch.ones(5, 4)},
    "rank": {"x": torch.ones(2, 2, 4)},
    "strides": {"x": strided(X)},
    "strides-of-the-same-elements": {"x": X.t().contiguous().t()},
    "strides-of-another-input": {"scale": strided(SCALE)},
    "dtype": {"x": X.double(), "scale": SCALE.double()},
    "negated-when-read": {"x": torch._neg_view(X)},
    "inference-tensor": {"x": inference(X)},
    "requires-grad": {"x": X.clone().requires_grad_()},
    "requires-grad-of-another-input": {"scale": SCALE.clone().requires_grad_()},
    "presence": {"scale": None},
    "presence-of-a-written-input": {"seen": torch.zeros(4)},
    "buffer": {"out": torch.empty(4, 4)},
    "execution-argument": {"chunk": 1},
    "inference-mode": {"mode": torch.inference_mode},
}
RECORDED = X.clone().requires_grad_()
BETWEEN = {
    "grad-modes": ({"x": RECORDED}, {"x": RECORDED, "mode": torch.no_grad}),
    "types": ({"x": X.as_subclass(Plain)}, {"x": X.as_subclass(Other)}),
    "strides-of-a-dim-of-one": (
        {"x": torch.ones(1, 4)},
        {"x": torch.ones(1, 4).as_strided((1, 4), (9, 1))},
    ),
    "execution-values": ({"chunk": 1}, {"chunk": 2}),
    "execution-names": ({"chunk": 1}, {"mode_": "exact"}),
    "buffer-type": ({"out": torch.empty(4, 4)}, {"out": torch.empty(4, 4).as_subclass(Plain)}),
}
SAME = {
    "data": {"x": torch.zeros(4, 4)},
    "address": {"x": torch.ones(17)[1:].view(4, 4)},
    "no-buffer": {"out": None},
    "grad-mode-where-nothing-requires-one": {"mode": torch.no_grad},
}


def call(op, changes):
    arguments = {"x": X, "scale": SCALE, "seen": None, **changes}
    mode = arguments.pop("mode", contextlib.nullcontext)
    if "mode_" in arguments:
        arguments["mode"] = arguments.pop("mode_")
    with mode():
        op(**arguments)


def told_of(*calls):
    """How many kinds of calls an observer is told of."""
    op, heard = TrainedStirFwdOp(), []
    end = subscribe(heard.append)
    try:
        for changes in calls:
            for _ in range(4):
                call(op, changes)
    finally:
        end()
    return len(heard)


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT)
def test_a_fact_that_differs(changes):
    """It is another kind, and both are known from then on."""
    assert told_of({}, changes, {}, changes) == 2


@pytest.mark.parametrize(("one", "other"), BETWEEN.values(), ids=BETWEEN)
def test_a_fact_that_differs_between_two(one, other):
    """So are two that both differ from the ordinary call."""
    assert told_of(one, other, one, other) == 2


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_what_is_no_fact(changes):
    """The kind is the same."""
    assert told_of({}, changes, {}, changes) == 1
