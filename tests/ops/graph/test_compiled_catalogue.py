"""torch.compile of every op of the library: one node, its fakes, its effects, any sizes."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from ops.graph.compiling import calling, check, compiled, targets
from ops.planted import PLANTED, builder, copies, listed
from tileops.backend import BUILTIN, Registry
from tileops.errors import SignatureError
from tileops.ops.catalogue import in_tree_ops

EVERY_OP = pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)


def sizes_of(planted, step=0):
    """Sizes that differ between names and steps."""
    return {name: 3 + 2 * step + place for place, name in enumerate(planted.sizes)}


def node_of(counter):
    """The overload that the last graph calls, and no other of the library."""
    (name,) = [one for one in targets(counter) if one.startswith("tileops.")]
    return getattr(torch.ops.tileops, name.split(".")[1]).default


def test_every_op_is_planted():
    """No op that holds kernels is passed over."""
    known = {name for name, kind in in_tree_ops().items() if kind.kernel_types}
    assert {one.name.split("-")[0] for one in PLANTED} == known


@EVERY_OP
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_node_and_the_eager_results(planted, backend):
    """A call is one node, gives bit by bit what the eager call gives, and writes what it writes."""
    op, tensors = planted.op(), planted.tensors(**sizes_of(planted))
    function, counter = compiled(calling(op), backend)
    first, second = copies(planted, tensors), copies(planted, tensors)
    check(function(*first), op(*second))
    check(first, second)
    assert counter.frame_count == 1
    schema = node_of(counter)._schema
    names = [decl.name for decl in op.checks.signature.inputs]
    written = {names[place] for place in planted.written}
    assert {one.name for one in schema.arguments if one.is_write} == written


@EVERY_OP
def test_any_sizes_compile_once(planted):
    """Every size that a kernel takes as an argument varies without another graph."""
    op = planted.op()
    function, counter = compiled(calling(op), "aot_eager")
    for step in range(4):
        tensors = planted.tensors(**sizes_of(planted, step))
        first, second = copies(planted, tensors), copies(planted, tensors)
        planted.dynamic(first)
        check(function(*first), op(*second))
        check(first, second)
    assert counter.frame_count == 1


@EVERY_OP
def test_absent_inputs(planted):
    """Every set of inputs that may be left out is a graph with the eager results."""
    op, tensors = planted.op(), planted.tensors(**sizes_of(planted))
    for count in range(1, len(planted.optional) + 1):
        for left_out in itertools.combinations(planted.optional, count):
            given = [None if place in left_out else one for place, one in enumerate(tensors)]
            function, counter = compiled(calling(op))
            first, second = copies(planted, given), copies(planted, given)
            check(function(*first), op(*second))
            assert counter.frame_count == 1


def strided(one):
    """The same values with others between them; running statistics must be dense."""
    return one if one is None or one.dim() == 1 else torch.stack([one, one], -1)[..., 0]


@EVERY_OP
@pytest.mark.parametrize("layout", [lambda one: one, strided], ids=["dense", "strided"])
def test_fakes_are_like_results(planted, layout):
    """Shape, strides, dtype and device are those of the eager call; nothing real is written."""
    op, some = planted.op(), sizes_of(planted)
    for name in (None, *planted.sizes):
        tensors = [
            one if place in planted.written else layout(one)
            for place, one in enumerate(planted.tensors(**{**some, **({name: 0} if name else {})}))
        ]
        try:
            expected = [listed(op(*copies(planted, tensors))) for _ in range(4)][-1]
        except SignatureError:
            assert name is not None
            continue
        before = [None if one is None else one.clone() for one in tensors]
        with FakeTensorMode() as mode:
            fakes = listed(op(*[None if one is None else mode.from_tensor(one) for one in tensors]))
        for fake, real in zip(fakes, expected, strict=True):
            assert type(fake) is FakeTensor
            assert (fake.shape, fake.dtype, fake.device) == (real.shape, real.dtype, real.device)
            # torch asserts nothing of the strides of an empty tensor.
            assert fake.stride() == real.stride() or not real.numel()
        check(tensors, before)


@EVERY_OP
def test_under_a_target(planted):
    """The compiled call runs on the target, of any sizes by one graph, and no eager call before."""
    name = f"Aimed{planted.kind.__name__}"
    registry = Registry(known_ops=lambda: {name}, entry_points=tuple)
    built = []

    def build(*specs, **params):
        built.append(specs)
        return builder(planted.kind)(*specs, **params)

    registry.register_kernel_builder(name, "elsewhere", build)
    op = type(name, (planted.kind,), {"registry": registry})(**planted.params, target="elsewhere")
    function, counter = compiled(calling(op), "aot_eager")
    plain = planted.op(target=BUILTIN)
    for step in range(3):
        tensors = planted.tensors(**sizes_of(planted, step))
        first, second = copies(planted, tensors), copies(planted, tensors)
        planted.dynamic(first)
        check(function(*first), plain(*second))
        check(first, second)
    assert counter.frame_count == 1
    assert op.serving_target == "elsewhere"
    assert len(built) == 3
    node_of(counter)


@EVERY_OP
def test_gradients_arrive_or_are_refused(planted):
    """Every floating input that requires one gets a gradient like the eager call's, or is named."""
    op = planted.op()
    names = [decl.name for decl in op.checks.signature.inputs]
    tensors = planted.tensors(**sizes_of(planted))
    for place, one in enumerate(tensors):
        if one is None or place in planted.written or one.dtype == torch.float8_e4m3fn:
            continue
        found = []
        for function in (op, compiled(calling(op), "aot_eager")[0]):
            inputs = copies(planted, tensors)
            inputs[place] = inputs[place].clone().requires_grad_()
            if place in planted.grad:
                result, *others = listed(function(*inputs))
                assert not any(other.requires_grad for other in others)
                (result * torch.linspace(0, 1, result.shape[-1])).sum().backward()
                found.append(inputs[place].grad)
                continue
            with pytest.raises(Exception, match=f"{names[place]} requires a gradient"):
                function(*inputs)
            with torch.no_grad():
                assert not any(other.requires_grad for other in listed(function(*inputs)))
        check(found, found[::-1])
        assert all(gradient is not None for gradient in found)
