"""Which implementation serves which batch normalization, on both sides of every boundary.

The limits stand here as the documentation states them: 24 KiB of a block's shared memory are taken
by statistics, a cluster of sixteen blocks keeps 8 KiB more of each free.
"""

from dataclasses import replace

import pytest
import torch

from tileops.kernels.norm.call_spec import BatchNormBwdInterface, BatchNormTrainFwdInterface
from tileops.kernels.norm.channel_calls import BatchNormBwdCall, BatchNormTrainCall
from tileops.ops.norm.batch_norm import BatchNormFwdOp
from tileops.ops.norm.batch_norm_bwd import BatchNormBwdOp
from tileops.ops.norm.instance_norm import InstanceNormFwdOp
from tileops.testing import assert_selects, selection_cases

SMEM = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
SUPPORTED = tuple(SMEM)
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32


def expected(call, streams):
    """Return the word for the implementation that should serve a call."""
    if call.arch not in SUPPORTED:
        return None
    plane = call.spatial * (4 if call.dtype == F32 else 2)
    length, size = streams * call.n * call.spatial, streams * call.n * plane
    room = call.smem_budget - (24 << 10)
    short = call.spatial <= 320 and (plane % 8 or plane < 128)
    if streams == 1 and call.c >= 1024 and call.spatial <= 320 and plane % 16 and call.n <= 512:
        short = True
    shared = room - (8 << 10)
    fits_one = short and 16 * length <= room
    few_elements = call.n * call.spatial < 16384
    if call.arch == 90 and short and 6400 < length <= shared:
        alone = fits_one and call.c >= 2048
        if not alone and (call.c >= 64 or few_elements):
            return "cluster"
    pairs = streams == 2 and call.spatial <= 320 and plane % 16 and room // 2 < size
    alone = size <= room and call.c >= 256 and not pairs
    stays = streams == 2 and call.c >= 128 and size > 16 * (104 << 10)
    stays = stays and 1 << 10 <= plane <= 32 << 10 and plane % 128 == 0
    stays = stays and (call.n + 15) * plane * streams <= 16 * (call.smem_budget - (8 << 10))
    fits_several = 64 << 10 < size <= 16 * shared
    if call.arch == 90 and not short and (fits_several or stays) and not alone:
        return "cluster"
    if fits_one:
        return "wide"
    if plane >= 128 and size <= room:
        return "whole"
    return "split" if call.n * call.spatial >= 16384 and call.c <= 512 else "kernel"


@selection_cases(BatchNormFwdOp, interface="batch_norm_fwd_train")
def test_training_boundaries(case):
    """A step of one fact changes the implementation where the documentation says so."""
    word = expected(case.call, 1)
    key = None if word is None else f"fwd_train_{word}"
    assert_selects(case.op, case.interface, case.call, key)


@selection_cases(BatchNormBwdOp)
def test_backward_boundaries(case):
    """Both tensors wait on the chip, so half as long channels fit."""
    word = expected(case.call, 2)
    assert_selects(case.op, case.interface, case.call, None if word is None else f"bwd_{word}")


