"""What the gemm kernels' bound functions launch: which program, on which tensors, into which."""

from __future__ import annotations

import pytest
import torch

from tileops.device import DeviceFacts
from tileops.kernels.gemm.gemm_cp_async import GemmCpAsyncKernel
from tileops.kernels.gemm.gemm_skinny import GemmSkinnyKernel
from tileops.kernels.gemm.gemm_tma import GemmTmaKernel
from tileops.kernels.gemm.gemv import GemvKernel
from tileops.kernels.gemm.tiles import BOUNDED_TILES, TMA_TILES, skinny_tiles
from tileops.kernels.kernel import Kernel

N, K = 2112, 16
HALF = torch.float16
SKINNY = skinny_tiles(N, 132)


def launching(kernel_type, trans_a=False, trans_b=True, n=N):
    """A kernel of this type with programs that note their arguments, and the notes by program."""
    notes = []

    def note(program):
        return lambda *arguments: notes.append((program, arguments))

    def build(self):
        Kernel.__init__(self)
        self._n, self._k, self._dtype = n, K, HALF
        self._trans_a, self._trans_b = trans_a, trans_b
        self._facts = DeviceFacts(90, 132, 232448)
        programs = {
            GemmCpAsyncKernel: [(one, whole) for one in BOUNDED_TILES for whole in (True, False)],
            GemmTmaKernel: TMA_TILES,
            GemmSkinnyKernel: skinny_tiles(n, 132),
            GemvKernel: (1, 4),
        }[kernel_type]
        self._launches = {one: note(one) for one in programs}

    return type(kernel_type.__name__, (kernel_type,), {"__init__": build})(), notes


def operands(m, trans_a=False, trans_b=True, n=N, make=torch.zeros):
    a = make(*((K, m) if trans_a else (m, K)), dtype=HALF)
    return a, make(*((n, K) if trans_b else (K, n)), dtype=HALF)


def misaligned(*shape, dtype):
    return torch.zeros(torch.Size(shape).numel() + 1, dtype=dtype)[1:].view(shape)


MATRICES = pytest.mark.parametrize(
    "kernel_type",
    [GemmCpAsyncKernel, GemmTmaKernel, GemmSkinnyKernel],
    ids=lambda one: one.__name__,
)
LAYOUTS = pytest.mark.parametrize(
    ("trans_a", "trans_b"), [(False, False), (False, True), (True, False), (True, True)]
)


@MATRICES
@LAYOUTS
def test_a_launch(kernel_type, trans_a, trans_b):
    """It gets both operands and a new dense result."""
    kernel, notes = launching(kernel_type, trans_a, trans_b)
    a, b = operands(24, trans_a, trans_b)
    d = kernel.bind(*operands(24, trans_a, trans_b))(a, b)
    ((_, (first, second, third)),) = notes
    assert (first is a, second is b, third is d) == (True, True, True)
    assert (d.shape, d.dtype, d.is_contiguous()) == ((24, N), HALF, True)


@pytest.mark.parametrize("trans_a", [False, True])
def test_a_gemv_launch(trans_a):
    """It gets addresses, since one row has no layout, and the number of rows."""
    kernel, notes = launching(GemvKernel, trans_a)
    a, b = operands(1, trans_a)
    d = kernel(a, b)
    assert notes == [(1, (a.data_ptr(), b, d.data_ptr(), 1))]


@pytest.mark.parametrize(
    ("kernel_type", "m", "program"),
    [
        pytest.param(GemvKernel, 1, 1, id="gemv-1"),
        pytest.param(GemvKernel, 2, 4, id="gemv-2"),
        pytest.param(GemvKernel, 4, 4, id="gemv-4"),
        pytest.param(GemmSkinnyKernel, 16, SKINNY[0], id="skinny-16"),
        pytest.param(GemmSkinnyKernel, 17, SKINNY[1], id="skinny-17"),
        pytest.param(GemmSkinnyKernel, 32, SKINNY[1], id="skinny-32"),
        pytest.param(GemmSkinnyKernel, 33, SKINNY[2], id="skinny-33"),
        pytest.param(GemmSkinnyKernel, 64, SKINNY[2], id="skinny-64"),
        pytest.param(GemmSkinnyKernel, 65, SKINNY[3], id="skinny-65"),
        pytest.param(GemmSkinnyKernel, 128, SKINNY[3], id="skinny-128"),
        pytest.param(GemmCpAsyncKernel, 64, (BOUNDED_TILES[0], True), id="general-64"),
        pytest.param(GemmCpAsyncKernel, 65, (BOUNDED_TILES[1], False), id="general-65"),
        pytest.param(GemmCpAsyncKernel, 72, (BOUNDED_TILES[1], True), id="general-72"),
        pytest.param(GemmTmaKernel, 1024, TMA_TILES[4], id="tma-1024"),
        pytest.param(GemmTmaKernel, 129, TMA_TILES[7], id="tma-129"),
    ],
)
def test_the_program_by_rows(kernel_type, m, program):
    """Both sides of every boundary between two programs of a kernel."""
    kernel, notes = launching(kernel_type)
    kernel(*operands(m))
    assert [launched for launched, _ in notes] == [program]


