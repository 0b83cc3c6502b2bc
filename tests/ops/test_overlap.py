"""Whether tensors share an element, against a count of every address."""

from __future__ import annotations

import random

import pytest
import torch

from tileops.ops._overlap import Extent, overlaps_itself, share


def addresses(tensor):
    """List the addresses of the elements of a tensor, in bytes."""
    offsets = [tensor.storage_offset()]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = [one + step * stride for one in offsets for step in range(size)]
    return [one * tensor.itemsize for one in offsets]


def reached(tensor):
    """Return every byte of the elements of a tensor."""
    return {one + byte for one in addresses(tensor) for byte in range(tensor.itemsize)}


def shared(one, other):
    """Return what is said of two views of one memory."""
    distance = other.data_ptr() - one.data_ptr()
    found = share(Extent.of(one), Extent.of(other), distance)
    assert found == share(Extent.of(other), Extent.of(one), -distance)
    return found


M = torch.zeros(16, 16)
PAIRS = [
    pytest.param(M[:, :8], M[:, 8:], False, id="columns"),
    pytest.param(M[:, :9], M[:, 8:], True, id="columns-that-meet"),
    pytest.param(M[:, ::2], M[:, 1::2], False, id="every-other-column"),
    pytest.param(M[:, ::2], M[:, ::3], True, id="multiples-of-six"),
    pytest.param(M[::2], M[1::2], False, id="every-other-row"),
    pytest.param(M[:8, :8], M[8:, 8:], False, id="corners"),
    pytest.param(M[:9, :9], M[8:, 8:], True, id="corners-that-meet"),
    pytest.param(M.t(), M[3, 3:4], True, id="transposed"),
    pytest.param(M.t()[:, :8], M[8:], False, id="transposed-rows"),
    pytest.param(M.diagonal(), M[0, 1:], False, id="diagonal-and-first-row"),
    pytest.param(M.diagonal(), M[:, 4:5], True, id="diagonal-and-a-column"),
    pytest.param(M[0, :1].expand(5, 7), M[0, 1:], False, id="expanded"),
    pytest.param(M[0, :1].expand(5, 7), M[0, :2], True, id="expanded-on-it"),
    pytest.param(M.view(torch.float16)[:, ::2], M.view(torch.float16)[:, 1::2], False, id="halves"),
    pytest.param(M.view(torch.int8)[:, 5::7], M[:, 1:2], True, id="a-byte-of-an-element"),
    pytest.param(M.view(4, 4, 4, 4)[:, 1], M.view(4, 4, 4, 4)[:, 2:], False, id="blocks"),
    pytest.param(M[:1], M[:1], True, id="itself"),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_two_views(one, other, expected):
    """Interleaved views are apart; one common byte is enough."""
    assert bool(reached(one) & reached(other)) is expected
    assert shared(one, other) is expected


def strided(chance, memory):
    """Return a view of a memory with random sizes and strides."""
    dims = chance.randint(0, 4)
    shape = [chance.choice([1, 2, 2, 3, 4]) for _ in range(dims)]
    stride = [chance.choice([0, 1, 2, 3, 4, 5, 7, 8, 12]) for _ in range(dims)]
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return torch.as_strided(memory, shape, stride, chance.randint(0, 159 - last))


@pytest.mark.parametrize("seed", range(4))
def test_random_views(seed):
    """Every address is counted."""
    chance = random.Random(seed)
    memory = torch.zeros(160, dtype=torch.int16)
    found = {True: 0, False: 0}
    for _ in range(500):
        one, other = strided(chance, memory), strided(chance, memory)
        expected = bool(reached(one) & reached(other))
        assert shared(one, other) is expected
        found[expected] += 1
        itself = addresses(one)
        assert overlaps_itself(one) is (len(set(itself)) < len(itself))
    assert min(found.values()) > 25


def test_what_takes_too_long_counts_as_shared():
    """Two huge lattices are not searched to the end."""
    one = Extent(2**60, ((1000003, 10**6), (1000001, 10**6), (999999, 10**6), (4, 0)), dense=False)
    other = Extent(2**60, ((1000033, 10**6), (999983, 10**6), (1, 0)), dense=False)
    assert share(one, other, 17)
