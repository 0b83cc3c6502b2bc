"""Whatever calls of an op of the library come before it, a call does what it does on a fresh op."""

from __future__ import annotations

import random

import pytest
import torch
from noting import in_threads

from ops.planted import PLANTED, listed
from tileops.errors import TileopsError

EVERY_OP = pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
MODES = [torch.enable_grad, torch.no_grad, torch.no_grad, torch.inference_mode]


def laid_out(rng, values):
    """The same values in some layout, at some address, maybe as a parameter."""
    kind = rng.choice(["dense"] * 6 + ["offset", "strided", "transposed", "negative", "expanded"])
    if kind == "offset":
        values = torch.cat([values.flatten()[:1], values.flatten()])[1:].view(values.shape)
    elif kind == "strided":
        values = torch.stack([values] * 2, -1)[..., 0]
    elif kind == "transposed":
        values = values.transpose(0, -1).contiguous().transpose(0, -1)
    elif kind == "negative" and values.dtype != torch.float8_e4m3fn:
        values = torch._neg_view(-values)
    elif kind == "expanded" and values.dim() > 1:
        values = values[:1].expand(values.shape)
    if rng.random() < 0.15 and values.dtype != torch.float8_e4m3fn:
        return torch.nn.Parameter(values, requires_grad=rng.random() < 0.5)
    return values


def spoilt(rng, one):
    """Something else in the place of an input."""
    if one is None or one.dim() == 0:
        return 1.0
    kind = rng.choice(["number", "dtype", "rank", "narrower", "absent"])
    if kind == "number":
        return 2.0
    if kind == "dtype":
        return one.double()
    if kind == "rank":
        return one[None]
    return None if kind == "absent" else one[..., :-1]


def next_call(rng, planted):
    """The inputs of a call, and the mode to make it in."""
    choices = [0, 1, 2, 3] if planted.name.split("-")[0] != "GLAFwdOp" else [0, 1, 2]
    sizes = {name: rng.choice(choices) for name in planted.sizes}
    if rng.random() < 0.8:
        sizes = {name: size + 2 for name, size in sizes.items()}
    inputs = []
    dtype = rng.choice([planted.dtype, planted.dtype, *planted.others])
    for place, one in enumerate(planted.tensors(dtype, **sizes)):
        if one is None or (place in planted.optional and rng.random() < 0.4):
            inputs.append(None)
        else:
            inputs.append(one if place in planted.written else laid_out(rng, one))
    if rng.random() < 0.08:
        place = rng.randrange(len(inputs))
        inputs[place] = spoilt(rng, inputs[place])
    return inputs, rng.choice(MODES)


def changed(rng, inputs):
    """Change a tensor, keeping the object."""
    one = rng.choice([one for one in inputs if isinstance(one, torch.Tensor)])
    how = rng.choice(["values", "grad", "data", "transpose"])
    with torch.no_grad():
        try:
            if how == "values":
                one.mul_(0.5)
            elif how == "grad":
                one.requires_grad_(not one.requires_grad)
            elif how == "data":
                one.data = one.data.clone()[..., : max(1, one.shape[-1] - rng.randrange(2))]
            else:
                one.transpose_(0, -1)
        except (RuntimeError, IndexError):
            # Some tensors cannot be changed so.
            return


def outcome(planted, op, inputs, mode):
    """What a call returns, writes, gives gradients of, or raises, as values that compare."""
    inputs = [
        one.detach().clone() if place in planted.written and isinstance(one, torch.Tensor) else one
        for place, one in enumerate(inputs)
    ]
    try:
        with mode():
            results = listed(op(*inputs))
    except TileopsError as error:
        return type(error), str(error)
    written = [inputs[place] for place in planted.written]
    described = [
        (one.shape, one.stride(), one.dtype, one.requires_grad, one.is_inference(), values(one))
        for one in (*results, *[one for one in written if one is not None])
    ]
    leaves = [one for one in inputs if isinstance(one, torch.Tensor) and one.requires_grad]
    if not (leaves and any(one.requires_grad for one in results)):
        return described
    total = sum(one.double().sum() * 2 for one in results if one.requires_grad)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return described, [None if one is None else values(one) for one in gradients]


def values(tensor):
    """The bits of a tensor, so that a NaN is like itself."""
    flat = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
    return flat.view(-1).view(torch.uint8).tolist()


def run(rng, planted, op, count):
    """Make random calls on *op*, several times each in turn, each on a fresh op too."""
    made = []
    for _ in range(count):
        if not made or rng.random() < 0.25:
            made = [*made[-3:], next_call(rng, planted)]
        inputs, mode = rng.choice(made)
        if rng.random() < 0.05:
            changed(rng, inputs)
        if rng.random() < 0.1:
            mode = rng.choice(MODES)
        expected = outcome(planted, planted.op(), inputs, mode)
        assert outcome(planted, op, inputs, mode) == expected


@EVERY_OP
@pytest.mark.parametrize("seed", range(2))
def test_a_call_does_what_it_does_on_a_fresh_op(planted, seed):
    """Results, gradients, what is written, and errors, over random calls and changed tensors."""
    torch.manual_seed(seed)
    run(random.Random(seed), planted, planted.op(), 120)


@EVERY_OP
def test_threads_get_what_one_gets(planted):
    """Eight threads make random calls on one op."""
    op, seeds = planted.op(), iter(range(8))

    def act():
        # Tensors belong to a thread; the op is everybody's.
        run(random.Random(next(seeds)), planted, op, 12)

    done, errors = in_threads(8, act)
    assert errors == []
    assert len(done) == 8
