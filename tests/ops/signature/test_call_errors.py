"""Calls that do not fit: which condition, at which stage, about which tensor, in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tileops.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BufferShapeError,
    DeviceMismatchError,
    DtypeMismatchError,
    IncompleteGroupError,
    MissingInputError,
    NotATensorError,
    NotContiguousError,
    NotStridedError,
    OutputShapeError,
    RefinementError,
    ShapeMismatchError,
    TooManyInputsError,
    UnexpectedInputError,
    UnknownArgumentError,
)
from tileops.ops._signature import CallChecks, SignatureError
from tileops.tensor_spec import TensorSpec

Make = Callable[..., CallChecks]


def tensor(text: str, device: str = "cuda:0", stride: tuple[int, ...] | None = None) -> TensorSpec:
    """``f16[4, 8]`` as a description on a device."""
    name, _, sizes = text.rstrip("]").partition("[")
    dtypes = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
    dtypes |= {"f8": torch.float8_e4m3fn, "i64": torch.int64, "u8": torch.uint8}
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    return TensorSpec(shape, dtypes[name], torch.device(device), stride)


X = tensor("f16[32, 256]")
W = tensor("f16[256]")
MU = tensor("f32[8]")
IMAGE = tensor("f16[2, 8, 4, 4]")
Q = tensor("f16[1, 1, 8, 64]")
K = tensor("f16[1, 32, 2, 64]")
S = tensor("f32[1, 2]")


@pytest.mark.parametrize(
    ("stem", "params", "inputs", "error", "name", "message"),
    [
        # Presence, and being a tensor.
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (None, W), MissingInputError, "input",
            "input must be given, got None", id="required-none",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (), MissingInputError, "input",
            "input must be given, got None", id="nothing-passed",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (X, W, W, W), TooManyInputsError, "inputs",
            "takes the inputs input, weight, bias, got 4 tensors", id="too-many",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 2}, ([1.0, 2.0],), NotATensorError, "input",
            "input must be a tensor, got [1.0, 2.0] (list)", id="a-list",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 2}, (np.ones(2),), NotATensorError, "input",
            "input must be a tensor, got array([1., 1.]) (numpy.ndarray)", id="an-array",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 2}, (X, 1.0), NotATensorError, "weight",
            "weight must be a tensor, got 1.0 (float)", id="a-number",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 2}, (torch.ones(2, 2).to_sparse(),), NotStridedError,
            "input", "input must be a tensor with strides, got torch.sparse_coo", id="sparse",
        ),
        pytest.param(
            "BatchLike", {}, (IMAGE,), MissingInputError, "running_mean",
            "running_mean must be given with training = False, got None", id="required-to-infer",
        ),
        pytest.param(
            "BatchLike", {"training": True}, (IMAGE, MU), IncompleteGroupError, "running_var",
            "running_var must be given together with running_mean, got None", id="half-a-group",
        ),
        pytest.param(
            "AttentionLike", {}, (Q, K, None, S), IncompleteGroupError, "q_scale",
            "q_scale must be given together with k_scale, got None", id="second-half-of-a-group",
        ),
        pytest.param(
            "GroupLike", {"groups": 1}, (tensor("f32[2, 8]"), MU), UnexpectedInputError, "weight",
            "weight must be left out unless groups > 1 (groups = 1), "
            "got a tensor float32[8] on cuda:0", id="not-of-this-call",
        ),
        # Device.
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (X, tensor("f16[256]", "cpu")),
            DeviceMismatchError, "weight",
            "weight must be on cuda:0, as input is, got cpu", id="on-the-host",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (X, W, tensor("f16[256]", "cuda:1")),
            DeviceMismatchError, "bias",
            "bias must be on cuda:0, as input is, got cuda:1", id="on-another-gpu",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (tensor("f16[32, 256]", "meta"),),
            DeviceMismatchError, "input", "input must hold data, got meta", id="meta",
        ),
        pytest.param(
            "PackedLike", {}, (tensor("f16[32, 8]"), tensor("i64[3]")), DeviceMismatchError,
            "offsets", "offsets must be on cpu, got cuda:0", id="host-tensor-on-the-gpu",
        ),
        # Contiguity.
        pytest.param(
            "InplaceLike", {}, (tensor("f16[4, 8]", stride=(1, 4)), tensor("f32[]")),
            NotContiguousError, "x",
            "x must be contiguous, got shape (4, 8) with strides (1, 4)", id="written-transposed",
        ),
        # Dtypes.
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (tensor("i64[32, 256]"),), DtypeMismatchError,
            "input",
            "input must have dtype float16, bfloat16 or float32, got int64", id="not-allowed",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 2}, (torch.ones(2, dtype=torch.complex64),),
            DtypeMismatchError, "input",
            "input must have dtype float16, bfloat16 or float32, got complex64", id="complex",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (X, tensor("f32[256]")), DtypeMismatchError,
            "weight",
            "weight must have dtype float16, the T of input, got float32", id="variable-bound",
        ),
        pytest.param(
            "BatchLike", {}, (IMAGE, tensor("f16[8]"), MU), DtypeMismatchError, "running_mean",
            "running_mean must have dtype float32, got float16", id="a-literal",
        ),
        pytest.param(
            "InplaceLike", {}, (tensor("bf16[4]"), tensor("f32[]")), DtypeMismatchError, "x",
            "x must have dtype float16 or float32, got bfloat16", id="alternatives",
        ),
        pytest.param(
            "GroupLike", {"groups": 2, "affine_dtype": torch.bfloat16}, (tensor("f32[2, 8]"), MU),
            DtypeMismatchError, "weight",
            "weight must have dtype bfloat16, the affine_dtype of the op, got float32",
            id="a-parameter",
        ),
        # Shapes.
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (X, tensor("f16[128]")), ShapeMismatchError,
            "weight",
            "weight must have shape (256,), that is [*normalized_shape] with "
            "normalized_shape = (256,), got (128,)", id="parameter-splice",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": (2, 256)}, (tensor("f16[256]"),), ShapeMismatchError,
            "input",
            "input must have shape (*B, 2, 256), that is [*B, *normalized_shape] with "
            "normalized_shape = (2, 256), got (256,)", id="rank-too-small",
        ),
        pytest.param(
            "LayerNorm", {"normalized_shape": 256}, (tensor("f16[]"),), ShapeMismatchError, "input",
            "input must have shape (*B, 256), that is [*B, *normalized_shape] with "
            "normalized_shape = (256,), got ()", id="scalar",
        ),
        pytest.param(
            "FusedAddLike", {}, (tensor("f16[4, 8]"), tensor("f16[5, 8]"), tensor("f16[8]")),
            ShapeMismatchError, "residual",
            "residual must have shape (4, 8), that is [*B, N] with B = (4,) of x, N = 8 of x, "
            "got (5, 8)", id="splice-bound",
        ),
        pytest.param(
            "GemmLike", {}, (tensor("f16[32, 64]"), tensor("f16[128, 32]")), ShapeMismatchError,
            "b", "b must have shape (N, 64), that is [N, K] with K = 64 of a, got (128, 32)",
            id="dim-bound",
        ),
        pytest.param(
            "GemmLike", {"trans_a": True}, (tensor("f16[32, 64]"), tensor("f16[128, 64]")),
            ShapeMismatchError, "b",
            "b must have shape (N, 32), that is [N, K] with K = 32 of a, got (128, 64)",
            id="shape-chosen-by-a-parameter",
        ),
        pytest.param(
            "GroupLike", {"groups": 2}, (tensor("f32[2, 8]"), None, tensor("u8[3, 3]")),
            ShapeMismatchError, "packed",
            "packed must have shape (4, 3), that is [C // 2, 3] with C = 8 of x, got (3, 3)",
            id="computed",
        ),
        pytest.param(
            "GroupLike", {"groups": 2}, (tensor("f32[2, 8]"), None, tensor("u8[4, 2]")),
            ShapeMismatchError, "packed",
            "packed must have shape (4, 3), that is [C // 2, 3] with C = 8 of x, got (4, 2)",
            id="a-number",
        ),
        pytest.param(
            "InplaceLike", {}, (tensor("f16[4]"), tensor("f32[1]")), ShapeMismatchError, "scale",
            "scale must have shape (), got (1,)", id="no-dims",
        ),
        # Refinements.
        pytest.param(
            "AttentionLike", {}, (Q, tensor("f16[1, 32, 3, 64]")), RefinementError, "k, q",
            "heads are a multiple of the key heads (H % Hkv == 0), got H = 8 of q, Hkv = 3 of k",
            id="refined",
        ),
        pytest.param(
            "AttentionLike", {}, (Q, tensor("f16[1, 32, 0, 64]")), RefinementError, "k, q",
            "heads are a multiple of the key heads (H % Hkv == 0), got H = 8 of q, Hkv = 0 of k, "
            "where it has no value (integer modulo by zero)", id="refinement-without-a-value",
        ),
        pytest.param(
            "AttentionLike", {}, (Q, K, S, S), RefinementError, "q",
            "requires given(q_scale) == (T == float8_e4m3fn), got T = float16 of q, q_scale given",
            id="presence-by-dtype",
        ),
        pytest.param(
            "BatchLike", {"training": True}, (tensor("f16[1, 8]"),), RefinementError, "input",
            "requires not training or N * prod(spatial) != 1, "
            "got N = 1 of input, spatial = () of input, training = True", id="one-value-a-channel",
        ),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit(
    checks: Make,
    stem: str,
    params: dict[str, Any],
    inputs: tuple[Any, ...],
    error: type[SignatureError],
    name: str,
    message: str,
) -> None:
    """The class, the tensor and every word of the sentence."""
    with pytest.raises(error) as caught:
        checks(stem, **params).check(inputs)

    assert str(caught.value) == f"{stem}FwdOp: {message}"
    assert caught.value.tensor == name


@pytest.mark.parametrize(
    ("keywords", "error", "name", "message"),
    [
        pytest.param(
            {"buffers": {"outt": X}}, UnknownArgumentError, "outt",
            "outt is no output buffer; did you mean 'out'?", id="unknown-buffer",
        ),
        pytest.param(
            {"buffers": {"out": [1]}}, NotATensorError, "out",
            "out must be a tensor, got [1] (list)", id="buffer-a-list",
        ),
        pytest.param(
            {"buffers": {"out": tensor("f16[32, 128]", "cpu")}}, DeviceMismatchError, "out",
            "out must be on cuda:0, as a is, got cpu", id="buffer-elsewhere",
        ),
        pytest.param(
            {"buffers": {"out": tensor("f16[32, 128]", stride=(1, 32))}}, NotContiguousError, "out",
            "out must be contiguous, got shape (32, 128) with strides (1, 32)",
            id="buffer-transposed",
        ),
        pytest.param(
            {"buffers": {"out": tensor("bf16[32, 128]")}}, DtypeMismatchError, "out",
            "out must have dtype float16, as d has, got bfloat16", id="buffer-of-another-dtype",
        ),
        pytest.param(
            {"buffers": {"out": tensor("f16[128, 32]")}}, BufferShapeError, "out",
            "out must have shape (32, 128), as d has, got (128, 32)", id="buffer-of-another-shape",
        ),
        pytest.param(
            {"execution": {"split": 2}}, UnknownArgumentError, "split",
            "split is no execution argument; did you mean 'splits'?", id="unknown-execution",
        ),
        pytest.param(
            {"execution": {"splits": 2.0}}, ArgumentTypeError, "splits",
            "splits must be int | None, got 2.0 (float)", id="execution-of-another-type",
        ),
        pytest.param(
            {"execution": {"schedule": "fast"}}, ArgumentValueError, "schedule",
            "schedule must be auto or persistent, got 'fast' (str)", id="execution-no-choice",
        ),
    ],
)  # fmt: skip
def test_keywords_that_do_not_fit(
    checks: Make,
    keywords: dict[str, Any],
    error: type[SignatureError],
    name: str,
    message: str,
) -> None:
    """Buffers and execution arguments are checked like inputs and parameters."""
    with pytest.raises(error) as caught:
        checks("GemmLike").check((tensor("f16[32, 64]"), tensor("f16[128, 64]")), **keywords)

    assert str(caught.value) == f"GemmLikeFwdOp: {message}"
    assert caught.value.tensor == name


def test_an_output_without_a_shape(tmp_path: Any) -> None:
    """A size below zero, which a refinement should have refused, is still no tensor's size."""
    from tileops import manifest

    (tmp_path / "crop.yaml").write_text(
        "CropFwdOp:\n  reference: x[2:-2]\n  signature:\n"
        "    inputs:\n      x: {dtype: float16, shape: '[N]'}\n"
        "    outputs:\n      y: {dtype: float16, shape: '[N - 4]'}\n"
        "      z: {dtype: float16, shape: '[N / 2]'}\n"
        "  workloads: {}\n  roofline: {flops: 0, bytes: 0}\n"
    )
    checks = CallChecks("CropFwdOp", manifest.load(tmp_path)["CropFwdOp"].signature, {})

    with pytest.raises(OutputShapeError) as caught:
        checks.check((tensor("f16[3]"),))
    assert str(caught.value) == "CropFwdOp: y would have shape [N - 4] with N = 3, got (-1,)"
    with pytest.raises(OutputShapeError, match=r"z would have shape \[N / 2\] with N = 5"):
        checks.check((tensor("f16[5]"),))


