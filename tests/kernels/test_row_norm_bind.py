"""What the row norms' bound functions launch: addresses, row counts, copies of misaligned data."""

from __future__ import annotations

import pytest
import torch

from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.ada_layer_norm import AdaLayerNormKernel
from tileops.kernels.norm.ada_layer_norm_zero import AdaLayerNormZeroKernel
from tileops.kernels.norm.fused_add_layer_norm import FusedAddLayerNormKernel
from tileops.kernels.norm.fused_add_rms_norm import FusedAddRMSNormKernel
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.kernels.norm.rms_norm import RMSNormKernel

N = 8


def launching(kernel_type):
    """A kernel of this type whose compiled function notes its arguments, and the notes."""
    launches = []

    def build(self):
        Kernel.__init__(self)
        self._n, self._anchor = N, torch.empty(1)
        self._launch = lambda *arguments: launches.append(arguments)

    return type(kernel_type.__name__, (kernel_type,), {"__init__": build})(), launches


def misaligned(*shape):
    flat = torch.zeros(torch.Size(shape).numel() + 1)
    return flat[1:].view(shape)


# Per kernel, the inputs that are as large as the first, and how a launch names its arguments:
# p an address of an input, t an input itself, o an address of an output, a the anchor.
KERNELS = pytest.mark.parametrize(
    ("kernel_type", "wholes", "arguments"),
    [
        pytest.param(LayerNormKernel, 1, "pttoR", id="layer-norm"),
        pytest.param(RMSNormKernel, 1, "ptoR", id="rms-norm"),
        pytest.param(FusedAddLayerNormKernel, 2, "ppttooR", id="fused-add-layer-norm"),
        pytest.param(FusedAddRMSNormKernel, 2, "pptooR", id="fused-add-rms-norm"),
        pytest.param(AdaLayerNormKernel, 3, "apppoR", id="ada-layer-norm"),
        pytest.param(AdaLayerNormZeroKernel, 4, "appppoR", id="ada-layer-norm-zero"),
    ],
)


def tensors(wholes, arguments, make=torch.zeros):
    count = arguments.count("p") + arguments.count("t")
    return [make(3, 2, N) if place < wholes else make(N) for place in range(count)]


@KERNELS
def test_a_bound_launch(kernel_type, wholes, arguments):
    """It gets the inputs' and outputs' addresses in order, and the number of rows."""
    kernel, launches = launching(kernel_type)
    inputs = tensors(wholes, arguments)
    run = kernel.bind(*inputs)
    others = tensors(wholes, arguments)
    outputs = run(*others)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    given, made = iter(others), iter(outputs)
    expected = {
        "p": lambda: next(given).data_ptr(),
        "t": lambda: id(next(given)),
        "o": lambda: next(made).data_ptr(),
        "a": lambda: id(kernel._anchor),
        "R": lambda: 6,
    }
    ((*launched,),) = launches
    found = [id(one) if isinstance(one, torch.Tensor) else one for one in launched]
    assert found == [expected[kind]() for kind in arguments]
    assert all(one.shape == (3, 2, N) and one.is_contiguous() for one in outputs)


@KERNELS
def test_misaligned_data_is_copied(kernel_type, wholes, arguments):
    """Whichever input is misaligned, every address launched is a multiple of 16 bytes."""
    kernel, launches = launching(kernel_type)
    run = kernel.bind(*tensors(wholes, arguments))
    for place in range(len(tensors(wholes, arguments))):
        inputs = tensors(wholes, arguments)
        inputs[place] = misaligned(*inputs[place].shape)
        assert inputs[place].data_ptr() % 16
        run(*inputs)
        launched = launches.pop()
        addresses = [
            one.data_ptr() if isinstance(one, torch.Tensor) else one for one in launched[:-1]
        ]
        assert all(address % 16 == 0 for address in addresses)
        assert launches == []


@KERNELS
def test_the_compiled_function_is_looked_up_in_every_call(kernel_type, wholes, arguments):
    """A tuner may replace it after a call was bound, and a benchmark watches it."""
    kernel, launches = launching(kernel_type)
    inputs = tensors(wholes, arguments)
    run, later = kernel.bind(*inputs), []
    kernel._launch = lambda *arguments: later.append(arguments)
    run(*inputs)
    assert (len(launches), len(later)) == (0, 1)
    assert len(kernel(*inputs)) == (2 if "oo" in arguments else 3)
    assert len(later) == 2