@pytest.mark.parametrize(
    ("arch", "n", "c", "spatial", "dtype", "word"),
    [
        pytest.param(90, 32, 64, 12544, F16, "cluster", id="resnet-stem"),
        pytest.param(90, 32, 256, 3136, F16, "whole", id="resnet-1"),
        pytest.param(90, 32, 255, 3136, F16, "cluster", id="a-channel-less"),
        pytest.param(90, 1, 256, 103936, F16, "whole", id="many-channels-of-one-block"),
        pytest.param(90, 1, 256, 103944, F16, "cluster", id="many-channels-of-more"),
        pytest.param(90, 32, 512, 784, F16, "whole", id="resnet-2"),
        pytest.param(90, 32, 1024, 196, F16, "wide", id="resnet-3"),
        pytest.param(90, 32, 1023, 196, F16, "whole", id="too-few-channels-to-go-together"),
        pytest.param(90, 32, 1024, 200, F16, "whole", id="planes-of-whole-accesses"),
        pytest.param(90, 8, 1024, 316, F16, "wide", id="longest-planes-of-no-whole-accesses"),
        pytest.param(90, 8, 1024, 324, F16, "whole", id="longer-ones"),
        pytest.param(90, 33, 1024, 196, F16, "cluster", id="more-than-6400-elements"),
        pytest.param(90, 512, 1024, 196, F16, "cluster", id="most-samples-of-fours"),
        pytest.param(90, 513, 1024, 196, F16, "whole", id="more-samples"),
        pytest.param(90, 32, 2048, 49, F16, "wide", id="resnet-4"),
        pytest.param(80, 45, 1024, 196, F16, "wide", id="a100-eight-in-a-block"),
        pytest.param(80, 46, 1024, 196, F16, "whole", id="a100-no-more"),
        pytest.param(90, 256, 64, 12544, F16, "split", id="resnet-stem-256"),
        pytest.param(90, 256, 256, 3136, F16, "cluster", id="resnet-1-256"),
        pytest.param(90, 256, 1024, 196, F16, "cluster", id="resnet-3-256"),
        pytest.param(90, 256, 2048, 49, F16, "wide", id="resnet-4-256"),
        pytest.param(90, 256, 2047, 49, F16, "cluster", id="a-short-channel-less"),
        pytest.param(90, 12992, 2048, 1, F16, "wide", id="many-short-channels-of-one-block"),
        pytest.param(90, 12993, 2048, 1, F16, "cluster", id="many-short-channels-of-more"),
        pytest.param(90, 4, 128, 1 << 20, F16, "split", id="large-planes"),
        pytest.param(90, 2, 3, 1 << 20, F16, "split", id="few-channels"),
        pytest.param(80, 32, 256, 3136, F16, "split", id="a100-resnet-1"),
        pytest.param(80, 32, 1024, 3136, F16, "kernel", id="a100-many-long-channels"),
        pytest.param(90, 32, 64, 1, F16, "wide", id="fully-connected"),
        pytest.param(90, 6400, 8, 1, F16, "wide", id="6400-elements-of-short-planes"),
        pytest.param(90, 6401, 8, 1, F16, "cluster", id="6401-elements-of-short-planes"),
        pytest.param(90, 199680, 64, 1, F32, "cluster", id="short-planes-of-sixteen-blocks"),
        pytest.param(90, 199681, 64, 1, F32, "split", id="short-planes-of-more-than-sixteen"),
        pytest.param(90, 16383, 8, 1, F16, "cluster", id="few-short-channels"),
        pytest.param(90, 16384, 8, 1, F16, "split", id="few-short-channels-long-enough-to-split"),
        pytest.param(90, 100000, 63, 1, F16, "split", id="too-few-to-fill-the-device"),
        pytest.param(90, 100000, 64, 1, F16, "cluster", id="enough-to-fill-the-device"),
        pytest.param(90, 32, 8, 1024, F16, "whole", id="64-KiB"),
        pytest.param(90, 33, 8, 1024, F16, "cluster", id="one-sample-more"),
        pytest.param(90, 16, 8, 1024, F32, "whole", id="64-KiB-fp32"),
        pytest.param(90, 17, 8, 1024, F32, "cluster", id="one-sample-more-fp32"),
        pytest.param(90, 1, 8, 1597440, BF16, "cluster", id="sixteen-blocks"),
        pytest.param(90, 1, 8, 1597448, BF16, "split", id="more-than-sixteen-blocks"),
        pytest.param(80, 1, 8, 71168, F16, "whole", id="a100-one-block"),
        pytest.param(80, 1, 8, 71169, F16, "split", id="a100-more-than-one-block"),
        pytest.param(86, 1, 8, 38400, F16, "whole", id="sm86-one-block"),
        pytest.param(89, 1, 8, 38401, F16, "split", id="sm89-more-than-one-block"),
        pytest.param(80, 4, 8, 63, F16, "wide", id="a-short-plane"),
        pytest.param(80, 4, 8, 64, F16, "whole", id="128-bytes"),
        pytest.param(80, 4, 8, 68, F16, "whole", id="a-plane-of-8-byte-accesses"),
        pytest.param(80, 4, 8, 66, F16, "wide", id="a-plane-that-ends-inside-an-access"),
        pytest.param(80, 4, 8, 319, F16, "wide", id="an-odd-plane"),
        pytest.param(80, 4, 8, 321, F16, "whole", id="a-longer-odd-plane"),
        pytest.param(80, 8896, 8, 1, F16, "wide", id="features-of-one-block"),
        pytest.param(80, 8897, 8, 1, F16, "kernel", id="more-samples"),
        pytest.param(80, 16383, 8, 1, F16, "kernel", id="just-too-short-to-split"),
        pytest.param(80, 16384, 8, 1, F16, "split", id="long-enough-to-split"),
        pytest.param(80, 16384, 512, 1, F16, "split", id="few-enough-to-split"),
        pytest.param(80, 16384, 513, 1, F16, "kernel", id="too-many-to-split"),
    ],
)
def test_training(arch, n, c, spatial, dtype, word):
    """The implementation of a shape, and of its neighbours across each limit."""
    call = BatchNormTrainCall(arch=arch, n=n, c=c, spatial=spatial, dtype=dtype)
    assert_selects(BatchNormFwdOp, "batch_norm_fwd_train", call, f"fwd_train_{word}")


