"""What stands for absent inputs: few allocations, however many sizes, and none is freed."""

import gc
import itertools

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ops.graph.cpu_norms import CASES, WIDTH
from ops.noting import in_threads
from tileops.ops._filled import SMALLEST, Filled

CPU = torch.device("cpu")
F16, F32 = torch.float16, torch.float32


def test_shapes_and_values():
    """Every call gets its value, shape and dtype, at the start of dense memory."""
    filled = Filled()
    shapes = [(1, 1), (3, 8), (5,), (64, 8, 200), (), (0,), (1, 8)]
    for shape, value, dtype in itertools.product(shapes, (1.0, 0.0), (F16, F32)):
        one = filled.of(value, shape, dtype, CPU)
        assert (one.shape, one.dtype, one.is_contiguous()) == (shape, dtype, True)
        assert bool((one == value).all())
        assert one.data_ptr() % 16 == 0


def test_ten_thousand_sizes_share_few_tensors():
    """What is kept doubles, and what was handed out stays."""
    filled = Filled()
    first = filled.of(1.0, (1, 8), F32, CPU)
    memories = {filled.of(1.0, (rows, 8), F32, CPU).data_ptr() for rows in range(1, 10_000)}
    assert len(memories) <= 6
    assert first.data_ptr() in memories
    assert first.tolist() == [[1.0] * 8]
    kept = sum(len(one) for made in filled._made.values() for one in made)
    assert kept <= 4 * max(SMALLEST, 80_000)


def test_threads_share_them():
    """Threads that need another size at once get their own shape."""
    filled = Filled()

    def act():
        for rows in range(1, 300):
            assert filled.of(1.0, (rows, 200), F32, CPU).sum() == 200 * rows

    _, errors = in_threads(8, act)
    assert errors == []


@pytest.mark.parametrize("name", ["LayerNormFwdOp", "RMSNormFwdOp"])
def test_they_outlive_the_op(name):
    """A launch that was queued may read them after the op is gone."""
    op, _ = CASES[name].make()
    (registered,) = op.registry.kernels_of(name)
    plain, read, values = registered.kernel_type.forward, [], []

    def forward(self, x, *vectors):
        read.extend(StorageWeakRef(one.untyped_storage()) for one in vectors)
        values.extend(one.tolist() for one in vectors)
        return plain(self, x, *vectors)

    registered.kernel_type.forward = forward
    op(torch.randn(3, WIDTH))
    assert values == [[1.0] * WIDTH, [0.0] * WIDTH][: len(values)]
    del op
    gc.collect()
    assert read
    assert not any(one.expired() for one in read)
