"""Blanks: what is made like one, and what one holds."""

from __future__ import annotations

import pytest
import torch

from tileops.kernels.blank import DENSE, blank

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("shape", "dtype", "strides"),
    [
        pytest.param((3, 5, 8), torch.bfloat16, (40, 8, 1), id="three-dims"),
        pytest.param((7,), torch.float32, (1,), id="one-dim"),
        pytest.param((), torch.float32, (), id="scalar"),
        pytest.param((0, 4), torch.float16, (4, 1), id="no-element"),
    ],
)
def test_what_is_made_like_a_blank_is_dense(shape, dtype, strides):
    """It has the shape, dtype and device asked for, strides of its own, and memory of its own."""
    model = blank(shape, dtype, CPU)
    made, other = (torch.empty_like(model, memory_format=DENSE) for _ in range(2))
    assert (made.shape, made.dtype, made.device) == (shape, dtype, CPU)
    assert made.stride() == strides
    assert made.untyped_storage().nbytes() == made.numel() * dtype.itemsize
    if made.numel():
        assert made.data_ptr() != other.data_ptr()


def test_a_blank_takes_the_memory_of_one_element():
    """A large one holds no more than a small one, and every one of a dtype shares it."""
    large, small = blank((2**20, 2**10), torch.float16, CPU), blank((1,), torch.float16, CPU)
    assert large.untyped_storage().nbytes() == 2
    assert large.untyped_storage().data_ptr() == small.untyped_storage().data_ptr()


def test_dtypes_have_blanks_of_their_own():
    """The dtype of what is made is the one that was asked for last, not the first."""
    assert [blank((2,), one, CPU).dtype for one in (torch.float32, torch.float16)] == [
        torch.float32,
        torch.float16,
    ]
