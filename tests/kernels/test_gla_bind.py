"""What the bound functions of gated linear attention launch: addresses, counts, copies."""

from __future__ import annotations

import pytest
import torch

from tileops.kernels.kernel import Kernel
from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.kernels.linear_attention.gla_decode import GLADecodeKernel
from tileops.kernels.linear_attention.gla_partitioned import GLAPartitionedKernel
from tileops.kernels.linear_attention.gla_prefill import GLAPrefillKernel
from tileops.kernels.linear_attention.programs.gla_tiles import ChunkTiles

K, V = 32, 64


def launching(kernel_type):
    """A kernel of this type whose compiled functions note their arguments, and the notes."""
    launches = []

    def noting(name):
        return lambda *arguments: launches.append((name, arguments))

    def build(self):
        Kernel.__init__(self)
        self._chunk = 64
        self._tiles = ChunkTiles(64, 8, 64, 128, summing=2)
        self._sm_count = 132
        self._launch = noting("launch")
        self._summarise = noting("summarise")
        self._scan = noting("scan")

    return type(kernel_type.__name__, (kernel_type,), {"__init__": build})(), launches


def tensors(steps, state, batch=2, heads=3):
    """Inputs of a call of so many steps."""
    q, k, g = (torch.zeros(batch, steps, heads, K, dtype=torch.float16) for _ in range(3))
    v = torch.zeros(batch, steps, heads, V, dtype=torch.float16)
    return [q, k, v, g, torch.zeros(batch, heads, K, V) if state else None]


def launched(found):
    """The name of a launch and its arguments, tensors by their addresses."""
    name, arguments = found
    return name, [one.data_ptr() if isinstance(one, torch.Tensor) else one for one in arguments]


def addresses(inputs):
    return [0 if one is None else one.data_ptr() for one in inputs]


STATE = pytest.mark.parametrize("state", [False, True], ids=["from-zeros", "continued"])


@STATE
def test_one_step(state):
    """The addresses in the order of the interface, then those of the results."""
    kernel, launches = launching(GLADecodeKernel)
    run = kernel.bind(*tensors(1, state))
    inputs = tensors(1, state)
    o, final = run(*inputs)
    (found,) = launches
    assert launched(found) == (
        "launch",
        [*addresses(inputs), o.data_ptr(), final.data_ptr()],
    )
    assert (o.shape, o.dtype) == ((2, 1, 3, V), torch.float16)
    assert (final.shape, final.dtype) == ((2, 3, K, V), torch.float32)


@STATE
def test_misaligned_data_of_one_step_is_copied(state):
    """Whichever input is misaligned, every address launched is a multiple of 16 bytes."""
    kernel, launches = launching(GLADecodeKernel)
    run = kernel.bind(*tensors(1, state))
    for place in range(5 if state else 4):
        inputs = tensors(1, state)
        flat = torch.zeros(inputs[place].numel() + 1, dtype=inputs[place].dtype)
        inputs[place] = flat[1:].view(inputs[place].shape)
        assert inputs[place].data_ptr() % 16
        run(*inputs)
        (_, arguments), launches[:] = launched(launches[0]), []
        assert all(address % 16 == 0 for address in arguments)


@STATE
@pytest.mark.parametrize(
    ("steps", "chunks"), [(0, 0), (1, 1), (63, 1), (64, 1), (65, 2), (1000, 16)]
)
def test_a_sequence_in_one_launch(steps, chunks, state):
    """One part walks every chunk, begun ones included."""
    kernel, launches = launching(GLAPrefillKernel)
    run = kernel.bind(*tensors(steps, state))
    inputs = tensors(steps, state)
    o, final = run(*inputs)
    (found,) = launches
    assert launched(found) == (
        "launch",
        [*addresses(inputs), o.data_ptr(), final.data_ptr(), steps, 1, chunks, 1],
    )
    assert o.shape == (2, steps, 3, V)
    assert (final.shape, final.dtype) == ((2, 3, K, V), torch.float32)