def test_every_number_of_rows_has_a_program():
    """After the build no number of rows asks for another one."""
    for kernel_type, most in ((GemmSkinnyKernel, 128), (GemmCpAsyncKernel, 300), (GemvKernel, 4)):
        kernel, _ = launching(kernel_type)
        for m in range(1, most + 1):
            assert callable(kernel.launch_for(m))
    kernel, _ = launching(GemmTmaKernel)
    for m in [*range(1, 300), 4096, 8192, 1 << 20]:
        assert callable(kernel.launch_for(m))


@MATRICES
def test_misaligned_operands_are_copied(kernel_type):
    """Whichever operand is misaligned, every address launched is a multiple of 16 bytes."""
    kernel, notes = launching(kernel_type)
    run = kernel.bind(*operands(24))
    for place in (0, 1):
        pair = list(operands(24))
        pair[place] = misaligned(*pair[place].shape, dtype=HALF)
        assert pair[place].data_ptr() % 16
        run(*pair)
        _, launched = notes.pop()
        assert all(one.data_ptr() % 16 == 0 for one in launched)
        assert launched[1 - place] is pair[1 - place]


@MATRICES
def test_a_result_in_a_buffer(kernel_type):
    """A dense aligned buffer is written by the kernel and returned."""
    kernel, notes = launching(kernel_type)
    a, b = operands(24)
    out = torch.zeros(24, N, dtype=HALF)
    assert kernel.bind(a, b)(a, b, out=out) is out
    assert notes[0][1][2] is out
    assert kernel(a, b, out) is out


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.zeros(N, 24, dtype=HALF).t(), id="transposed"),
        pytest.param(lambda: torch.zeros(24, 2 * N, dtype=HALF)[:, ::2], id="strided"),
        pytest.param(lambda: torch.zeros(24, 2 * N, dtype=HALF)[:, :N], id="rows-apart"),
        pytest.param(lambda: misaligned(24, N, dtype=HALF), id="misaligned"),
    ],
)
def test_a_result_in_a_buffer_of_any_layout(make):
    """Elsewhere the kernel writes a new tensor, which is copied."""
    kernel, _ = launching(GemmTmaKernel)
    kernel._launches = dict.fromkeys(kernel._launches, lambda a, b, d: d.fill_(3.0))
    a, b = operands(24)
    out = make()
    assert kernel(a, b, out) is out
    assert torch.equal(out, torch.full((24, N), 3.0, dtype=HALF))


@pytest.mark.parametrize(
    ("make", "trans_a", "trans_b", "m", "n"),
    [
        pytest.param(
            lambda: (torch.zeros(4, 2 * K, dtype=HALF)[:1, :K], torch.zeros(N, K, dtype=HALF)),
            *(False, True, 1, N),
            id="one-row-of-a",
        ),
        pytest.param(
            lambda: (torch.zeros(1, K, dtype=HALF).t(), torch.zeros(N, K, dtype=HALF)),
            *(True, True, 1, N),
            id="one-column-of-a",
        ),
        pytest.param(
            lambda: (torch.zeros(8, K, dtype=HALF), torch.zeros(4, 2 * K, dtype=HALF)[:1, :K]),
            *(False, True, 8, 1),
            id="one-row-of-b",
        ),
        pytest.param(
            lambda: (torch.zeros(8, K, dtype=HALF), torch.zeros(1, K, dtype=HALF).t()),
            *(False, False, 8, 1),
            id="one-column-of-b",
        ),
    ],
)
def test_strides_of_one_element_are_made_plain(make, trans_a, trans_b, m, n):
    """A dim of one element may have any stride in torch; a launch gets that of a new tensor."""
    kernel, notes = launching(GemmCpAsyncKernel, trans_a, trans_b, n)
    a, b = make()
    assert a.is_contiguous()
    assert b.is_contiguous()
    assert (a.stride(), b.stride()) != ((a.shape[1], 1), (b.shape[1], 1))
    assert kernel(a, b).shape == (m, n)
    ((_, (first, second, _)),) = notes
    assert (first.stride(), second.stride()) == ((a.shape[1], 1), (b.shape[1], 1))
    assert (first.data_ptr(), second.data_ptr()) == (a.data_ptr(), b.data_ptr())
