"""Batch and instance normalization's kernels on an emulated device against float64."""

from __future__ import annotations

import pytest
import torch

from emulator import EMULATED, emulated_device
from ops.norm import channel_references as reference
from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.batch_norm_bwd_cluster import BatchNormBwdClusterKernel
from tileops.kernels.norm.batch_norm_bwd_split import BatchNormBwdSplitKernel
from tileops.kernels.norm.batch_norm_bwd_whole import BatchNormBwdWholeKernel
from tileops.kernels.norm.batch_norm_bwd_wide import BatchNormBwdWideKernel
from tileops.kernels.norm.batch_norm_infer import BatchNormFwdInferKernel
from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.batch_norm_train_cluster import BatchNormFwdTrainClusterKernel
from tileops.kernels.norm.batch_norm_train_split import BatchNormFwdTrainSplitKernel
from tileops.kernels.norm.batch_norm_train_whole import BatchNormFwdTrainWholeKernel
from tileops.kernels.norm.batch_norm_train_wide import BatchNormFwdTrainWideKernel
from tileops.kernels.norm.call_spec import BatchNormTrainFwdInterface
from tileops.kernels.norm.channel_calls import BatchNormTrainCall
from tileops.kernels.norm.instance_norm import InstanceNormKernel
from tileops.kernels.norm.instance_norm_train import InstanceNormTrainKernel
from tileops.kernels.norm.programs.channel_layout import in_cluster
from tileops.kernels.norm.programs.channel_normal import Factors
from tileops.kernels.norm.programs.channel_planes import Planes
from tileops.kernels.norm.programs.standing_layout import StandingLayout

pytestmark = EMULATED

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
EPS, MOMENTUM = 1e-5, 0.1

TRAIN, TRAIN_SPLIT = BatchNormFwdTrainKernel, BatchNormFwdTrainSplitKernel
TRAIN_WHOLE, TRAIN_WIDE = BatchNormFwdTrainWholeKernel, BatchNormFwdTrainWideKernel
TRAIN_CLUSTER = BatchNormFwdTrainClusterKernel
BWD, BWD_SPLIT = BatchNormBwdKernel, BatchNormBwdSplitKernel
BWD_WHOLE, BWD_WIDE = BatchNormBwdWholeKernel, BatchNormBwdWideKernel
BWD_CLUSTER = BatchNormBwdClusterKernel

slow = pytest.mark.slow


def random(shape, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 1.5 + 0.5).to(dtype)


def built(kernel_type, facts, shape, dtype, **fields):
    """The kernel that the call on this shape gets, and the call."""
    call = BatchNormTrainCall(
        n=shape[0],
        c=shape[1],
        spatial=shape[2],
        dtype=dtype,
        eps=EPS,
        momentum=MOMENTUM,
        arch=facts.arch,
        sm_count=facts.sm_count,
        smem_budget=facts.smem_budget,
        device=torch.device("cuda", 0),
        **fields,
    )
    assert kernel_type.refusal(call) is None
    return kernel_type.entry_for(call)[1](), call


def workspace(call):
    """Nothing in it may be relied on."""
    size = BatchNormTrainFwdInterface.workspace(call)
    return torch.full((size,), torch.nan) if size else None


def factors(shape, dtype, plain):
    """A weight and a bias, unless the call has none."""
    if plain:
        return None, None
    return random(shape[1:2], dtype, 1), random(shape[1:2], dtype, 2)


def running(shape):
    return random(shape[1:2], F32, 3), random(shape[1:2], F32, 4).square() + 0.5


TRAINING = [
    pytest.param(TRAIN, 90, (4, 6, 49), BF16, id="90-columns"),
    pytest.param(TRAIN, 90, (3, 2, 257), F16, id="90-planes-odd", marks=slow),
    pytest.param(TRAIN, 80, (9, 3, 33), F32, id="80-columns-f32"),
    pytest.param(TRAIN, 80, (3, 2, 264), F16, id="80-planes", marks=slow),
    pytest.param(TRAIN_WHOLE, 90, (4, 3, 256), BF16, id="whole-90"),
    pytest.param(TRAIN_WHOLE, 80, (5, 3, 264), F16, id="whole-80", marks=slow),
    pytest.param(TRAIN_WIDE, 90, (20, 16, 1), F16, id="wide-90-no-plane"),
    pytest.param(TRAIN_WIDE, 90, (5, 24, 49), BF16, id="wide-90-7x7", marks=slow),
    pytest.param(TRAIN_WIDE, 80, (5, 9, 49), F16, id="wide-80-7x7-odd"),
    pytest.param(TRAIN_WIDE, 90, (5, 10, 36), F16, id="wide-90-6x6-halves-of-accesses"),
    pytest.param(TRAIN_CLUSTER, 90, (2, 3, 20000), BF16, id="cluster-90-planes"),
    pytest.param(TRAIN_CLUSTER, 90, (200, 8, 49), F16, id="cluster-90-columns", marks=slow),
    pytest.param(TRAIN_SPLIT, 90, (2, 3, 9001), BF16, id="split-90", marks=slow),
    pytest.param(TRAIN_SPLIT, 80, (400, 8, 49), F16, id="split-80-columns", marks=slow),
]


