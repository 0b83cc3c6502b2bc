"""What a call that passes is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tileops.manifest import OpEntry
from tileops.ops._signature import (
    BoundCall,
    CallChecks,
    Cost,
    cost_of,
    workload_inputs,
    workload_params,
)
from tileops.tensor_spec import TensorSpec

Make = Callable[..., CallChecks]
Spec = Callable[..., TensorSpec]

CUDA = torch.device("cuda:0")


def outputs(call: BoundCall) -> dict[str, str]:
    return {name: str(spec) for name, spec in call.outputs.items()}


def test_layer_norm_on_tensors(checks: Make) -> None:
    """Real tensors, the bias absent and the weight strided: everything a plan needs."""
    x = torch.ones(3, 5, 8, dtype=torch.float16)
    weight = torch.ones(16, dtype=torch.float16)[::2]

    call = checks("LayerNorm", normalized_shape=8, eps=1e-6).check((x, weight))

    assert call.op == "LayerNormFwdOp"
    assert call.device == torch.device("cpu")
    assert call.params == {"normalized_shape": (8,), "eps": 1e-6}
    assert call.dims == {"B": (3, 5)}
    assert call.dtypes == {"T": torch.float16}
    assert list(call.inputs) == ["input", "weight", "bias"]
    assert call.inputs["weight"] == TensorSpec((8,), torch.float16, call.device, (2,))
    assert call.inputs["bias"] is None
    assert call.given == {"input", "weight"}
    assert call.written == ()
    assert outputs(call) == {"output": "float16[3, 5, 8] on cpu"}
    assert not call.empty


def test_a_bound_call_is_frozen(checks: Make, spec: Spec) -> None:
    """A plan can keep it."""
    call = checks("FusedAddLike").check((spec("f16[4, 8]"), spec("f16[4, 8]"), spec("f16[8]")))

    with pytest.raises(AttributeError):
        call.op = "another"  # type: ignore[misc]
    assert outputs(call) == {
        "output": "float16[4, 8] on cuda:0",
        "residual_out": "float16[4, 8] on cuda:0",
    }


@pytest.mark.parametrize(
    ("training", "statistics", "written", "names"),
    [
        pytest.param(
            True, True, ("running_mean", "running_var"), ["output", "mean", "rstd"], id="train"
        ),
        pytest.param(True, False, (), ["output", "mean", "rstd"], id="train-without-statistics"),
        pytest.param(False, True, (), ["output"], id="infer"),
    ],
)
def test_presence_and_writing_depend_on_a_parameter(
    checks: Make, spec: Spec, training: bool, statistics: bool, written: Any, names: list[str]
) -> None:
    """Running statistics are written in training alone, which also returns mean and rstd."""
    running = spec("f32[8]") if statistics else None

    call = checks("BatchLike", training=training).check((spec("bf16[2, 8, 4]"), running, running))

    assert call.written == written
    assert list(call.outputs) == names
    assert call.dims == {"N": 2, "C": 8, "spatial": (4,)}
    if training:
        assert str(call.outputs["rstd"]) == "float32[8] on cuda:0"


def test_no_splice_at_all(checks: Make, spec: Spec) -> None:
    """A splice stands for no axis as well."""
    call = checks("BatchLike").check((spec("f16[2, 8]"), spec("f32[8]"), spec("f32[8]")))

    assert call.dims == {"N": 2, "C": 8, "spatial": ()}


@pytest.mark.parametrize(
    ("trans_a", "trans_b", "a", "b"),
    [
        pytest.param(False, True, "f16[3, 5]", "f16[7, 5]", id="nt"),
        pytest.param(False, False, "f16[3, 5]", "f16[5, 7]", id="nn"),
        pytest.param(True, False, "f16[5, 3]", "f16[5, 7]", id="tn"),
        pytest.param(True, True, "f16[5, 3]", "f16[7, 5]", id="tt"),
    ],
)
def test_a_shape_chosen_by_a_parameter(
    checks: Make, spec: Spec, trans_a: bool, trans_b: bool, a: str, b: str
) -> None:
    """Every layout binds the same dims."""
    call = checks("GemmLike", trans_a=trans_a, trans_b=trans_b).check((spec(a), spec(b)))

    assert call.dims == {"M": 3, "K": 5, "N": 7}
    assert outputs(call) == {"d": "float16[3, 7] on cuda:0"}


def test_buffers_and_execution_arguments(checks: Make, spec: Spec) -> None:
    """A buffer left out or None is absent; only the arguments passed are kept."""
    gemm, a = checks("GemmLike"), spec("f16[4, 8]")

    call = gemm.check((a, a), {"out": spec("f16[4, 4]")}, {"splits": 4})
    bare = gemm.check((a, a), {"out": None})

    assert call.buffers == {"d": "out"}
    assert call.execution == {"splits": 4}
    assert (bare.buffers, bare.execution) == ({}, {})


@pytest.mark.parametrize(
    ("params", "dtype", "scaled", "expected"),
    [
        pytest.param({}, "bf16", False, "bfloat16", id="as-the-input"),
        pytest.param({}, "f8e4m3", True, "bfloat16", id="fp8-defaults-to-bf16"),
        pytest.param({"out_dtype": torch.float16}, "f8e4m3", True, "float16", id="fp8-chosen"),
        pytest.param({"out_dtype": torch.float16}, "bf16", False, "float16", id="chosen"),
    ],
)
def test_an_output_dtype_chosen_by_parameter_and_variable(
    checks: Make, spec: Spec, params: dict[str, Any], dtype: str, scaled: bool, expected: str
) -> None:
    """The parameter comes first, then what the input's dtype implies."""
    scale = spec("f32[1, 2]") if scaled else None

    call = checks("AttentionLike", **params).check(
        (spec(f"{dtype}[1, 1, 8, 64]"), spec(f"{dtype}[1, 9, 2, 64]"), scale, scale)
    )

    assert outputs(call) == {"o": f"{expected}[1, 1, 8, 64] on cuda:0"}


