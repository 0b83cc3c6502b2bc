"""The schema that a branch of effects declares to torch, by the signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.probe import ENTRIES
from tileops import manifest
from tileops.ops._graph._branch import branch_of
from tileops.ops._signature import CallChecks

FORMS = manifest.load(Path(__file__).parents[2] / "manifest" / "synthetic")
TAIL = "str params, SymInt instance)"


@pytest.mark.parametrize(
    ("op", "params", "given", "keywords", "name", "schema"),
    [
        pytest.param(
            "ProbeFwdOp",
            {},
            ["x"],
            [],
            "ProbeFwdOp",
            f"(Tensor x, Tensor? bias, {TAIL} -> Tensor",
            id="one-output",
        ),
        pytest.param(
            "ProbeFwdOp",
            {},
            ["x", "bias"],
            ["splits", "out"],
            "ProbeFwdOp_into_out_with_splits",
            f"(Tensor x, Tensor? bias, Tensor(a0!) out, int? splits, {TAIL} -> ()",
            id="buffer-and-execution",
        ),
        pytest.param(
            "AccumulateFwdOp",
            {},
            ["total", "x"],
            [],
            "AccumulateFwdOp_writes_total",
            f"(Tensor(a0!) total, Tensor x, {TAIL} -> Tensor",
            id="written-and-given-back",
        ),
        pytest.param(
            "FusedAddLikeFwdOp",
            {},
            ["x", "residual", "weight"],
            [],
            "FusedAddLikeFwdOp",
            f"(Tensor x, Tensor residual, Tensor weight, {TAIL} -> (Tensor, Tensor)",
            id="two-outputs",
        ),
        pytest.param(
            "BatchLikeFwdOp",
            {"training": True},
            ["input", "running_mean", "running_var"],
            [],
            "BatchLikeFwdOp_writes_running_mean_running_var",
            "(Tensor input, Tensor(a0!)? running_mean, Tensor(a1!)? running_var, Tensor? weight, "
            f"{TAIL} -> (Tensor, Tensor, Tensor)",
            id="written-in-training",
        ),
        pytest.param(
            "BatchLikeFwdOp",
            {"training": True},
            ["input"],
            [],
            "BatchLikeFwdOp",
            "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, "
            f"{TAIL} -> (Tensor, Tensor, Tensor)",
            id="nothing-there-to-write",
        ),
        pytest.param(
            "BatchLikeFwdOp",
            {"training": False},
            ["input", "running_mean", "running_var"],
            [],
            "BatchLikeFwdOp_returns_output",
            "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, "
            f"{TAIL} -> Tensor",
            id="fewer-outputs",
        ),
    ],
)
def test_schema(op, params, given, keywords, name, schema):
    """Written inputs and buffers are marked, absent outputs and those given back are left out."""
    signature = {**ENTRIES, **FORMS}[op].signature
    branch = branch_of(CallChecks(op, signature, params), given, keywords)
    assert branch.name(op, signature) == name
    assert branch.schema(signature) == schema