def train(kernel_type, arch, shape, dtype, plain=False, **how):
    x, (weight, bias) = random(shape, dtype, 0), factors(shape, dtype, plain)
    mean, var = (None, None) if plain else running(shape)
    moved = [None if one is None else one.clone() for one in (mean, var)]
    fields = dict.fromkeys(("has_weight", "has_bias", "has_running_stats"), not plain)
    with emulated_device(arch, **how) as facts:
        kernel, call = built(kernel_type, facts, shape, dtype, **fields)
        inputs = (x, *moved, weight, bias, workspace(call))
        y, own_mean, rstd = kernel.bind(*inputs)(*inputs)
    normal, centre, spread, root = reference.normalized(x, [0, 2], EPS)
    reference.assert_close(y, reference.scaled(normal, weight, bias))
    reference.assert_close(own_mean, centre.flatten())
    reference.assert_close(rstd, root.flatten())
    if not plain:
        count = shape[0] * shape[2]
        unbiased = spread.flatten() * count / (count - 1)
        left = 1 - MOMENTUM
        reference.assert_close(moved[0], left * mean.double() + MOMENTUM * centre.flatten())
        reference.assert_close(moved[1], left * var.double() + MOMENTUM * unbiased)


@pytest.mark.parametrize(("kernel_type", "arch", "shape", "dtype"), TRAINING)
def test_training(kernel_type, arch, shape, dtype):
    """Result, statistics and running statistics agree with the definition."""
    train(kernel_type, arch, shape, dtype)


def test_training_without_factors_and_running_statistics():
    """What is absent is neither read nor written."""
    train(TRAIN_WIDE, 90, (6, 8, 9), F16, plain=True)


BACKWARD = [
    pytest.param(BWD, 90, (4, 6, 49), BF16, id="90-columns"),
    pytest.param(BWD, 80, (3, 2, 257), F16, id="80-planes-odd"),
    pytest.param(BWD_WHOLE, 90, (4, 3, 256), BF16, id="whole-90"),
    pytest.param(BWD_WHOLE, 80, (5, 3, 264), F16, id="whole-80", marks=slow),
    pytest.param(BWD_WIDE, 90, (5, 24, 49), BF16, id="wide-90-7x7"),
    pytest.param(BWD_WIDE, 90, (5, 10, 36), F16, id="wide-90-6x6-halves-of-accesses"),
    pytest.param(BWD_WIDE, 80, (20, 16, 1), F16, id="wide-80-no-plane", marks=slow),
    pytest.param(BWD_CLUSTER, 90, (2, 3, 10000), BF16, id="cluster-90-planes"),
    pytest.param(BWD_CLUSTER, 90, (100, 8, 49), F16, id="cluster-90-columns", marks=slow),
    pytest.param(BWD_CLUSTER, 90, (90, 2, 150), F32, id="cluster-90-pairs"),
    pytest.param(BWD_SPLIT, 90, (2, 3, 9001), BF16, id="split-90", marks=slow),
    pytest.param(BWD_SPLIT, 80, (400, 8, 49), F16, id="split-80-columns", marks=slow),
]


def backward(kernel_type, arch, shape, dtype, **how):
    x, gradient = random(shape, dtype, 0), random(shape, dtype, 5)
    weight, _ = factors(shape, dtype, False)
    _, mean, _, rstd = reference.normalized(x, [0, 2], EPS)
    with emulated_device(arch, **how) as facts:
        kernel, call = built(kernel_type, facts, shape, dtype)
        statistics = mean.flatten().float(), rstd.flatten().float()
        inputs = (gradient, x, *statistics, weight, workspace(call))
        found = kernel.bind(*inputs)(*inputs)
    expected = reference.gradients(gradient, x, weight, EPS)
    for one, other in zip(found, expected, strict=True):
        reference.assert_close(one, other, bound=reference.BACKWARD[dtype])


@pytest.mark.parametrize(("kernel_type", "arch", "shape", "dtype"), BACKWARD)
def test_gradients(kernel_type, arch, shape, dtype):
    """Those of input, scale and shift agree with the definition."""
    backward(kernel_type, arch, shape, dtype)


def test_training_by_fours_in_a_cluster():
    """Channels of planes of no whole accesses go together, though the last group lacks two."""
    shape = (40, 6, 100)
    x, (weight, bias), moved = random(shape, F16, 0), factors(shape, F16, False), running(shape)
    with emulated_device(90, late=True, seed=1) as facts:
        layout = in_cluster(Planes(*shape, 2, True, 1), facts)
        assert layout is not None
        assert (layout.group, layout.cluster) == (4, 2)
        kernel = TRAIN(layout, shape[2], EPS, MOMENTUM, F16, Factors(True, True, True))
        inputs = (x, *moved, weight, bias, None)
        y, mean, rstd = kernel.bind(*inputs)(*inputs)
    normal, centre, _, root = reference.normalized(x, [0, 2], EPS)
    reference.assert_close(y, reference.scaled(normal, weight, bias))
    reference.assert_close(mean, centre.flatten())
    reference.assert_close(rstd, root.flatten())