@pytest.mark.parametrize(
    ("arch", "n", "c", "spatial", "word"),
    [
        pytest.param(90, 32, 512, 784, "whole", id="resnet-2"),
        pytest.param(90, 32, 255, 784, "cluster", id="fewer-channels"),
        pytest.param(90, 256, 1024, 196, "cluster", id="resnet-3-256"),
        pytest.param(90, 132, 1024, 196, "whole", id="two-blocks-of-8-byte-accesses"),
        pytest.param(90, 133, 1024, 196, "cluster", id="pairs-of-channels"),
        pytest.param(90, 133, 1024, 200, "whole", id="channels-of-whole-accesses"),
        pytest.param(90, 81, 1024, 320, "whole", id="longest-columns-of-whole-accesses"),
        pytest.param(90, 100, 1024, 316, "cluster", id="longest-pairs"),
        pytest.param(90, 100, 1024, 324, "whole", id="too-long-for-pairs"),
        pytest.param(90, 265, 1024, 196, "cluster", id="pairs-that-one-block-holds"),
        pytest.param(90, 266, 1024, 196, "cluster", id="more-than-one-block-holds"),
        pytest.param(90, 256, 2048, 49, "cluster", id="resnet-4-256"),
        pytest.param(90, 256, 256, 3136, "cluster", id="resnet-1-256"),
        pytest.param(90, 271, 128, 3136, "cluster", id="blocks-that-stay-full"),
        pytest.param(90, 272, 128, 3136, "split", id="more-than-they-hold"),
        pytest.param(90, 256, 127, 3136, "split", id="too-few-channels-to-stay"),
        pytest.param(90, 256, 128, 3132, "split", id="planes-of-no-whole-pieces"),
        pytest.param(90, 256, 512, 1600, "cluster", id="slices-of-which-two-fit"),
        pytest.param(90, 8192, 8, 1, "cluster", id="few-short-channels"),
        pytest.param(90, 16384, 8, 1, "split", id="few-short-channels-long-enough-to-split"),
        pytest.param(90, 32, 1024, 196, "whole", id="resnet-3"),
        pytest.param(90, 32, 2048, 49, "wide", id="resnet-4"),
        pytest.param(90, 16, 8, 1024, "whole", id="64-KiB"),
        pytest.param(90, 17, 8, 1024, "cluster", id="one-sample-more"),
        pytest.param(90, 1, 8, 798720, "cluster", id="sixteen-blocks"),
        pytest.param(90, 1, 8, 798728, "split", id="more-than-sixteen-blocks"),
        pytest.param(80, 1, 8, 35584, "whole", id="a100-one-block"),
        pytest.param(80, 1, 8, 35585, "split", id="a100-more-than-one-block"),
        pytest.param(80, 4448, 8, 1, "wide", id="features-of-one-block"),
        pytest.param(80, 4449, 8, 1, "kernel", id="more-samples"),
        pytest.param(80, 16384, 513, 1, "kernel", id="too-many-to-split"),
    ],
)
def test_backward(arch, n, c, spatial, word):
    """The implementation of a shape, and of its neighbours across each limit."""
    call = BatchNormBwdCall(arch=arch, n=n, c=c, spatial=spatial)
    assert_selects(BatchNormBwdOp, "batch_norm_bwd", call, f"bwd_{word}")


