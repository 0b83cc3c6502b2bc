"""What attention's kernels launch: on which tensors, into how many parts, with which counters."""

from __future__ import annotations

import pytest
import torch

from tileops.kernels.attention.gqa.form import GQAForm
from tileops.kernels.attention.gqa.plain import on_plain, plain
from tileops.kernels.attention.gqa.single_launch import SingleLaunch
from tileops.kernels.attention.gqa.split_decode import SplitDecode
from tileops.kernels.attention.gqa.tickets import LINE, Tickets
from tileops.kernels.attention.gqa.tiling import decode_tiling

F16, BF16, F8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn
CPU = torch.device("cpu")


class CpuTickets(Tickets):
    """The counters that captured launches take, on a device without streams."""

    def take(self, device, count):
        return self.take_captured(device, count)


def form(dtype="float16", out_dtype="float16", heads=8, heads_kv=2, dim=64):
    return GQAForm(heads, heads_kv, dim, dtype, out_dtype, dim**-0.5, 0.0)


def decoding(one, cluster=1, whole=False):
    """A decoding program that notes its arguments, and the notes."""
    notes = []
    tiling = decode_tiling(one.dim, one.itemsize, 90, 227 << 10, cluster)
    program = SplitDecode(
        lambda *arguments: notes.append(arguments),
        one,
        tiling,
        132,
        CPU,
        whole=whole,
        tickets=CpuTickets(),
    )
    return program, notes


def tensors(batch, seqlen_q, seqlen_kv, dtype=F16, heads=8, heads_kv=2, dim=64):
    q = torch.zeros(batch, seqlen_q, heads, dim, dtype=dtype)
    k = torch.zeros(batch, seqlen_kv, heads_kv, dim, dtype=dtype)
    return q, k, torch.zeros_like(k)


def test_a_short_sequence_is_not_split():
    """There is nothing to merge: one part a head, no counters, a result of its own."""
    program, notes = decoding(form(out_dtype="bfloat16"))
    q, k, v = tensors(3, 1, 20)
    o = program.bind(q, k, v, None, None, None)(q, k, v, None, None, None)
    ((first, second, third, result, parts, counters, clusters),) = notes
    assert (first is q, second is k, third is v, result is o) == (True, True, True, True)
    assert (o.shape, o.dtype, o.is_contiguous()) == (q.shape, BF16, True)
    assert clusters == 1
    assert parts.shape[0] == counters.shape[0] == 1


@pytest.mark.parametrize("dtype", [torch.float64, BF16], ids=["float64", "bfloat16"])
def test_the_default_dtype_is_of_no_account(dtype):
    """A program that sets one, as models in 16 bits do, gets the same memory."""
    torch.set_default_dtype(dtype)
    try:
        for keys in (20, 100000):
            program, notes = decoding(form())
            q, k, v = tensors(1, 1, keys)
            program.bind(q, k, v)(q, k, v)
            ((*_, parts, counters, _),) = notes
            assert (parts.dtype, counters.dtype) == (torch.float32, torch.int32)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("cluster", [1, 8])
@pytest.mark.parametrize("heads", [8, 34], ids=["one-head-tile", "two-head-tiles"])
def test_a_long_sequence_has_memory_for_every_part(cluster, heads):
    """A record for each head tile and cluster: rows of outputs, then sums for every block."""
    program, notes = decoding(form(heads=heads), cluster)
    q, k, v = tensors(2, 1, 100000, heads=heads)
    program.bind(q, k, v)(q, k, v)
    ((*_, parts, counters, clusters),) = notes
    tiles, rows = (1, 4) if heads == 8 else (2, 16)
    assert clusters > 1
    assert parts.shape == (2 * 2 * tiles * clusters, rows * 64 + 4 * rows * cluster)
    assert parts.dtype == torch.float32
    assert counters.shape == (2 * 2 * tiles * cluster,)
    assert not counters.any()


def test_one_cluster_whatever_the_length():
    """A kernel that leaves the merge to its clusters has one a head."""
    program, notes = decoding(form(), 16, whole=True)
    q, k, v = tensors(1, 1, 100000)
    program.bind(q, k, v)(q, k, v)
    assert notes[0][-1] == 1


def test_parts_are_new_memory_in_every_launch():
    """Two launches of one bound call do not share parts, which another stream may still read."""
    program, notes = decoding(form())
    q, k, v = tensors(1, 1, 100000)
    run = program.bind(q, k, v)
    results = [run(q, k, v), run(q, k, v)]
    assert notes[0][4].data_ptr() != notes[1][4].data_ptr()
    assert results[0].data_ptr() != results[1].data_ptr()


