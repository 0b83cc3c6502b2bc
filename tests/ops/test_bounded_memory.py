"""What an op remembers of its calls is bounded, and goes when the op goes."""

import gc
import threading
import weakref
from pathlib import Path

import pytest
import torch
from blend_family import StirFwdOp
from noting import noting, op_with, spec

from ops.planted import PLANTED, copies, listed
from tileops.backend import Registry
from tileops.ops import _entries, _plans, _serving
from tileops.ops._bounded import Bounded
from tileops.ops._build_once import BuildOnce
from tileops.ops._observers import subscribe
from tileops.ops.norm.layer_norm import LayerNormFwdOp

SHAPES = 10_000


def test_the_last_used_are_kept():
    """The size values stored or found last are there; never more than twice as many are."""
    cache = Bounded(10)
    for key in range(1000):
        cache[key] = str(key)
        assert cache.get(0) == "0"
        for recent in range(max(0, key - 8), key + 1):
            assert cache.get(recent) == str(recent)
        assert len(cache) <= 20
    assert cache.get(500) is None
    assert sorted(cache)[0] == 0


def test_a_value_can_be_replaced():
    """Storing again is no new value."""
    cache = Bounded(2)
    for value in range(9):
        cache["key"] = value
        cache["other"] = value
    assert (cache.get("key"), len(cache)) == (8, 2)


