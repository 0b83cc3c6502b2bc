"""Calls of new sizes: each differs from every other, and they run one program."""

from __future__ import annotations

import pytest
import torch
from harness.case import Case, cases_of, chosen_ops, smallest_of
from harness.new_sizes import SIZES, WARM, calls_of_new_sizes, new_sizes

from tileops import manifest
from tileops.device import DeviceFacts
from tileops.manifest import TypedShape, Workload

H200 = DeviceFacts(arch=90, sm_count=132, smem_budget=232448)


@pytest.fixture
def _h200(monkeypatch):
    """Let a CUDA device be described on a machine that has none."""
    monkeypatch.setattr("tileops.call_spec.facts_of", lambda device: H200)
    monkeypatch.setattr("tileops.call_spec.current_device", lambda: torch.device("cuda", 0))


def smallest(op):
    """Return the smallest case of an op on a CUDA device."""
    (case,) = smallest_of(cases_of(chosen_ops([op]), torch.device("cuda", 0)))
    return case


def programs(case, inputs):
    """Return the key and the build identity of every kernel of a call."""
    op = case.new_op()
    chosen = [
        (op.explain(name, call).selected.candidate, call) for name, call in op.requests(*inputs)
    ]
    return [(one.key, one.implementation.entry_for(call)[0]) for one, call in chosen]


@pytest.mark.usefixtures("_h200")
@pytest.mark.parametrize("op", [entry.name for entry in chosen_ops([])])
def test_every_op_has_calls_of_new_sizes(op):
    """All are different, the largest is first, and what the first built serves the others."""
    case = smallest(op)
    sizes = new_sizes(case)
    assert len(set(sizes)) == len(sizes) == SIZES + WARM
    assert case.inputs not in sizes
    elements = [sum(one.numel for one in inputs if one is not None) for inputs in sizes]
    assert elements[0] == max(elements)
    expected = programs(case, sizes[0])
    assert all(programs(case, inputs) == expected for inputs in sizes)


@pytest.mark.usefixtures("_h200")
@pytest.mark.parametrize(
    ("op", "change"),
    [
        pytest.param("LayerNormFwdOp", {"input": 0}, id="rows"),
        pytest.param("GQADenseFwdOp", {"k": 1, "v": 1}, id="keys-of-a-decoded-sequence"),
        pytest.param("GemmFwdOp", {"a": 0}, id="rows-of-one-factor"),
    ],
)
def test_one_dim_has_the_new_sizes(op, change):
    """Every tensor with that dim has the same size there, and all else is the case's."""
    case = smallest(op)
    names = [one.name for one in case.entry.signature.inputs]
    for inputs in new_sizes(case):
        changed = {
            name: [i for i, (a, b) in enumerate(zip(new.shape, old.shape, strict=True)) if a != b]
            for name, new, old in zip(names, inputs, case.inputs, strict=True)
            if new != old
        }
        assert changed == {name: [place] for name, place in change.items()}
        assert len({inputs[names.index(name)].shape[place] for name, place in change.items()}) == 1


def test_without_a_kernel_there_are_none():
    """Nothing of ours runs on a CPU."""
    (case,) = smallest_of(cases_of(chosen_ops(["RMSNormFwdOp"]), "cpu"))
    assert new_sizes(case) == ()
    assert list(calls_of_new_sizes(case)) == []


@pytest.mark.usefixtures("acme")
def test_the_calls_are_of_one_op_whose_kernel_is_built():
    """Each is made once; none builds, and each result has the size of its call."""
    inputs = {
        "input": TypedShape("float32", (3, 16)),
        "weight": TypedShape("float32", (16,)),
        "bias": TypedShape("float32", (16,)),
    }
    workload = Workload(name="n-16", params={"normalized_shape": (16,)}, inputs=inputs)
    case = Case.of(manifest.load()["LayerNormFwdOp"], workload, "cpu")
    with torch.no_grad():
        calls = list(calls_of_new_sizes(case))
        op = calls[0].func
        (built,) = op.iter_kernels()
        results = [call() for call in calls]
    assert len(calls) == SIZES
    assert {call.func for call in calls} == {op}
    assert [one.shape for one in results] == [call.args[0].shape for call in calls]
    assert len({one.shape for one in results}) == SIZES
    assert [one.kernel for one in op.iter_kernels()] == [built.kernel]