@pytest.mark.parametrize("seqlen_kv", [20, 100000], ids=["whole", "split"])
def test_scales_are_passed_on_for_fp8_alone(seqlen_kv):
    """The three scales stand between values and output."""
    program, notes = decoding(form("float8_e4m3fn", "bfloat16"))
    q, k, v = tensors(1, 1, seqlen_kv, F8)
    scales = [torch.ones(1, 2) for _ in range(3)]
    o = program.bind(q, k, v, *scales)(q, k, v, *scales)
    assert all(one is other for one, other in zip(notes[0][3:6], scales, strict=True))
    assert notes[0][6] is o
    assert o.dtype == BF16


@pytest.mark.parametrize("scaled", [False, True])
def test_a_launch_of_many_queries(scaled):
    """It gets the inputs, for fp8 the scales, and a new result."""
    notes = []
    one = form("float8_e4m3fn" if scaled else "float16", "bfloat16")
    program = SingleLaunch(lambda *arguments: notes.append(arguments), one)
    q, k, v = tensors(2, 9, 20, F8 if scaled else F16)
    scales = [torch.ones(2, 2) if scaled else None for _ in range(3)]
    o = program.bind(q, k, v, *scales)(q, k, v, *scales)
    passed = [q, k, v, *(scales if scaled else []), o]
    assert all(one is other for one, other in zip(notes[0], passed, strict=True))
    assert (o.shape, o.dtype, o.is_contiguous()) == (q.shape, BF16, True)


def test_one_sequence_of_a_cache():
    """A batch of one sliced from a cache is dense, and launched with plain strides."""
    program, notes = decoding(form())
    q, k, v = tensors(1, 1, 50)
    k, v = (torch.zeros(1, 4096, 2, 64, dtype=F16)[:, :50] for _ in range(2))
    q = torch.zeros(1, 7, 8, 64, dtype=F16)[:, 3:4]
    assert q.is_contiguous()
    assert k.is_contiguous()
    run = program.bind(q, k, v)
    for _ in range(2):
        o = run(q, k, v)
        first, second, third, result = notes.pop()[:4]
        assert [one.data_ptr() for one in (first, second, third)] == [
            one.data_ptr() for one in (q, k, v)
        ]
        assert first.stride() == result.stride() == (512, 512, 64, 1)
        assert second.stride() == third.stride() == (6400, 128, 64, 1)
        assert o.stride() == (512, 512, 64, 1)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        pytest.param((2, 3, 4), (12, 4, 1), id="dense"),
        pytest.param((1, 3, 4), (99, 4, 1), id="first-dim-of-one"),
        pytest.param((2, 1, 4), (4, 77, 1), id="middle-dim-of-one"),
        pytest.param((2, 3, 1), (3, 1, 9), id="last-dim-of-one"),
    ],
)
def test_plain_strides(shape, strides):
    """The same elements, with the strides of a new tensor."""
    one = torch.arange(200.0).as_strided(shape, strides)
    assert one.is_contiguous()
    made = plain(one)
    assert made.stride() == torch.empty(shape).stride()
    assert made.data_ptr() == one.data_ptr()
    assert torch.equal(made, one)
    assert (made is one) == (one.stride() == made.stride())


def test_plain_tensors_pay_nothing():
    """Where every tensor is plain, what runs is what was given; an absent one is no reason."""

    def run(*given):
        return given

    dense, odd = torch.zeros(2, 3), torch.zeros(8).as_strided((1, 3), (5, 1))
    assert on_plain(run, dense, None, dense) is run
    first, second, third = on_plain(run, dense, odd, None)(dense, odd, None)
    assert first is dense
    assert second.stride() == (3, 1)
    assert third is None


def test_captured_launches_share_no_counters():
    """Each has its own, in lines of its own, until none is left; then new zeros are made."""
    tickets = Tickets()
    tickets.prepare(CPU)
    first = tickets.take_captured(CPU, 5)
    second = tickets.take_captured(CPU, LINE + 1)
    third = tickets.take_captured(CPU, LINE)
    starts = [one.data_ptr() // 4 - first.data_ptr() // 4 for one in (first, second, third)]
    assert starts == [0, LINE, 3 * LINE]
    assert [len(one) for one in (first, second, third)] == [5, LINE + 1, LINE]
    first[:] = 7
    assert not any(one.any() for one in (second, third))
    while tickets._captured[CPU].numel():
        tickets.take_captured(CPU, 1 << 20 if tickets._captured[CPU].numel() >= 1 << 20 else LINE)
    late, later = tickets.take_captured(CPU, 3), tickets.take_captured(CPU, 3)
    assert late.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
    assert late.data_ptr() != later.data_ptr()
    assert not late.any()


def test_counters_are_prepared_once():
    """A second program on a device does not give counters out anew."""
    tickets = Tickets()
    tickets.prepare(CPU)
    first = tickets.take_captured(CPU, LINE)
    tickets.prepare(CPU)
    assert tickets.take_captured(CPU, LINE).data_ptr() == first.data_ptr() + 4 * LINE


def test_without_counters_prepared():
    """A device that nothing was built for has zeros made for the launch."""
    assert not Tickets().take_captured(CPU, 9).any()
