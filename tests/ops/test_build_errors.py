"""Builds that fail: the error says which build it was, and the op serves what it served before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from noting import noting, op_with, spec

from tileops.errors import KernelCompileError, ProgramCompileError
from tileops.kernels.compile import nvcc

needs_nvcc = pytest.mark.skipif(nvcc() is None, reason="compiling needs nvcc")


def compiling(body):
    """A kernel type whose rows of 16 compile a program, and others nothing."""
    kernel_type, noted = noting()
    plain = kernel_type.__init__

    def build(self, call):
        plain(self, call)
        if call.n == 16:
            body()

    kernel_type.__init__ = build
    return op_with(rows=kernel_type), noted


def refused_by_nvcc():
    import tilelang.language as T

    from tileops.kernels.compile import lower

    @T.prim_func
    def main(x: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            T.call_extern("handle", "no_such_function")
            x[0] = 1.0

    lower(main, 80)


def refused_by_tilelang():
    import tilelang.language as T

    @T.prim_func
    def main(x: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            x[0] = T.no_such_intrinsic(x[1])


@pytest.mark.parametrize(
    ("body", "cause", "says"),
    [
        pytest.param(refused_by_nvcc, ProgramCompileError, "sm_80", id="nvcc", marks=needs_nvcc),
        pytest.param(refused_by_tilelang, Exception, "no_such_intrinsic", id="tilelang"),
    ],
)
def test_a_program_that_does_not_compile(body, cause, says):
    """The error names op, key, class, device and identity; its cause is the compiler's."""
    op, noted = compiling(body)
    for _ in range(2):
        with pytest.raises(KernelCompileError, match="does not compile for cpu") as caught:
            op.kernel_for("layer_norm", spec(n=16))
        error = caught.value
        assert (error.op, error.key) == ("NotingFwdOp", "rows")
        assert error.implementation == "NotingKernel"
        assert (error.device, error.identity) == (torch.device("cpu"), "16")
        assert isinstance(error.__cause__, cause)
        assert says in str(error.__cause__)
    assert noted.built == [16, 16]
    assert [built.identity for built in op.iter_kernels()] == []
    x = torch.randn(2, 8)
    torch.testing.assert_close(op(x), F.layer_norm(x, (8,)))


IMPORT = """
import torch
from noting import noting, op_with, spec

from tileops.errors import CompileCacheError

kernel_type, noted = noting()
plain = kernel_type.__init__


def build(self, call):
    plain(self, call)
    if call.n == 16:
        import tilelang


kernel_type.__init__ = build
op = op_with(rows=kernel_type)
for _ in range(2):
    try:
        op.kernel_for("layer_norm", spec(n=16))
    except CompileCacheError as error:
        assert isinstance(error.__cause__, OSError)
        print(error)
assert op(torch.ones(2, 8)).shape == (2, 8)
"""


def test_a_folder_of_programs_that_cannot_be_written(tmp_path):
    """The error names op, key, class and folder, and how to name another one."""
    tmp_path.joinpath("file").touch()
    folder = tmp_path / "file" / "cache"
    root = Path(__file__).parents[2]
    paths = [root / "src", root / "tests", Path(__file__).parent]
    environment = {
        **os.environ,
        "TILELANG_CACHE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [sys.executable, "-c", IMPORT]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    first, second = said.stdout.splitlines()
    assert first == second
    assert first.startswith(
        "NotingFwdOp: key 'rows': the program of NotingKernel for cpu, build identity 16, "
        f"cannot be kept in {folder}: NotADirectoryError: "
    )
    assert "TILELANG_CACHE_DIR" in first


def test_another_exception_passes_with_a_note():
    """What a factory raises is not replaced; the note is there once however often it is raised."""
    kept = LookupError("no such table")

    def body():
        raise kept

    op, _ = compiling(body)
    for _ in range(2):
        with pytest.raises(LookupError, match="no such table") as caught:
            op.kernel_for("layer_norm", spec(n=16))
        assert caught.value is kept
    assert kept.__notes__ == ["NotingFwdOp: building key 'rows' for cpu, build identity 16"]