STANDING = {
    "pairs-of-blocks": (StandingLayout(8, 64, 2, 2, 4, 2), (7, 5, 640), F16),
    "one-block": (StandingLayout(4, 64, 1, 3, 6, 2), (4, 3, 264), F32),
}


@pytest.mark.parametrize(("layout", "shape", "dtype"), STANDING.values(), ids=STANDING)
@pytest.mark.parametrize("how", [{}, {"late": True, "seed": 1}, {"race": True}])
def test_gradients_by_blocks_that_stay(layout, shape, dtype, how):
    """They go on to every channel, though their number divides into no equal turns."""
    x, gradient = random(shape, dtype, 0), random(shape, dtype, 5)
    weight, _ = factors(shape, dtype, False)
    _, mean, _, rstd = reference.normalized(x, [0, 2], EPS)
    with emulated_device(90, **how):
        kernel = BWD(layout, shape[2], dtype, True)
        inputs = (gradient, x, mean.flatten().float(), rstd.flatten().float(), weight, None)
        found = kernel.bind(*inputs)(*inputs)
    expected = reference.gradients(gradient, x, weight, EPS)
    for one, other in zip(found, expected, strict=True):
        reference.assert_close(one, other, bound=reference.BACKWARD[dtype])


@pytest.mark.parametrize(
    ("arch", "shape", "dtype"),
    [
        pytest.param(90, (4, 5, 49), BF16, id="90-planes-of-7x7"),
        pytest.param(90, (2, 3, 1024), F16, id="90-whole-accesses", marks=slow),
        pytest.param(80, (7, 16, 1), F32, id="80-no-plane"),
    ],
)
def test_inference(arch, shape, dtype):
    """Running statistics normalize, whatever those of the data are."""
    x, (weight, bias), (mean, var) = (
        random(shape, dtype, 0),
        factors(shape, dtype, False),
        running(shape),
    )
    with emulated_device(arch) as facts:
        kernel, _ = built(BatchNormFwdInferKernel, facts, shape, dtype)
        inputs = (x, mean, var, weight, bias)
        y = kernel.bind(*inputs)(*inputs)
    centred = x.double() - reference.per_channel(mean, x)
    normal = centred * reference.per_channel((var.double() + EPS).rsqrt(), x)
    reference.assert_close(y, reference.scaled(normal, weight, bias))


@pytest.mark.parametrize(
    ("arch", "shape", "dtype"),
    [
        pytest.param(90, (2, 3, 1000), BF16, id="90-staged"),
        pytest.param(90, (1, 2, 40000), F16, id="90-cluster", marks=slow),
        pytest.param(80, (2, 4, 49), F16, id="80-columns"),
        pytest.param(80, (1, 1, 90001), BF16, id="80-read-again", marks=slow),
    ],
)
def test_instances(arch, shape, dtype):
    """Every plane is normalized by its own statistics."""
    x, (weight, bias) = random(shape, dtype, 0), factors(shape, dtype, False)
    with emulated_device(arch) as facts:
        kernel, _ = built(InstanceNormKernel, facts, shape, dtype)
        y = kernel.bind(x, weight, bias)(x, weight, bias)
    normal, *_ = reference.normalized(x, [2], EPS)
    reference.assert_close(y, reference.scaled(normal, weight, bias))


def test_instances_that_move_running_statistics():
    """They move towards the averages over the samples."""
    shape = (3, 4, 100)
    x, (weight, bias), (mean, var) = (
        random(shape, F16, 0),
        factors(shape, F16, False),
        running(shape),
    )
    moved = mean.clone(), var.clone()
    with emulated_device(90) as facts:
        kernel, _ = built(InstanceNormTrainKernel, facts, shape, F16)
        inputs = (x, *moved, weight, bias)
        y = kernel.bind(*inputs)(*inputs)
    normal, centre, spread, _ = reference.normalized(x, [2], EPS)
    left = 1 - MOMENTUM
    unbiased = spread.mean(0).flatten() * 100 / 99
    reference.assert_close(y, reference.scaled(normal, weight, bias))
    reference.assert_close(moved[0], left * mean.double() + MOMENTUM * centre.mean(0).flatten())
    reference.assert_close(moved[1], left * var.double() + MOMENTUM * unbiased)


LATE = {"late": True, "seed": 1}


@pytest.mark.parametrize(
    ("run", "kernel_type", "shape", "how"),
    [
        pytest.param(train, TRAIN_CLUSTER, (2, 2, 20000), LATE, id="train-cluster-late"),
        pytest.param(train, TRAIN_WIDE, (5, 24, 49), LATE, id="train-wide-late"),
        pytest.param(backward, BWD_WIDE, (5, 24, 49), {"race": True}, id="bwd-wide-race"),
        pytest.param(
            *(backward, BWD_CLUSTER, (2, 2, 10000), {"race": True}),
            id="bwd-cluster-race",
            marks=slow,
        ),
    ],
)
def test_the_barriers(run, kernel_type, shape, how):
    """Late copies, another order of threads and the race detector find nothing amiss."""
    run(kernel_type, 90, shape, BF16, **how)
