"""What the channel kernels launch: addresses, counts, copies of misaligned data."""

from __future__ import annotations

import pytest
import torch

from tileops.device import DeviceFacts
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm import split_channels
from tileops.kernels.norm.batch_norm_bwd import BatchNormBwdKernel
from tileops.kernels.norm.batch_norm_bwd_split import BatchNormBwdSplitKernel
from tileops.kernels.norm.batch_norm_infer import BatchNormFwdInferKernel
from tileops.kernels.norm.batch_norm_train import BatchNormFwdTrainKernel
from tileops.kernels.norm.batch_norm_train_split import BatchNormFwdTrainSplitKernel
from tileops.kernels.norm.instance_norm import InstanceNormKernel
from tileops.kernels.norm.instance_norm_train import InstanceNormTrainKernel
from tileops.kernels.norm.programs.channel_layout import passing
from tileops.kernels.norm.programs.channel_normal import Factors
from tileops.kernels.norm.programs.channel_planes import Planes

N, C, SPATIAL = 3, 8, 64
PARTS = 4


class Launches(list):
    """What was launched: a name and its arguments, in order."""

    def named(self, name):
        return lambda *arguments: self.append((name, arguments))


def launching(kernel_type, factors):
    """A kernel of this type whose compiled functions note their arguments, and the notes."""
    launches = Launches()
    facts = DeviceFacts(arch=90, sm_count=132, smem_budget=227 << 10)

    def build(self):
        Kernel.__init__(self)
        self._anchor = torch.empty(1)
        self._factors = factors
        self._flags = (factors.weight, factors.bias)
        self._has_weight = factors.weight
        self._layout = passing(Planes(N, C, SPATIAL, 4, False), facts)
        self._launch = launches.named("launch")
        self._sum_up = launches.named("sum")
        self._average = launches.named("average")

    return type(kernel_type.__name__, (kernel_type,), {"__init__": build})(), launches


def given(*names):
    """Return tensors by name: the data, the statistics, the factors and the workspace."""
    made = {
        "x": torch.randn(N, C, SPATIAL),
        "dy": torch.randn(N, C, SPATIAL),
        "workspace": torch.empty(3 * C * PARTS),
    }
    return {name: made[name] if name in made else torch.rand(C) for name in names}


TRAIN = ("x", "running_mean", "running_var", "weight", "bias", "workspace")
BACKWARD = ("dy", "x", "mean", "rstd", "weight", "workspace")
INFER = ("x", "running_mean", "running_var", "weight", "bias")

# Per kernel, its arguments, and what is launched: names of tensors given, y0 y1 y2 for results,
# s0 s1 for the halves of memory that the kernel allocates, numbers as they are.
KERNELS = pytest.mark.parametrize(
    ("kernel_type", "arguments", "expected"),
    [
        pytest.param(
            BatchNormFwdTrainKernel,
            TRAIN,
            [("launch", "x weight bias running_mean running_var y0 y1 y2 3 8")],
            id="train",
        ),
        pytest.param(
            BatchNormFwdTrainSplitKernel,
            TRAIN,
            [
                ("sum", "x workspace 3 8 P"),
                (
                    "launch",
                    "x weight bias running_mean running_var workspace y0 y1 y2 3 8 P",
                ),
            ],
            id="train-split",
        ),
        pytest.param(
            BatchNormFwdInferKernel,
            INFER,
            [("launch", "x running_mean running_var weight bias y0 3 8")],
            id="infer",
        ),
        pytest.param(
            BatchNormBwdKernel,
            BACKWARD,
            [("launch", "dy x mean rstd weight y0 y1 y2 3 8")],
            id="bwd",
        ),
        pytest.param(
            BatchNormBwdSplitKernel,
            BACKWARD,
            [
                ("sum", "dy x mean workspace 3 8 P"),
                ("launch", "dy x mean rstd weight workspace y0 y1 y2 3 8 P"),
            ],
            id="bwd-split",
        ),
        pytest.param(
            InstanceNormKernel,
            ("x", "weight", "bias"),
            [("launch", "x weight bias y0 0 0 24 8")],
            id="instance",
        ),
        pytest.param(
            InstanceNormTrainKernel,
            INFER,
            [
                ("launch", "x weight bias y0 s0 s1 24 8"),
                ("average", "running_mean running_var s0 s1 3 8"),
            ],
            id="instance-train",
        ),
    ],
)


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """Let the split kernels count parts for an H200."""
    facts = DeviceFacts(arch=90, sm_count=132, smem_budget=227 << 10)
    monkeypatch.setattr(split_channels, "current_facts", lambda: facts)


