"""The ones that stand for absent scales: few allocations, however many sizes there are."""

import torch

from ops.noting import in_threads
from tileops.ops.attention._unit_scale import UnitScale

CPU = torch.device("cpu")


def test_shapes_and_values():
    """Every call gets ones of its shape, at the start of dense memory."""
    unit = UnitScale()
    for batch, heads in ((1, 1), (3, 8), (2, 5), (64, 8), (1, 8)):
        ones = unit.of(batch, heads, CPU)
        assert (ones.shape, ones.dtype, ones.is_contiguous()) == (
            (batch, heads),
            torch.float32,
            True,
        )
        assert bool((ones == 1).all())
        assert ones.data_ptr() % 16 == 0


def test_ten_thousand_sizes_share_few_tensors():
    """What is kept doubles, and what was handed out stays."""
    unit = UnitScale()
    first = unit.of(1, 8, CPU)
    memories = {unit.of(batch, 8, CPU).data_ptr() for batch in range(1, 10_000)}
    assert len(memories) <= 17
    assert len(unit._made) == 1
    assert first.tolist() == [[1.0] * 8]


def test_threads_share_them():
    """Threads that need another size at once get their own shape."""
    unit = UnitScale()

    def act():
        for batch in range(1, 300):
            assert unit.of(batch, 2, CPU).sum() == 2 * batch

    _, errors = in_threads(8, act)
    assert errors == []