@STATE
def test_a_sequence_in_parts(state):
    """Summaries, their scan from the initial state, and the walk of every part, in this order."""
    kernel, launches = launching(GLAPartitionedKernel)
    # 16 chunks of 6 sequences: 22 parts would fill the device, and every chunk is one.
    run = kernel.bind(*tensors(1000, state))
    inputs = tensors(1000, state)
    o, final = run(*inputs)
    q, k, v, g, initial = addresses(inputs)
    summarise, scan, walk = map(launched, launches)
    states, fades = scan[1][2], scan[1][1]
    assert summarise == ("summarise", [k, v, g, states, fades, 1000, 1])
    assert scan == ("scan", [initial, fades, states])
    assert walk == (
        "launch",
        [q, k, v, g, states, o.data_ptr(), final.data_ptr(), 1000, 16, 1, 1],
    )
    assert launches[1][1][2].shape == (16, 2, 3, K, V)
    assert (final.shape, final.dtype) == ((2, 3, K, V), torch.float32)


@STATE
def test_long_parts_are_summed_up_in_pieces(state):
    """A part of many chunks has two pieces, each with a state; the last part has its first one."""
    kernel, launches = launching(GLAPartitionedKernel)
    kernel._sm_count = 12
    # 16 chunks of 6 sequences: two parts fill the device, of two pieces of four chunks each.
    run = kernel.bind(*tensors(1000, state))
    run(*tensors(1000, state))
    summarise, scan, walk = map(launched, launches)
    assert summarise[1][-2:] == [1000, 4]
    assert walk[1][-4:] == [1000, 2, 8, 2]
    assert launches[1][1][2].shape == (3, 2, 3, K, V)
    assert scan[1][1:] == [summarise[1][4], summarise[1][3]]


def test_a_sequence_in_one_part():
    """Where one part is all there is, nothing is summed up, and the scan copies the state."""
    kernel, launches = launching(GLAPartitionedKernel)
    kernel._sm_count = 6
    run = kernel.bind(*tensors(1000, True))
    run(*tensors(1000, True))
    assert [name for name, _ in launches] == ["scan", "launch"]
    assert launches[1][1][-4:] == (1000, 1, 16, 1)


@pytest.mark.parametrize(
    ("kernel_type", "facts", "changes"),
    [
        pytest.param(GLADecodeKernel, {"seq_len": 1}, {"batch": 2, "heads": 31}, id="decode"),
        pytest.param(
            GLAPrefillKernel, {"seq_len": 2}, {"batch": 9, "heads": 7, "seq_len": 0}, id="prefill"
        ),
        pytest.param(
            GLAPartitionedKernel, {"seq_len": 1024}, {"heads": 5, "seq_len": 5000}, id="parts"
        ),
    ],
)
def test_what_a_build_is_for(kernel_type, facts, changes):
    """Widths, dtype, scale and presence of a state make a build; other sizes do not."""
    call = GLACall(
        arch=90, sm_count=132, **{"batch": 1, "heads": 32, "dim_k": 128, "dim_v": 128, **facts}
    )
    identity = kernel_type.entry_for(call)[0]
    assert kernel_type.entry_for(call.with_facts(**changes))[0] == identity
    for change in (
        {"dim_k": 64},
        {"dim_v": 64},
        {"dtype": torch.float16},
        {"scale": 2.0},
        {"has_initial_state": True},
    ):
        assert kernel_type.entry_for(call.with_facts(**change))[0] != identity


def test_many_sequences_are_decoded_by_another_build():
    """How a step is spread over the device depends on how many states there are."""
    call = GLACall(arch=90, sm_count=132, batch=1, heads=32, seq_len=1, dim_k=128, dim_v=128)
    many = GLADecodeKernel.entry_for(call.with_facts(batch=64))[0]
    assert many != GLADecodeKernel.entry_for(call)[0]
    assert many == GLADecodeKernel.entry_for(call.with_facts(batch=65))[0]