def test_a_host_tensor_beside_device_tensors(checks: Make, spec: Spec) -> None:
    """The packed offsets stay on the host and do not decide the call's device."""
    call = checks("PackedLike").check((spec("f16[32, 8]"), spec("i64[3]", "cpu")))

    assert call.device == CUDA
    assert call.dtypes == {"T": torch.float16, "I": torch.int64}
    assert outputs(call) == {
        "y": "float16[32, 8] on cuda:0",
        "final_state": "float32[2, 8] on cuda:0",
    }


def test_an_input_given_back(checks: Make, spec: Spec) -> None:
    """An in-place op's output is its input, which is never copied."""
    x = spec("f32[4, 4]", "cuda:0", (4, 1))

    call = checks("InplaceLike").check((x, spec("f32[]")))

    assert call.aliases == {"y": "x"}
    assert call.written == ("x",)
    assert call.outputs == {"y": x}


@pytest.mark.parametrize(
    ("stem", "params", "inputs", "empty"),
    [
        pytest.param("LayerNorm", {"normalized_shape": 8}, ["f16[0, 8]"], True, id="no-rows"),
        pytest.param("LayerNorm", {"normalized_shape": 0}, ["f16[4, 0]"], True, id="no-columns"),
        pytest.param("LayerNorm", {"normalized_shape": 8}, ["f16[8]"], False, id="one-row"),
        pytest.param("GemmLike", {}, ["f16[0, 8]", "f16[4, 8]"], True, id="no-m"),
        pytest.param("GemmLike", {}, ["f16[3, 0]", "f16[4, 0]"], False, id="no-k-still-writes"),
        pytest.param(
            "BatchLike",
            {"training": True},
            ["f16[0, 8, 4]"],
            False,
            id="no-batch-writes-statistics",
        ),
        pytest.param(
            "BatchLike", {}, ["f16[0, 8, 4]", "f32[8]", "f32[8]"], True, id="no-batch-inference"
        ),
        pytest.param("InplaceLike", {}, ["f16[0]", "f32[]"], True, id="nothing-in-place"),
    ],
)
def test_empty_means_that_no_element_is_written(
    checks: Make, spec: Spec, stem: str, params: dict[str, Any], inputs: list[str], empty: bool
) -> None:
    """Outputs and written inputs count; inputs that are only read do not."""
    assert checks(stem, **params).check([spec(text) for text in inputs]).empty is empty


