"""Whatever calls come before it, a call does what it does on a fresh op."""

from __future__ import annotations

import inspect
import random
import threading

import pytest
import torch
from blend_family import StirFwdOp, TrainedStirFwdOp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from noting import in_threads
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from tileops.errors import ForwardOnlyError, TileopsError
from tileops.ops.catalogue import in_tree_ops

WIDTHS = [*[4] * 6, *[10] * 6, 9, 1, 3, 5, 13]


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Calls:
    """Random calls over tensors that are used again, and changed between calls."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kept: list[torch.Tensor] = []

    def tensor(self, shape, dtype=torch.float32):
        """A tensor of this shape in some layout, of some type."""
        rng = self.rng
        count = torch.Size(shape).numel()
        flat = torch.arange(count + 3, dtype=dtype) + 1
        kind = rng.choice(
            ["dense"] * 9 + ["offset", "strided", "expanded", "negative", "transposed", "odd"]
        )
        if kind == "offset":
            one = flat[1 : count + 1].view(shape)
        elif kind == "strided":
            one = torch.stack([flat[:count].view(shape)] * 2, -1)[..., 0]
        elif kind == "expanded":
            one = flat[:1].expand(shape)
        elif kind == "negative":
            one = torch._neg_view(flat[:count].view(shape))
        elif kind == "odd":
            # A dim of one element may have any stride, and is dense all the same.
            dense = flat[:count].view(shape)
            pairs = zip(shape, dense.stride(), strict=True)
            one = dense.as_strided(shape, [9 if size == 1 else step for size, step in pairs])
        elif kind == "transposed" and len(shape) == 2:
            one = flat[:count].view(shape[::-1]).t()
        else:
            one = flat[:count].view(shape).clone()
        kind = rng.choice(["tensor"] * 8 + ["parameter", "buffer", "grad", "plain"])
        if kind == "parameter":
            return torch.nn.Parameter(one, requires_grad=rng.random() < 0.7)
        if kind == "buffer":
            return torch.nn.Buffer(one)
        if kind == "plain":
            return one.as_subclass(Plain)
        return one.requires_grad_() if kind == "grad" and one.is_leaf else one

    def pick(self, shape, dtype):
        """A tensor used before, or a new one."""
        fitting = [
            one
            for one in self.kept
            if one.shape[-1:] == shape[-1:] and one.dim() == len(shape) and one.dtype == dtype
        ]
        if fitting and self.rng.random() < 0.5:
            return self.rng.choice(fitting)
        one = self.tensor(shape, dtype)
        self.kept = [*self.kept[-20:], one]
        return one

    def change(self):
        """Change a tensor that was used, keeping the object."""
        if not self.kept:
            return
        one, rng = self.rng.choice(self.kept), self.rng
        other = self.tensor((rng.choice([1, 2, 3]), rng.choice(WIDTHS))).detach()
        how = rng.choice(["set", "data", "resize", "grad", "transpose"])
        with torch.no_grad():
            try:
                if how == "set":
                    one.set_(other.clone())
                elif how == "data":
                    one.data = other if rng.random() < 0.7 else other.double()
                elif how == "resize":
                    one.resize_(other.shape)
                elif how == "grad":
                    one.requires_grad_(not one.requires_grad)
                else:
                    one.t_()
            except RuntimeError:
                # Some tensors cannot be changed so.
                return
            if how == "resize":
                one.fill_(2.0)

    def next(self):
        """The arguments of a call: inputs, keywords."""
        rng = self.rng
        n, dtype = rng.choice(WIDTHS), rng.choice([torch.float32] * 4 + [torch.float64])
        lead = rng.choice([(1,), (1,), (2,), (2,), (3,), (4,), (7,), (), (2, 2), (3, 2), (0,)])
        x = self.pick((*lead, n), dtype)
        scale = None if rng.random() < 0.3 else self.pick((n,), dtype)
        seen = torch.zeros(n) if rng.random() < 0.2 else None
        inputs = [x, scale, seen]
        if rng.random() < 0.07:
            place = rng.randrange(3)
            inputs[place] = rng.choice(
                [None, 3.0, [1.0], self.pick((n,), torch.float16), self.fake(x)]
            )
        keywords = {}
        if rng.random() < 0.2:
            shape = x.shape if rng.random() < 0.8 else (n,)
            keywords["out"] = torch.zeros(shape, dtype=dtype)
        if rng.random() < 0.15:
            keywords["chunk"] = rng.choice([1, 1, 2, True, 1.0])
        if rng.random() < 0.1:
            keywords["mode"] = rng.choice(["fast", "fast", "exact", "slow"])
        if rng.random() < 0.03:
            keywords["no_such"] = 1
        return inputs, keywords

    def varied(self, x, scale, seen, keywords):
        """A call that differs in one thing: the rows, what is present, the type of a keyword."""
        what = self.rng.choice(["rows", "rows", "scale", "seen", "chunk"])
        if not isinstance(x, torch.Tensor) or isinstance(x, FakeTensor) or not x.dim():
            return [x, scale, seen], keywords
        if what == "rows":
            x = torch.ones(self.rng.randrange(1, 40), *x.shape[1:], dtype=x.dtype)
        elif what == "scale":
            scale = torch.ones(x.shape[-1], dtype=x.dtype) if scale is None else None
        elif what == "seen":
            seen = torch.zeros(x.shape[-1]) if seen is None else None
        elif "chunk" in keywords:
            keywords["chunk"] = self.rng.choice([1, 2, True, 1.0])
        return [x, scale, seen], keywords

    def fake(self, x):
        return FakeTensorMode().from_tensor(x.detach().as_subclass(torch.Tensor))

    def mode(self):
        return self.rng.choice(
            [torch.enable_grad, torch.no_grad, torch.no_grad, torch.inference_mode]
        )


def outcome(op, inputs, keywords, mode):
    """What a call returns, writes or raises, as values that can be compared."""
    written = [one for one in (inputs[2], keywords.get("out")) if isinstance(one, torch.Tensor)]
    if any(one.is_inference() for one in written):
        return None
    with torch.no_grad():
        for one in written:
            if type(one) is torch.Tensor:
                one.zero_()
    try:
        with mode():
            results = op(*inputs, **keywords)
    except TileopsError as error:
        return type(error), str(error)
    except Exception as error:
        # torch's own words may name the op instance.
        return type(error), None
    several = isinstance(results, tuple)
    described = [(several, None if keywords.get("out") is None else results is keywords["out"])]
    for one in (*(results if several else (results,)), *written):
        values = None if isinstance(one, FakeTensor) else one.tolist()
        described.append((type(one), one.shape, one.stride(), one.dtype, one.requires_grad, values))
    return [*described, gradients(results if several else (results,), inputs)]


def gradients(results, inputs):
    """What comes back for every input that requires a gradient."""
    recorded = [one for one in results if one.requires_grad and not isinstance(one, FakeTensor)]
    wanted = [
        one
        for one in inputs
        if isinstance(one, torch.Tensor) and one.requires_grad and not isinstance(one, FakeTensor)
    ]
    if not recorded or not wanted:
        return None
    total = sum((one.double() * (place + 2)).sum() for place, one in enumerate(recorded))
    found = torch.autograd.grad(total, wanted, allow_unused=True, retain_graph=True)
    return [None if one is None else one.tolist() for one in found]


def steps(rng, count):
    """Random calls, each made several times in turn with the others, on tensors that change."""
    calls, made = Calls(rng), []
    for _ in range(count):
        if rng.random() < 0.08:
            calls.change()
        if not made or rng.random() < 0.12:
            made = [*made[-3:], (*calls.next(), calls.mode())]
        inputs, keywords, mode = rng.choice(made)
        if rng.random() < 0.4:
            inputs, keywords = calls.varied(*inputs, dict(keywords))
        yield inputs, keywords, mode if rng.random() < 0.9 else calls.mode()


def run(rng, op, fresh, count):
    """Make random calls on *op*, each on a fresh op too."""
    for inputs, keywords, mode in steps(rng, count):
        expected = outcome(fresh(), inputs, keywords, mode)
        assert outcome(op, inputs, keywords, mode) == expected


OPS = [
    pytest.param(StirFwdOp, None, id="in-tree"),
    pytest.param(StirFwdOp, "soft", id="target"),
    pytest.param(TrainedStirFwdOp, None, id="in-tree-with-a-backward"),
]


@pytest.mark.parametrize(("kind", "target"), OPS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(rng=st.randoms(use_true_random=True), sums=st.booleans())
def test_a_call_does_what_it_does_on_a_fresh_op(kind, target, rng, sums):
    """Results, gradients, what is written, and errors, over random calls and changes of tensors."""

    def fresh():
        return kind(0.5, sums, target=target)

    run(rng, fresh(), fresh, 40)


def warmed(op, *inputs):
    """An op that recognises calls with these inputs."""
    for _ in range(5):
        op(*inputs)
    return op


X = torch.ones(2, 4)


def test_a_recognised_call_is_still_traced():
    """A tracer's mode is on without a trace of it on the tensors."""
    with torch.no_grad():
        graph = make_fx(warmed(StirFwdOp(), X), tracing_mode="real")(X)
    assert "tileops.StirFwdOp" in graph.code