def test_threads_fill_a_cache_within_its_bound():
    """What a thread has just stored is found, and the bound holds."""
    cache, wrong = Bounded(64), []

    def act(first):
        for key in range(first, first + 3000):
            cache[key] = key
            if cache.get(key) not in (key, None) or len(cache) > 128 + 8:
                wrong.append(key)

    threads = [threading.Thread(target=act, args=(10**6 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_build_once_forgets_the_first_used():
    """Asking for a value makes it the last used one; a forgotten one is built again."""
    builds = []
    values = BuildOnce(limit=3)

    def ask(key):
        return values.get(key, None, lambda: builds.append(key) or key)

    for key in "abcabd":
        ask(key)
    assert [key for key, _ in values.items()] == ["a", "b", "d"]
    ask("a")
    ask("c")
    assert builds == ["a", "b", "c", "d", "c"]
    assert [key for key, _ in values.items()] == ["d", "a", "c"]


def test_ten_thousand_shapes_in_tree():
    """Every shape is another plan of one kernel, and the last used plans are kept."""
    kernel_type, noted = noting()
    kernel_type.forward = lambda self, x, weight, bias: (
        noted.launched.append(0) or torch.empty_like(x)
    )
    op = op_with(a=kernel_type)
    first = torch.zeros(1, 8)
    for rows in range(1, SHAPES):
        op(torch.empty(rows, 8))
        if rows % 500 == 0:
            op(first)
    assert noted.built == [8]
    assert len(op._plans) <= 2 * _plans.PLANS
    asked = len(noted.launched)
    requests, op.requests = op.requests, None
    for rows in range(SHAPES - 100, SHAPES):
        op(torch.empty(rows, 8))
    op(first)
    op.requests = requests
    assert len(noted.launched) == asked + 101


def test_ten_thousand_calls_of_one_kernel():
    """Call specs that share a build are remembered up to a bound, and found again beyond it."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    for count in range(1, SHAPES):
        op.kernel_for("layer_norm", spec(eps=count / SHAPES))
    assert noted.built == [8]
    assert len(op._entries._by_call) <= 2 * _entries.CALLS
    entered = len(noted.entered)
    op.kernel_for("layer_norm", spec(eps=(SHAPES - 1) / SHAPES))
    assert len(noted.entered) == entered
    op.kernel_for("layer_norm", spec(eps=1 / SHAPES))
    assert len(noted.entered) == entered + 1


def found(op):
    """How often each plan was found by its fingerprint."""
    plans = op._plans._by_key
    return [plans.get(key).found for key in plans]


def test_kinds_that_take_turns_are_recognised():
    """However many there are, none of them collects its facts once it has been repeated."""
    op, scale = StirFwdOp(), torch.ones(4)
    calls = [
        (torch.ones(rows, 4), *rest) for rows in range(1, 41) for rest in ((), (scale,), (None,))
    ]
    for _ in range(4):
        results = [op(*one) for one in calls]
    before = found(op)
    for _ in range(3):
        for one, expected in zip(calls, results, strict=True):
            torch.testing.assert_close(op(*one), expected)
    assert found(op) == before
    assert all(count <= 2 for count in before)


def test_a_tensor_passed_twice_is_found_and_not_recognised():
    """torch's guards hold no such call, so none is made for it again and again."""
    op, both = op_with(a=noting()[0]), torch.ones(8)
    x = torch.ones(2, 8)
    for _ in range(6):
        op(x, both, both)
    plans = op._plans._by_key
    (plan,) = [plans.get(key) for key in plans]
    assert (plan.recognise, plan.found) == (None, 5)
    other = torch.zeros(8)
    for _ in range(3):
        op(x, both, other)
    kept = plan.recognise
    assert kept is not None
    torch.testing.assert_close(op(x, both, both), op(x, both, both.clone()))
    assert plan.recognise is kept


def test_recognised_kinds_are_bounded():
    """A run over many repeated shapes keeps those used last."""
    op = StirFwdOp()
    for rows in range(1, 5 * _plans.SHAPES):
        x = torch.ones(rows, 4)
        for _ in range(3):
            op(x)
    assert len(op._plans._by_shape) <= 2 * _plans.SHAPES


class TargetFwdOp(LayerNormFwdOp):
    registry = Registry(known_ops=lambda: {"TargetFwdOp"}, entry_points=tuple)


built, alive = [], weakref.WeakSet()


class TargetKernel:
    def __init__(self, rows):
        self.rows, self.tuned = rows, False
        alive.add(self)

    def __call__(self, input, weight, bias):
        assert input.shape[0] == self.rows
        return torch.empty_like(input)

    def request_tune(self):
        self.tuned = True


def build(input, weight, bias, **params):
    built.append(input.shape[0])
    return TargetKernel(input.shape[0])


TargetFwdOp.registry.register_kernel_builder("TargetFwdOp", "target", build)


@pytest.fixture
def target():
    built.clear()
    return TargetFwdOp(8, target="target")


def test_ten_thousand_shapes_under_a_target(target):
    """A target builds one kernel per shape; those used last are kept, others built again."""
    for rows in range(1, SHAPES):
        target(torch.empty(rows, 8))
    assert len(built) == SHAPES - 1
    assert len(target.kernel_config()) == _serving.KERNELS
    # A plan holds its kernel too.
    assert len(alive) <= 2 * _plans.PLANS + _serving.KERNELS
    target.forget_plans()
    target(torch.empty(SHAPES - 1, 8))
    assert len(built) == SHAPES - 1
    target(torch.empty(1, 8))
    assert len(built) == SHAPES


def test_a_kernel_that_only_a_plan_holds_is_tuned_too(target):
    """Tuning reaches what a target has built and an op no longer keeps: it is built again."""
    for rows in range(1, _serving.KERNELS + 10):
        target(torch.empty(rows, 8))
    target.request_tune()
    gc.collect()
    target(torch.empty(1, 8))
    assert built[-1] == 1
    assert all(kernel.tuned for kernel in alive)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def calls_of_every_kind(op):
    with torch.no_grad():
        for x in (torch.ones(2, 4), torch.ones(3, 4), torch.ones(4, 2).t(), torch.ones(2, 10)):
            for _ in range(5):
                op(x)
                op(x, torch.nn.Parameter(torch.ones(x.shape[-1])))
                op(x, seen=torch.zeros(x.shape[-1]), out=torch.empty(x.shape), chunk=2)
        op(torch.ones(0, 4))


@pytest.mark.parametrize("target", [None, "soft"])
@pytest.mark.parametrize("watched", [False, True])
def test_a_dropped_op_goes_at_once(no_collector, target, watched):
    """No cycle holds an op or its kernels, whatever it was called with, watched or not."""
    end = subscribe(lambda specialisation: None) if watched else lambda: None
    op = StirFwdOp(target=target)
    calls_of_every_kind(op)
    kernels = [weakref.ref(built.kernel) for built in op.iter_kernels()]
    gone = weakref.ref(op)
    del op
    assert gone() is None
    assert [kernel() for kernel in kernels] == [None] * len(kernels)
    assert target or kernels
    end()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
def test_every_op_of_the_library_goes_at_once(no_collector, planted):
    """With its kernels, after calls of several sizes, with and without gradients."""
    op = planted.op()
    for rows in (3, 7):
        tensors = planted.tensors(**dict.fromkeys(planted.sizes, rows))
        for place in planted.grad:
            tensors[place].requires_grad_()
        for mode in (torch.no_grad, torch.enable_grad, torch.inference_mode):
            for _ in range(4):
                with mode():
                    results = listed(op(*copies(planted, tensors)))
        del results
    kernels = [weakref.ref(built.kernel) for built in op.iter_kernels()]
    gone = weakref.ref(op)
    del op, tensors
    assert gone() is None
    assert kernels
    assert [kernel() for kernel in kernels] == [None] * len(kernels)


def test_a_dropped_op_goes_after_errors(no_collector):
    """An error that was handled holds nothing either."""
    op = StirFwdOp()
    for bad in (torch.ones(2, 5), torch.ones(2, 13), torch.ones(2, 4, requires_grad=True), 3):
        for _ in range(3):
            with pytest.raises(Exception):  # noqa: B017
                op(bad)
    gone = weakref.ref(op)
    del op
    assert gone() is None


def test_the_page_states_the_bounds():
    """The table of what is kept has the numbers of the code."""
    page = Path(__file__).parents[2].joinpath("docs", "performance.md").read_text("utf-8")
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ")]
    stated = {what.strip(): bound for what, bound in rows}
    assert f"{_plans.PLANS:,} used last" in stated["plans"]
    recognised = f"{_plans.KINDS} for each of the {_plans.SHAPES} shapes"
    assert recognised in stated["kinds that are recognised"]
    assert f"{_plans.FORMS:,} used last" in stated["forms, for the second way"]
    assert f"{_entries.CALLS:,} used last" in stated["kernels by call spec"]
    assert f"{_serving.KERNELS:,} used last" in stated["a target's kernels"]
