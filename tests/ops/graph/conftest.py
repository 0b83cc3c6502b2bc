"""Every test of traced graphs begins with nothing compiled."""

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh():
    """Forget what other tests compiled, and fix the random numbers."""
    torch.compiler.reset()
    torch.manual_seed(0)