def test_a_recognised_call_drops_no_tangent():
    """A level of forward-mode differentiation is not seen on a tensor either."""
    op = warmed(StirFwdOp(), X)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, torch.ones_like(X))
        with pytest.raises((TileopsError, NotImplementedError)):
            op(dual)


def test_a_recognised_call_asks_for_gradients_anew():
    """A parameter is fine where no gradient is wanted, again and again, and not where one is."""
    op, weight = StirFwdOp(), torch.nn.Parameter(torch.ones(4))
    with torch.no_grad():
        warmed(op, X, weight)
    with pytest.raises(ForwardOnlyError):
        op(X, weight)


def test_threads_get_what_one_gets():
    """Eight threads make random calls on one op."""
    op = StirFwdOp(0.5, True)
    seeds = iter(range(8))

    def act():
        # Tensors belong to a thread; the op is everybody's.
        run(random.Random(next(seeds)), op, lambda: StirFwdOp(0.5, True), 60)

    done, errors = in_threads(8, act)
    assert errors == []
    assert len(done) == 8


def test_forgetting_amid_calls():
    """Threads call while another one lets the op forget its plans, and tunes it."""
    op, over = StirFwdOp(0.5), threading.Event()

    def forget():
        while not over.wait(0.001):
            op.forget_plans()
            op.request_tune()

    thread = threading.Thread(target=forget)
    thread.start()
    try:
        run(random.Random(3), op, lambda: StirFwdOp(0.5), 150)
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("name", sorted(in_tree_ops()))
def test_every_op_asks_what_the_guards_overlook(name):
    """An op that runs a recognised call at once asks for modes and levels in the same condition."""
    source = " ".join(inspect.getsource(in_tree_ops()[name].__call__).split())
    assert source.count("recognise(") == source.count(ASKED)


ASKED = "and not modes() and forward_ad._current_level < 0"