@pytest.mark.parametrize(
    ("call", "step", "words"),
    [
        pytest.param(
            BatchNormBwdCall(arch=90, n=1, c=1, spatial=8192, dtype=F32),
            {"spatial": 8193},
            ("whole", "cluster"),
            id="backward-64-KiB-fp32",
        ),
        pytest.param(
            BatchNormBwdCall(arch=90, n=1, c=1, spatial=399360, dtype=F32),
            {"spatial": 399361},
            ("cluster", "split"),
            id="backward-sixteen-blocks-fp32",
        ),
        pytest.param(
            BatchNormBwdCall(arch=90, n=196, c=1, spatial=133, dtype=F32),
            {"spatial": 134},
            ("split", "cluster"),
            id="backward-planes-of-whole-accesses-fp32",
        ),
        pytest.param(
            BatchNormBwdCall(arch=90, n=1564, c=513, spatial=65, dtype=F32),
            {"spatial": 66},
            ("kernel", "cluster"),
            id="backward-many-planes-of-whole-accesses-fp32",
        ),
        pytest.param(
            BatchNormBwdCall(arch=89, n=8, c=1, spatial=1201),
            {"dtype": F32},
            ("whole", "kernel"),
            id="backward-twice-the-bytes-of-one-block",
        ),
        pytest.param(
            BatchNormBwdCall(arch=90, n=1, c=1, spatial=399361),
            {"dtype": F32},
            ("cluster", "split"),
            id="backward-twice-the-bytes-of-sixteen-blocks",
        ),
        pytest.param(
            BatchNormTrainCall(arch=90, n=1, c=1, spatial=16384, dtype=F32),
            {"spatial": 16385},
            ("whole", "cluster"),
            id="training-64-KiB-fp32",
        ),
        pytest.param(
            BatchNormTrainCall(arch=80, n=5, c=513, spatial=7117),
            {"dtype": F32},
            ("whole", "kernel"),
            id="training-twice-the-bytes-of-one-block",
        ),
        pytest.param(
            BatchNormTrainCall(arch=90, n=1, c=1, spatial=32, dtype=BF16),
            {"dtype": F32},
            ("wide", "whole"),
            id="training-planes-of-128-bytes",
        ),
    ],
)
def test_one_step_of_one_fact(call, step, words):
    """One element more to a plane, or twice the bytes to an element."""
    training = isinstance(call, BatchNormTrainCall)
    op = BatchNormFwdOp if training else BatchNormBwdOp
    interface, stem = (
        ("batch_norm_fwd_train", "fwd_train") if training else ("batch_norm_bwd", "bwd")
    )
    for one, word in zip((call, replace(call, **step)), words, strict=True):
        assert_selects(op, interface, one, f"{stem}_{word}")


@pytest.mark.parametrize("arch", [75, 80, 86, 87, 89, 90, 100])
@pytest.mark.parametrize(
    ("op", "interface", "key"),
    [
        pytest.param(BatchNormFwdOp, "batch_norm_fwd_infer", "fwd_infer_kernel", id="batch-infer"),
        pytest.param(InstanceNormFwdOp, "instance_norm", "instance_norm", id="instance"),
        pytest.param(
            InstanceNormFwdOp, "instance_norm_train", "instance_norm_train", id="instance-train"
        ),
        pytest.param(
            InstanceNormFwdOp, "instance_norm_infer", "fwd_infer_kernel", id="instance-infer"
        ),
    ],
)
@pytest.mark.parametrize(("n", "spatial"), [(1, 2**31 - 2**12), (2**30 - 2**11, 2)])
def test_interfaces_of_one_implementation(op, interface, key, arch, n, spatial):
    """It serves every call on exactly the architectures it states."""
    request = op.interfaces[interface].request
    call = request(arch=arch, n=n, c=1, spatial=spatial)
    assert_selects(op, interface, call, key if arch in SUPPORTED else None)


@pytest.mark.parametrize(
    ("key", "facts", "reason"),
    [
        pytest.param(
            "fwd_train_whole",
            {"n": 4, "c": 8, "spatial": 63},
            "serves planes of at least 128 bytes, got 126",
            id="whole-short-plane",
        ),
        pytest.param(
            "fwd_train_whole",
            {"n": 32, "c": 256, "spatial": 3136},
            "serves channels that take at most 142336 bytes, got 200704",
            id="whole-long-channel",
        ),
        pytest.param(
            "fwd_train_wide",
            {"n": 4, "c": 8, "spatial": 321},
            "serves planes of at most 320 elements, got 321",
            id="wide-long-plane",
        ),
        pytest.param(
            "fwd_train_wide",
            {"n": 4, "c": 8, "spatial": 64},
            "serves planes below 128 bytes or of no whole multiple of 8 bytes, got 128",
            id="wide-whole-accesses",
        ),
        pytest.param(
            "fwd_train_wide",
            {"n": 4, "c": 1024, "spatial": 200},
            "serves planes below 128 bytes or of no whole multiple of 16 bytes, got 400",
            id="wide-whole-accesses-of-many",
        ),
        pytest.param(
            "fwd_train_wide",
            {"n": 8897, "c": 8, "spatial": 1},
            "serves 8 neighbouring channels of at most 142336 bytes together, got 142352",
            id="wide-too-many-samples",
        ),
        pytest.param(
            "fwd_train_cluster",
            {"n": 4, "c": 8, "spatial": 64},
            "supports arch 90, got 80",
            id="cluster-arch",
        ),
        pytest.param(
            "fwd_train_split",
            {"n": 4, "c": 8, "spatial": 64},
            "serves channels of at least 16384 elements, got 256",
            id="split-short-channel",
        ),
        pytest.param(
            "fwd_train_split",
            {"n": 16384, "c": 513, "spatial": 1},
            "serves at most 512 channels, got 513",
            id="split-many-channels",
        ),
    ],
)
def test_reasons(key, facts, reason):
    """A refusal states the requirement and what the call has."""
    selection = BatchNormFwdOp(True).explain(
        "batch_norm_fwd_train", BatchNormTrainCall(arch=80, **facts)
    )
    verdicts = {one.key: one for one in selection.verdicts}
    assert verdicts[key].reason == reason