FAULTS: dict[str, Callable[[dict[str, TensorSpec | None]], Any]] = {
    "presence": lambda call: call.update(running_var=None),
    "device": lambda call: call.update(weight=tensor("f32[8]", "cpu")),
    "dtype": lambda call: call.update(running_mean=tensor("f16[8]")),
    "shape": lambda call: call.update(running_var=tensor("f32[9]")),
    "refinement": lambda call: call.update(input=tensor("f16[2, 8, 1, 1, 1, 1]")),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [(a, b) for i, a in enumerate(FAULTS) for b in list(FAULTS)[i + 1 :]],
)
def test_the_earlier_stage_reports(checks: Make, first: str, second: str) -> None:
    """Of two faults the one of the earlier stage is reported, whichever tensor it is in."""
    call: dict[str, TensorSpec | None] = {
        "input": IMAGE,
        "running_mean": MU,
        "running_var": MU,
        "weight": MU,
    }
    FAULTS[second](call)
    FAULTS[first](call)

    with pytest.raises(SignatureError) as caught:
        checks("BatchLike").check(tuple(call.values()))

    assert caught.value.stage == first


def test_contiguity_comes_between_device_and_dtype(checks: Make) -> None:
    """A transposed tensor elsewhere is elsewhere; one of a wrong dtype is transposed."""
    scale = tensor("f32[]")
    with pytest.raises(SignatureError) as caught:
        checks("InplaceLike").check((tensor("bf16[4, 8]", stride=(1, 4)), tensor("f32[]", "cpu")))
    assert caught.value.stage == "device"

    with pytest.raises(SignatureError) as caught:
        checks("InplaceLike").check((tensor("bf16[4, 8]", stride=(1, 4)), scale))
    assert caught.value.stage == "contiguity"
