"""What listening costs a call: nothing while nobody listens, one frame while somebody counts."""

import inspect
import sys
import time

import torch

import tileops
from ops.noting import noting, op_with
from tileops.ops._observers import Cell, counted, subscribe

X = torch.ones(2, 8)


def frames_of(op):
    """Return the names of the Python functions that a call of a known kind enters."""
    for _ in range(4):
        op(X)
    entered = []

    def note(frame, event, _argument):
        if event == "call":
            entered.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        op(X)
    finally:
        sys.setprofile(None)
    return entered


def test_off_means_no_frame(tmp_path):
    """Before and after a recording a call enters the same functions; during it, one more."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    before = frames_of(op)
    with tileops.trace.record(tmp_path / "t.jsonl"):
        during = frames_of(op)
    assert frames_of(op) == before
    assert not any("count" in name or "observ" in name for name in before)
    added = [name for name in during if name not in before]
    assert added == ["_counted.<locals>.run_and_count"]
    assert len(during) == len(before) + 1


def test_off_means_the_kernel_itself():
    """While nobody listens, nothing but the alignment of the inputs stands before the kernel."""
    kernel, _ = noting()

    class BoundFwdOp(type(op_with(only=kernel))):
        def bind(self, kernels, *inputs):
            self.bound = super().bind(kernels, *inputs)
            return self.bound

    op = BoundFwdOp(8)
    for _ in range(4):
        op(X)
    assert inspect.getclosurevars(op._recent[1]).nonlocals["run"] is op.bound


def test_an_observer_that_counts_nothing_costs_nothing():
    """An observer that only wants to be told of decisions adds no frame."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    before = frames_of(op)
    end = subscribe(lambda _event: None)
    try:
        assert frames_of(op) == before
    finally:
        end()


def test_counting_costs_little():
    """Counting adds at most 0.3 microseconds to a call."""

    def run(x, weight, bias):
        return x

    counting = counted(run, (Cell(),))

    def seconds(function):
        # The best of many short runs: a busy machine only ever makes them longer.
        best = float("inf")
        for _ in range(60):
            begin = time.perf_counter()
            for _ in range(2000):
                function(X, None, None)
            best = min(best, time.perf_counter() - begin)
        return best / 2000

    seconds(counting)
    assert seconds(counting) - seconds(run) < 0.3e-6