@pytest.mark.parametrize(
    ("n", "c", "spatial", "reason"),
    [
        pytest.param(
            *(6400, 8, 1),
            "serves short planes of more than 6400 elements, got 6400",
            id="few",
        ),
        pytest.param(
            *(12992, 2048, 1),
            "serves fewer than 2048 channels of short planes, or any number that each take more "
            "than 207872 bytes at 16 an element, got 2048 of 207872",
            id="many-that-fit",
        ),
        pytest.param(
            *(16384, 63, 1),
            "serves at least 64 channels of short planes, or any number of fewer than 16384 "
            "elements, got 63 of 16384",
            id="few-channels",
        ),
        pytest.param(
            *(199681, 64, 1),
            "serves short planes of at most 199680 elements, got 199681",
            id="many",
        ),
        pytest.param(
            *(32, 8, 1024),
            "serves channels that take more than 65536 bytes, got 65536",
            id="short",
        ),
        pytest.param(
            *(32, 256, 3136),
            "serves fewer than 256 channels, or any number that each take more than 207872 bytes, "
            "got 256 of 200704",
            id="enough-blocks",
        ),
        pytest.param(
            *(1, 8, 1597448),
            "serves channels that take at most 3194880 bytes, got 3194896",
            id="long",
        ),
    ],
)
def test_reasons_of_the_cluster(n, c, spatial, reason):
    """A cluster neither serves what one block holds nor what sixteen cannot."""
    call = BatchNormTrainCall(arch=90, n=n, c=c, spatial=spatial)
    selection = BatchNormFwdOp(True).explain("batch_norm_fwd_train", call)
    verdicts = {one.key: one for one in selection.verdicts}
    assert verdicts["fwd_train_cluster"].reason == reason


def test_the_reason_against_pairs():
    """Channels that go in pairs backward are left to blocks that could hold two."""
    call = BatchNormBwdCall(arch=90, n=132, c=1024, spatial=196)
    verdicts = {one.key: one for one in BatchNormBwdOp().explain("batch_norm_bwd", call).verdicts}
    assert verdicts["bwd_cluster"].reason == (
        "serves fewer than 256 channels, or any number that each take more than 103936 bytes, "
        "got 1024 of 103488"
    )


@pytest.mark.parametrize(
    ("n", "c", "spatial", "elements"),
    [
        pytest.param(1, 8, 16383, 0, id="too-short"),
        pytest.param(1, 8, 16384, 3072, id="long-enough"),
        pytest.param(1, 512, 16384, 196608, id="few-enough"),
        pytest.param(1, 513, 16384, 0, id="too-many"),
    ],
)
@pytest.mark.parametrize("interface", [BatchNormTrainFwdInterface, BatchNormBwdInterface])
def test_the_workspace_follows_from_the_call(interface, n, c, spatial, elements):
    """Three numbers for 128 parts of each channel, exactly where channels may be split."""
    call = BatchNormTrainCall("cuda", n=n, c=c, spatial=spatial)
    assert interface.workspace(call) == elements


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        pytest.param({"n": 0}, "n must be at least 1, got 0", id="no-sample"),
        pytest.param({"c": 0}, "c must be at least 1, got 0", id="no-channel"),
        pytest.param({"spatial": 0}, "spatial must be at least 1, got 0", id="no-element"),
        pytest.param({"eps": -1.0}, "eps must not be negative, got -1.0", id="negative-eps"),
        pytest.param({"dtype": torch.float64}, "dtype must be float16, bfloat16", id="double"),
        pytest.param({}, None, id="possible"),
    ],
)
def test_impossible_calls(facts, problem):
    """What no op asks for is said to be impossible."""
    found = BatchNormTrainCall("cpu", **{"n": 2, "c": 3, "spatial": 4, **facts}).impossible()
    assert found is None if problem is None else problem in found
