"""Which calls of the ops that normalize channels there are: facts and tensors agree."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from tileops import BatchNormBwdOp, BatchNormFwdOp, InstanceNormFwdOp
from tileops.call_spec import facts_declared
from tileops.errors import ImpossibleCallError, SignatureError
from tileops.kernels.norm.call_spec import BatchNormCall, LayerNormCall
from tileops.kernels.norm.channel_calls import BatchNormTrainCall
from tileops.tensor_spec import TensorSpec

TRAIN, INFER = BatchNormFwdOp(True), BatchNormFwdOp()
BACKWARD = BatchNormBwdOp()
INSTANCE, INSTANCE_INFER = InstanceNormFwdOp(), InstanceNormFwdOp(False)

MOST = 2**31 - 2**12
"""The most elements of a channel."""


def described(shape, dtype=torch.float16):
    """Describe a tensor on a GPU."""
    return TensorSpec(shape, dtype, "cuda")


def tensors(op, n, c, spatial, running):
    """Describe the inputs of a call with these facts."""
    x, statistics = described((n, c, spatial)), described((c,), torch.float32)
    if op is BACKWARD:
        return (x, x, statistics, statistics)
    return (x, statistics, statistics) if running else (x,)


CASES = [
    pytest.param(TRAIN, "batch_norm_fwd_train", (1, 8, 2, True), (1, 8, 1, True),
        "n * spatial must be more than 1 in training, got 1", id="train-one-element"),
    pytest.param(TRAIN, "batch_norm_fwd_train", (2, 8, 1, False), (1, 8, 1, False),
        "n * spatial must be more than 1 in training, got 1", id="train-one-without-statistics"),
    pytest.param(TRAIN, "batch_norm_fwd_train", (2**10, 1, 2**21 - 2**2, True),
        (2**10, 1, 2**21 - 2**2 + 1, True), f"n * spatial must be at most {MOST}, got",
        id="train-long-channel"),
    pytest.param(TRAIN, "batch_norm_fwd_train", (1, 2**13 - 1, 2**20, True),
        (1, 2**13, 2**20, True), "c * spatial must be less than 2**33, got 8589934592",
        id="train-large-sample"),
    pytest.param(INFER, "batch_norm_fwd_infer", (1, 8, 1, True), (1, 8, 1, False),
        "has_running_stats must be true in inference", id="infer-without-statistics"),
    pytest.param(INFER, "batch_norm_fwd_infer", (1, 2**13 - 1, 2**20, True),
        (1, 2**13, 2**20, True), "c * spatial must be less than 2**33", id="infer-large-sample"),
    pytest.param(BACKWARD, "batch_norm_bwd", (1, 1, MOST, True), (1, 1, MOST + 1, True),
        f"n * spatial must be at most {MOST}, got {MOST + 1}", id="backward-long-channel"),
    pytest.param(BACKWARD, "batch_norm_bwd", (1, 2**13 - 1, 2**20, True),
        (1, 2**13, 2**20, True), "c * spatial must be less than 2**33", id="backward-large-sample"),
    pytest.param(INSTANCE, "instance_norm", (8, 3, 2, False), (8, 3, 1, False),
        "spatial must be more than 1 where statistics are taken, got 1", id="instance-one-element"),
    pytest.param(INSTANCE, "instance_norm", (2**10, 2**21 - 1, 2, False),
        (2**10, 2**21, 2, False), "n * c must be less than 2**31, got 2147483648",
        id="instance-many-planes"),
    pytest.param(INSTANCE, "instance_norm_train", (8, 3, 2, True), (8, 3, 1, True),
        "spatial must be more than 1 where statistics are taken, got 1",
        id="instance-train-one-element"),
    pytest.param(INSTANCE_INFER, "instance_norm_infer", (8, 3, 1, True), (8, 3, 1, False),
        "has_running_stats must be true in inference", id="instance-infer-without-statistics"),
    pytest.param(INSTANCE_INFER, "instance_norm_infer", (2**10, 2**21 - 1, 1, True),
        (2**10, 2**21, 1, True), "n * c must be less than 2**31", id="instance-infer-many-planes"),
]  # fmt: skip


def spec(op, interface, n, c, spatial, running):
    """Return the call spec that states these facts."""
    request = op.interfaces[interface].request
    return request(arch=90, n=n, c=c, spatial=spatial, has_running_stats=running)


@pytest.mark.parametrize(("op", "interface", "possible", "impossible", "message"), CASES)
@pytest.mark.parametrize("ask", ["explain", "key_for"])
def test_facts(op, interface, possible, impossible, message, ask):
    """A kernel is selected for the last possible call, and nothing said of the next one."""
    assert getattr(op, ask)(interface, spec(op, interface, *possible))
    with pytest.raises(ImpossibleCallError) as caught:
        getattr(op, ask)(interface, spec(op, interface, *impossible))
    assert message in str(caught.value)


@pytest.mark.parametrize(("op", "interface", "possible", "impossible", "message"), CASES)
def test_tensors(op, interface, possible, impossible, message):
    """The same call as tensors is accepted and refused alike."""
    (selection,) = op.explain_call(*tensors(op, *possible), arch=90)
    assert selection.table.interface == interface
    assert selection.winner()
    with pytest.raises(SignatureError):
        op.explain_call(*tensors(op, *impossible), arch=90)


def test_statistics_that_are_moved_are_given():
    """Instance normalization has an interface for either kind of call."""
    moved = spec(INSTANCE, "instance_norm_train", 8, 3, 4, False)
    with pytest.raises(ImpossibleCallError, match="has_running_stats must be true"):
        INSTANCE.key_for("instance_norm_train", moved)
    assert INSTANCE.key_for("instance_norm", moved)


def every_interface():
    """Yield every interface of the channel ops, with its op."""
    for op in (TRAIN, INFER, BACKWARD, INSTANCE, INSTANCE_INFER):
        for name, interface in op.interfaces.items():
            yield op, name, interface


def test_the_shared_call_spec_is_taken_and_narrowed():
    """All six interfaces take a BatchNormCall of default facts, and narrow what calls there are."""
    call = BatchNormCall(arch=90, n=8, c=64, spatial=49)
    for op, name, interface in every_interface():
        assert interface.request is BatchNormCall
        assert op.key_for(name, call)
        assert type(op.explain(name, call).call) is interface.narrowed
    with pytest.raises(ImpossibleCallError, match="n \\* spatial must be more than 1 in training"):
        TRAIN.key_for("batch_norm_fwd_train", BatchNormCall(arch=90, n=1, c=64))


def test_a_narrowing_has_the_facts_of_the_shared_call_spec():
    """So the same options and the same defaults ask every interface."""
    for _, _, interface in every_interface():
        assert facts_declared(interface.narrowed) == facts_declared(BatchNormCall)


def test_a_call_that_a_sibling_narrowed_is_narrowed_anew():
    """It states the same facts, and the interface that is asked says which calls there are."""
    call = BatchNormTrainCall(arch=90, n=1, c=3, spatial=4, has_running_stats=False)
    assert TRAIN.key_for("batch_norm_fwd_train", call)
    with pytest.raises(ImpossibleCallError, match="has_running_stats must be true in inference"):
        INFER.key_for("batch_norm_fwd_infer", call)


@dataclasses.dataclass(frozen=True)
class TaggedCall(BatchNormCall):
    tag: str = "mine"


@dataclasses.dataclass(frozen=True)
class TaggedTrainCall(BatchNormTrainCall):
    tag: str = "mine"


def test_a_call_spec_of_ones_own():
    """One with further facts is asked about by the shared ones, or kept where it is narrowed."""
    facts = {"arch": 90, "n": 8, "c": 64, "spatial": 49}
    shared = TRAIN.explain("batch_norm_fwd_train", TaggedCall(**facts))
    own = TRAIN.explain("batch_norm_fwd_train", TaggedTrainCall(**facts))
    assert shared.call == BatchNormTrainCall(**facts)
    assert own.call.tag == "mine"
    assert shared.winner() == own.winner()
    with pytest.raises(ImpossibleCallError, match="more than 1 in training"):
        TRAIN.explain("batch_norm_fwd_train", TaggedCall(arch=90, n=1, c=64))


def test_a_call_spec_of_another_family_is_refused():
    """What shares no facts is no call of the interface."""
    with pytest.raises(TypeError, match="takes a BatchNormCall call spec, got LayerNormCall"):
        INFER.key_for("batch_norm_fwd_infer", LayerNormCall(arch=90, n=8))
