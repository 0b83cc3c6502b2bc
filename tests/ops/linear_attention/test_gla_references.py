"""The reference by chunks, which the long numerics rely on, against the definition."""

import pytest
import torch

from ops.linear_attention.gla_references import assert_near, by_chunks, inputs, step_by_step


@pytest.mark.parametrize("steps", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("gates", ["model", 0.0, -5.0])
def test_chunks_agree_with_single_steps(steps, gates):
    """Both give the same outputs and the same final state, from a state and from zeros."""
    for state in (False, True):
        q, k, v, g, initial = inputs(
            (2, steps, 3, 8, 4), torch.bfloat16, device="cpu", gates=gates, state=state
        )
        one, other = (walk(q, k, v, g, 0.3, initial) for walk in (by_chunks, step_by_step))
        assert_near(one[0], other[0], 1e-9)
        assert_near(one[1], other[1], 1e-9)


def test_the_definition_by_hand():
    """Two steps of width one, worked out."""
    q, k, v = (torch.tensor([2.0, 3.0]).view(1, 2, 1, 1) for _ in range(3))
    g = torch.tensor([0.0, 0.5]).log().view(1, 2, 1, 1)
    state = torch.tensor(10.0).view(1, 1, 1, 1)
    outputs, final = step_by_step(q, k, v, g, 0.5, state)
    # The first gate is closed, so nothing of the ten is left; the second one halves four.
    assert outputs.flatten().tolist() == pytest.approx([0.5 * 2 * 4, 0.5 * 3 * (2 + 9)])
    assert final.item() == pytest.approx(2 + 9)
