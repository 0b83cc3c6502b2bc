"""Copying and pickling an op: a new one with its parameters, its target and its mode."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
import torch
from blend_family import StirFwdOp
from noting import in_threads, noting, op_with

from tileops.ops._signature import workload_params
from tileops.ops.catalogue import in_tree_ops

COPIES = [
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
    pytest.param(lambda one: pickle.loads(pickle.dumps(one)), id="pickle"),
]


@pytest.mark.parametrize("make", COPIES)
@pytest.mark.parametrize("target", [None, "soft"])
def test_a_copy_is_an_op_of_its_own(make, target):
    """It computes the same, knows no plan and no kernel, and has a number of its own."""
    op, x = StirFwdOp(0.5, sums=True, target=target), torch.ones(2, 4)
    expected = [op(x) for _ in range(5)][-1]
    other = make(op)
    assert type(other) is StirFwdOp
    assert other.params == op.params
    assert other.identity.number != op.identity.number
    assert (other.kernel_config(), len(other._plans)) == ((), 0)
    for _ in range(5):
        torch.testing.assert_close(other(x), expected)
    assert other.serving_target == op.serving_target == (target or "builtin")


@pytest.mark.parametrize("make", COPIES)
@pytest.mark.parametrize("name", sorted(in_tree_ops()))
def test_every_op_can_be_copied(make, name):
    """With the parameters it was constructed with, and the target."""
    kind = in_tree_ops()[name]
    entry = kind.entry()
    op = kind(**workload_params(entry.signature, entry.workloads[0]), target="some")
    other = make(op)
    assert type(other) is kind
    assert other.params == op.params
    assert other.serving._argument == "some"


@pytest.mark.parametrize("make", COPIES)
def test_tuned_mode_is_copied(make):
    """What a tuned op's copy builds is tuned too."""
    op = StirFwdOp()
    assert not make(op)._entries.tuned
    op.request_tune()
    assert make(op)._entries.tuned


def test_a_copy_tunes_what_it_builds():
    """The kernels of the original are not touched."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    op.request_tune()
    op(torch.ones(2, 8))
    copy.copy(op)(torch.ones(2, 8))
    assert noted.tuned == [8, 8]


def test_a_list_that_changes_later():
    """A copy has the sizes that the op has, whatever became of the list they came in."""
    sizes = [4, 8]
    op = in_tree_ops()["LayerNormFwdOp"](sizes)
    sizes[0] = 5
    assert copy.deepcopy(op).normalized_shape == (4, 8)


class Fixed(StirFwdOp):
    """An op whose constructor takes something else than its parameters."""

    def __init__(self, label, *, half=False):
        super().__init__(0.5 if half else 1.0)
        self.label = label


@pytest.mark.parametrize("make", COPIES)
def test_a_constructor_of_its_own(make):
    """A copy is constructed by the arguments that the op was constructed with."""
    other = make(Fixed("one", half=True))
    assert (other.label, other.params["gain"]) == ("one", 0.5)


def test_a_model_that_holds_an_op():
    """Copying a model copies its ops, one that it holds twice once."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = self.second = StirFwdOp(0.5)
            self.weight = torch.nn.Parameter(torch.ones(4), requires_grad=False)

        def forward(self, x):
            return self.second(self.first(x, self.weight), self.weight)

    model, x = Model(), torch.ones(2, 4)
    expected = model(x)
    other = copy.deepcopy(model)
    torch.testing.assert_close(other(x), expected)
    assert other.first is other.second
    assert other.first is not model.first


def test_copying_amid_calls():
    """Threads call an op and copy it."""
    op, x = StirFwdOp(0.5), torch.ones(2, 4)
    expected = op(x)

    def act():
        for _ in range(50):
            torch.testing.assert_close(op(x), expected)
            torch.testing.assert_close(copy.deepcopy(op)(x), expected)

    _, errors = in_threads(8, act)
    assert errors == []


def test_a_copy_does_not_keep_the_original():
    """Nor what the original has built."""
    op = StirFwdOp()
    op(torch.ones(2, 4))
    gone = weakref.ref(op)
    other = copy.copy(op)
    gc.collect()
    gc.disable()
    try:
        del op
        assert gone() is None
    finally:
        gc.enable()
    assert other(torch.ones(2, 4)).shape == (2, 4)
