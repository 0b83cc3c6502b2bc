"""Calls that differ from a checked one in sizes alone: told as quickly as the checks would say."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_signature_properties import CUDA, calls, loaded, signatures

from tileops import manifest
from tileops.errors import SignatureError
from tileops.ops._signature import CallChecks
from tileops.tensor_spec import TensorSpec


def f16(*shape):
    return TensorSpec(shape, torch.float16, CUDA)


def answer(checks: CallChecks, first, second, buffers=({}, {})):
    """Return the output shapes that the sizes of *second* have by the form of *first*."""
    call = checks.check(first, buffers[0])
    sizes = checks.sizes(call)
    assert sizes is not None
    given = [one.shape for one in second if one is not None]
    given += [buffers[1][keyword].shape for keyword in call.buffers.values()]
    return sizes.outputs_for(tuple(chain.from_iterable(given)))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param([f16(7, 4), f16(4), f16(4)], [(7, 4)], id="another-row-count"),
        pytest.param([f16(1, 4), f16(4), f16(4)], [(1, 4)], id="one-row"),
        pytest.param([f16(3, 5), f16(5), f16(5)], None, id="another-width"),
        pytest.param([f16(3, 4), f16(4), f16(5)], None, id="bias-too-wide"),
        pytest.param([f16(0, 4), f16(4), f16(4)], None, id="no-row"),
    ],
)
def test_layer_norm_rows(entries, second, expected):
    """Any number of rows is fine, whatever else differs is not, and nothing is for the checks."""
    checks = CallChecks("LayerNormFwdOp", entries["LayerNormFwdOp"].signature, PARAMS)
    assert answer(checks, [f16(3, 4), f16(4), f16(4)], second) == expected


PARAMS = {"normalized_shape": (4,)}


@settings(
    max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(st.data())
def test_sizes_agree_with_the_checks(data):
    """On random signatures, sizes pass exactly where the checks pass, with the same outputs."""
    signature = data.draw(signatures())
    first = data.draw(calls(signature))
    checks = loaded(signature, first.params)
    try:
        call = checks.check(first.inputs, {"out": first.buffer})
    except SignatureError:
        assume(False)
    resize = st.sampled_from([0, 1, 2, 3, 4, 6])

    def resized(one):
        if one is None:
            return None
        shape = tuple(data.draw(resize) if data.draw(st.booleans()) else n for n in one.shape)
        return replace(one, shape=shape, stride=None)

    if data.draw(st.booleans()):
        # The sizes of one name together, so that the equations between them hold more often.
        old, new = data.draw(resize), data.draw(resize)
        second = [
            None
            if one is None
            else replace(one, shape=tuple(new if n == old else n for n in one.shape), stride=None)
            for one in (*first.inputs, first.buffer)
        ]
    else:
        second = [resized(one) for one in (*first.inputs, first.buffer)]
    *inputs, buffer = second
    try:
        expected = checks.check(inputs, {"out": buffer})
    except SignatureError:
        expected = None

    sizes = checks.sizes(call)
    assert sizes is not None
    row = tuple(chain.from_iterable(one.shape for one in second if one is not None))
    found = sizes.outputs_for(row)
    if expected is None:
        assert found is None
    elif found is not None:
        assert found == [spec.shape for spec in expected.outputs.values()]
    else:
        outputs = [spec.numel for spec in expected.outputs.values()]
        assert 0 in row or 0 in outputs


def test_a_shape_chosen_by_a_size_is_left_to_the_checks(tmp_path):
    """Where a size decides more than sizes there is no short way."""
    (tmp_path / "family.yaml").write_text(CHOSEN)
    checks = CallChecks("ChosenFwdOp", manifest.load(tmp_path)["ChosenFwdOp"].signature, {})
    call = checks.check([f16(3)])
    assert checks.sizes(call) is None


CHOSEN = """
ChosenFwdOp:
  reference: nothing
  signature:
    inputs:
      a: {dtype: float16, shape: "[N]"}
    outputs:
      y: {dtype: float16, shape: "[N] if N > 2 else [1]"}
  workloads: {}
  roofline: {flops: 0, bytes: 0}
"""
