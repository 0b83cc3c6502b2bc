"""Programs and devices of the emulator: what they refuse, and what they leave behind."""

import numpy as np
import pytest
import torch

from emulator import (
    EMULATED,
    ArgumentError,
    CompilationError,
    EmulatedProgram,
    HostFunctionError,
    KernelFaultError,
    UnsupportedSourceError,
    emulated_device,
    run,
    run_cuda,
)
from tileops import device
from tileops.kernels import compile as compiling
from tileops.kernels.compile import OWN_BARRIERS

pytestmark = EMULATED


def reversing():
    """A program that reverses rows of 128 by way of shared memory."""
    import tilelang.language as T

    rows = T.dynamic("rows")

    @T.prim_func
    def main(x: T.Tensor((rows, 128), "float32"), y: T.Tensor((rows, 128), "float32")):
        with T.Kernel(rows, threads=128) as row:
            staged = T.alloc_shared((128,), "float32")
            thread = T.get_thread_binding()
            staged[thread] = x[row, thread]
            T.sync_threads()
            y[row, thread] = staged[127 - thread]

    return main


def rows(count, dtype=torch.float32):
    return torch.arange(count * 128).reshape(count, 128).to(dtype), torch.zeros(count, 128)


def test_a_program_for_any_number_of_rows():
    """The host function takes sizes from the tensors, and launches a block for each row."""
    program = EmulatedProgram(reversing(), 90, OWN_BARRIERS)
    for count in (1, 3):
        x, y = rows(count)
        program(x, y)
        assert torch.equal(y, x.flip(1))
        assert [one.grid[0] for one in program.launches] == [count]


def test_an_edit_that_takes_the_barrier_out():
    """Threads read what nobody wrote yet, and the race is named."""
    x, y = rows(1)

    def unordered(source):
        return source.replace("__syncthreads();", "")

    EmulatedProgram(reversing(), 90, OWN_BARRIERS, edit=unordered)(x, y)
    assert y.isnan().any()
    program = EmulatedProgram(reversing(), 90, OWN_BARRIERS, race=True, edit=unordered)
    with pytest.raises(KernelFaultError, match="race in block"):
        program(x, y)


def test_what_the_host_function_refuses():
    """The program's own checks of its arguments hold."""
    _, y = rows(2)
    with pytest.raises(HostFunctionError, match="dtype"):
        run(reversing(), 90, rows(2, torch.float64), OWN_BARRIERS)
    with pytest.raises(HostFunctionError, match="shape"):
        run(reversing(), 90, [torch.zeros(2, 127), y], OWN_BARRIERS)


def test_a_tensor_elsewhere_is_no_argument():
    """A kernel on the CPU reads the CPU's memory."""
    with pytest.raises(ArgumentError, match="a tensor on meta"):
        run(reversing(), 90, [torch.zeros(1, 128, device="meta"), rows(1)[1]], OWN_BARRIERS)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param("undeclared(out);", CompilationError, id="no-such-function"),
        pytest.param("__shared__ decltype(1) s; s = 1;", UnsupportedSourceError, id="declaration"),
    ],
)
def test_what_cannot_be_compiled(body, error):
    """It is an error of its own, which names the construct."""
    source = f'extern "C" __global__ void kernel(int* out) {{ {body} }}'
    with pytest.raises(error, match=r"undeclared|decltype"):
        run_cuda(source, 90, [np.zeros(1, np.int32)], 1, 1)


def test_a_device_leaves_nothing_behind():
    """Afterwards programs are compiled for real devices again."""
    before = compiling.bare_function, device.current_facts, torch.cuda.current_device
    with emulated_device(80, 5) as facts:
        assert device.current_facts() == facts
        assert (facts.arch, facts.sm_count, facts.smem_budget) == (80, 5, 166912)
        assert torch.zeros(1, device="cuda").device.type == "cpu"
    assert (compiling.bare_function, device.current_facts, torch.cuda.current_device) == before