def words(launches, tensors, results):
    """Rewrite what was launched into the names of the table."""
    names = {one.data_ptr(): name for name, one in tensors.items() if one is not None}
    names |= {one.data_ptr(): f"y{place}" for place, one in enumerate(results)}
    found = []
    for name, (anchor, *arguments) in launches:
        assert isinstance(anchor, torch.Tensor)
        assert anchor.numel() == 1
        spelled = []
        for one in arguments:
            if one > 1 << 16 and one not in names:
                names[one] = f"s{sum(value.startswith('s') for value in names.values())}"
            spelled.append(names.get(one, str(one)))
        found.append((name, " ".join(spelled)))
    return found


@KERNELS
def test_a_bound_launch(kernel_type, arguments, expected):
    """It gets the addresses of inputs and outputs in order, and what is counted."""
    kernel, launches = launching(kernel_type, Factors(True, True, True))
    kernel.bind(*given(*arguments).values())
    tensors = given(*arguments)
    results = kernel(*tensors.values())
    results = results if isinstance(results, tuple) else (results,)
    # Two accesses of eight vectors are a part's least: 3 * 64 / 4 = 48 of them make one part here.
    spelled = [(name, text.replace("P", "1")) for name, text in expected]
    assert words(launches, tensors, results) == spelled
    assert results[0].shape == (N, C, SPATIAL)
    assert results[0].is_contiguous()
    assert all(one.shape == (C,) for one in results[1:])


@KERNELS
def test_absent_tensors_have_address_zero(kernel_type, arguments, expected):
    """Without weight, bias and running statistics nothing of the kind is asked for its address."""
    needed = {"x", "dy", "mean", "rstd", "workspace"}
    if kernel_type in (BatchNormFwdInferKernel, InstanceNormTrainKernel):
        needed |= {"running_mean", "running_var"}
    kernel, launches = launching(kernel_type, Factors(False, False, False))
    tensors = {name: one if name in needed else None for name, one in given(*arguments).items()}
    results = kernel(*tensors.values())
    results = results if isinstance(results, tuple) else (results,)
    absent = [name for name, one in tensors.items() if one is None]
    spelled = []
    for name, text in expected:
        parts = ["0" if word in absent else word.replace("P", "1") for word in text.split()]
        spelled.append((name, " ".join(parts)))
    assert words(launches, tensors, results) == spelled


@KERNELS
def test_misaligned_data_is_copied(kernel_type, arguments, expected):
    """Data at any address is launched at a multiple of 16 bytes, with the same contents."""
    kernel, launches = launching(kernel_type, Factors(True, True, True))
    for name in {"x", "dy"} & set(arguments):
        tensors = given(*arguments)
        shifted = torch.randn(N * C * SPATIAL + 1)[1:].view(N, C, SPATIAL)
        assert shifted.data_ptr() % 16
        tensors[name] = shifted
        launches.clear()
        kernel(*tensors.values())
        data = [place for place, word in enumerate(expected[-1][1].split()) if word in ("x", "dy")]
        for _, (_, *addresses) in launches[-1:]:
            assert all(addresses[place] % 16 == 0 for place in data)
            assert shifted.data_ptr() not in addresses


@KERNELS
def test_the_compiled_function_is_looked_up_in_every_call(kernel_type, arguments, expected):
    """A tuner may replace it after a call was bound, and a benchmark watches it."""
    kernel, launches = launching(kernel_type, Factors(True, True, True))
    tensors = given(*arguments)
    run, later = kernel.bind(*tensors.values()), Launches()
    kernel._launch = later.named("launch")
    run(*tensors.values())
    assert [name for name, _ in later] == ["launch"]
    assert "launch" not in [name for name, _ in launches]
