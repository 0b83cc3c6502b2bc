"""Compiling programs for a device that need not be there."""

import pytest

from tileops.errors import MissingCompilerError, ProgramCompileError
from tileops.kernels.compile import lower, nvcc

needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")


def copying(statement=""):
    """A program that copies 1024 elements through 4 KiB of shared memory."""
    import tilelang.language as T

    @T.prim_func
    def main(x: T.Tensor((1024,), "float32"), y: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128) as _:
            if statement:
                T.call_extern("handle", statement)
            held = T.alloc_shared((1024,), "float32")
            T.copy(x, held)
            T.copy(held, y)

    return main


@needs_nvcc
@pytest.mark.parametrize("arch", [80, 90])
def test_the_report_states_what_a_block_needs(arch):
    """Shared memory, registers and machine code are those of the program."""
    code = lower(copying(), arch)
    assert code.shared == 4096
    assert 0 < code.registers < 64
    assert code.spilled == 0
    assert code.cubin.startswith(b"\x7fELF")
    assert "main_kernel" in code.source


@needs_nvcc
def test_a_refused_program_shows_the_compilers_words():
    """The error names the architecture and carries what nvcc said."""
    with pytest.raises(ProgramCompileError, match="sm_80") as caught:
        lower(copying("no_such_function"), 80)
    assert "no_such_function" in str(caught.value)
    assert caught.value.arch == 80


def test_without_nvcc_the_error_says_what_to_install(monkeypatch):
    """Lowering for an absent device asks for the CUDA toolkit."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingCompilerError, match="sm_86 needs nvcc"):
        lower(copying(), 86)