def test_a_written_input_with_strides_is_passed_as_it_is(tmp_path: Any, spec: Spec) -> None:
    """Without ``contiguous: true`` the kernel writes through the caller's strides."""
    from tileops import manifest

    (tmp_path / "shift.yaml").write_text(
        "ShiftFwdOp:\n  reference: x.add_(y)\n  signature:\n    inputs:\n"
        "      x: {dtype: float16, shape: '[M, N]', written: true}\n"
        "      y: {dtype: float16, shape: '[M, N]'}\n"
        "  workloads: {}\n  roofline: {flops: M * N, bytes: 3 * nbytes(x)}\n"
    )
    checks = CallChecks("ShiftFwdOp", manifest.load(tmp_path)["ShiftFwdOp"].signature, {})
    strided = spec("f16[4, 8]", "cuda:0", (1, 4))

    call = checks.check((strided, strided))

    assert (call.written, call.outputs) == (("x",), {})
    assert not call.empty


def test_every_workload_passes_its_own_checks(entries: dict[str, OpEntry]) -> None:
    """A workload is a call that the op serves, here and on the host alike."""
    for entry in entries.values():
        for workload in entry.workloads:
            params = workload_params(entry.signature, workload)
            checks = CallChecks(entry.name, entry.signature, params)
            for device in ("cuda:0", "cpu"):
                call = checks.check(workload_inputs(entry.signature, workload, device))
                assert call.given == workload.inputs.keys(), (entry.name, workload.name)
                cost = cost_of(entry.roofline, call)
                assert cost.flops > 0, (entry.name, workload.name)
                assert cost.bytes > 0, (entry.name, workload.name)


@pytest.mark.parametrize(
    ("op", "workload", "cost"),
    [
        # 32768 * 4096 elements of two bytes read and written, two rows of 4096 read.
        pytest.param(
            "LayerNormFwdOp",
            "hidden-4096-tokens-32768",
            Cost(8 * 32768 * 4096, 2 * 32768 * 4096 * 2 + 2 * 4096 * 2),
            id="layer-norm",
        ),
        pytest.param(
            "LayerNormFwdOp",
            "hidden-1152-tokens-8192",
            Cost(8 * 8192 * 1152, 2 * 8192 * 1152 * 2),
            id="layer-norm-without-affine",
        ),
        pytest.param("RMSLikeFwdOp", "small", Cost(4 * 256, (2 * 4 + 1) * 64 * 2), id="given"),
        pytest.param(
            "AttentionLikeFwdOp",
            "fp8",
            Cost(4 * 8 * 32 * 64, 8 * 64 + 32 * 2 * 64 + 8 * 64 * 2),
            id="dtypes-differ",
        ),
        pytest.param("GroupLikeFwdOp", "small", Cost(64, 2 * 64 * 4 + 2 * 2 * 4), id="outputs"),
    ],
)
def test_the_roofline_of_a_workload(
    entries: dict[str, OpEntry], op: str, workload: str, cost: Cost
) -> None:
    """Flops and bytes as counted by hand."""
    entry = entries[op]
    found = next(one for one in entry.workloads if one.name == workload)
    checks = CallChecks(op, entry.signature, workload_params(entry.signature, found))

    assert (
        cost_of(entry.roofline, checks.check(workload_inputs(entry.signature, found, "cpu")))
        == cost
    )


def test_symbolic_sizes_pass_through() -> None:
    """Under torch.compile sizes are symbols: they bind dims and size the outputs."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    from tileops import manifest

    mode = FakeTensorMode(shape_env=ShapeEnv())
    context = StatelessSymbolicContext([DimDynamic.DYNAMIC, DimDynamic.STATIC])
    x = mode.from_tensor(torch.ones(5, 8), symbolic_context=context)
    signature = manifest.load()["LayerNormFwdOp"].signature

    call = CallChecks("LayerNormFwdOp", signature, {"normalized_shape": 8}).check((x,))

    assert isinstance(call.outputs["output"].shape[0], torch.SymInt)
    assert call.outputs["output"].shape[1] == 8
