"""Which calls of the ops that normalize channels there are: facts and tensors agree."""

from __future__ import annotations

import pytest
import torch

from tileops import BatchNormBwdOp, BatchNormFwdOp, InstanceNormFwdOp
from tileops.errors import ImpossibleCallError, SignatureError
from tileops.kernels.norm.call_spec import BatchNormCall
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


@pytest.mark.parametrize(
    ("interface", "running", "message"),
    [
        pytest.param("instance_norm", True, "has_running_stats must be false", id="not-moved"),
        pytest.param("instance_norm_train", False, "has_running_stats must be true", id="moved"),
    ],
)
def test_the_interface_says_whether_statistics_are_moved(interface, running, message):
    """Instance normalization has an interface for either."""
    with pytest.raises(ImpossibleCallError, match=message):
        INSTANCE.key_for(interface, spec(INSTANCE, interface, 8, 3, 4, running))
    assert INSTANCE.key_for(interface, spec(INSTANCE, interface, 8, 3, 4, not running))


def test_a_call_spec_of_another_interface_is_refused():
    """Training and inference differ in which calls there are."""
    call = BatchNormTrainCall(arch=90, n=8, c=3, spatial=4)
    with pytest.raises(TypeError, match="takes a BatchNormCall call spec, got BatchNormTrainCall"):
        INFER.key_for("batch_norm_fwd_infer", call)


def test_the_shared_call_spec_is_taken_and_narrowed():
    """All six interfaces take a BatchNormCall, and refuse those that they have no call of."""
    for op in (TRAIN, INFER, BACKWARD, INSTANCE, INSTANCE_INFER):
        for name, interface in op.interfaces.items():
            assert interface.request is BatchNormCall
            running = name != "instance_norm"
            call = BatchNormCall(arch=90, n=8, c=64, spatial=49, has_running_stats=running)
            assert op.key_for(name, call)
    with pytest.raises(ImpossibleCallError, match="n \\* spatial must be more than 1 in training"):
        TRAIN.key_for("batch_norm_fwd_train", BatchNormCall(arch=90, n=1, c=64))
