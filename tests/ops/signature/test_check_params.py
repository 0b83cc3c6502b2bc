"""Parameters are checked once, when an op is constructed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tileops.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingArgumentError,
    RefinementError,
    SignatureError,
    UnknownArgumentError,
)
from tileops.ops._signature import CallChecks

Make = Callable[..., CallChecks]


@pytest.mark.parametrize(
    ("stem", "given", "kept"),
    [
        pytest.param(
            "LayerNorm",
            {"normalized_shape": 256},
            {"normalized_shape": (256,), "eps": 1e-5},
            id="one-size-and-a-default",
        ),
        pytest.param(
            "LayerNorm",
            {"eps": 1, "normalized_shape": [8, 4]},
            {"normalized_shape": (8, 4), "eps": 1.0},
            id="order-of-the-signature",
        ),
        pytest.param(
            "RMSLike",
            {"normalized_shape": 4, "eps": None},
            {"normalized_shape": (4,), "eps": None},
            id="none-where-allowed",
        ),
        pytest.param(
            "AttentionLike", {"out_dtype": torch.float16}, {"out_dtype": torch.float16}, id="dtype"
        ),
        pytest.param("AttentionLike", {}, {"out_dtype": None}, id="no-dtype"),
        pytest.param(
            "GroupLike",
            {"groups": 2},
            {"groups": 2, "affine_dtype": torch.float32},
            id="default-dtype",
        ),
    ],
)
def test_parameters_are_kept_in_one_form(
    checks: Make, stem: str, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    """Defaults are filled in and values converted, in the order of the signature."""
    params = checks(stem, **given).params

    assert params == kept
    assert list(params) == list(kept)
    assert [type(value) for value in params.values()] == [type(value) for value in kept.values()]


@pytest.mark.parametrize(
    ("stem", "given", "error", "message"),
    [
        pytest.param(
            "LayerNorm",
            {},
            MissingArgumentError,
            "normalized_shape has no default and must be tuple[int, ...], got nothing",
            id="missing",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": 4, "epsilon": 1e-6},
            UnknownArgumentError,
            "epsilon is no parameter; did you mean 'eps'?",
            id="misspelt",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": 4, "eps": "small"},
            ArgumentTypeError,
            "eps must be float, got 'small' (str)",
            id="text-for-float",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": 4, "eps": None},
            ArgumentTypeError,
            "eps must be float, got None",
            id="none-for-float",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": torch.tensor([4])},
            ArgumentTypeError,
            "normalized_shape must be tuple[int, ...], got a tensor int64[1] on cpu",
            id="tensor-for-sizes",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": np.array([4, 4])},
            ArgumentTypeError,
            "normalized_shape must be tuple[int, ...], got array([4, 4]) (numpy.ndarray)",
            id="array-for-sizes",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": (4, -1)},
            ArgumentValueError,
            "normalized_shape must hold no negative size, got (4, -1) (tuple)",
            id="negative-size",
        ),
        pytest.param(
            "GroupLike",
            {"groups": -2},
            ArgumentValueError,
            "groups must hold no negative size, got -2 (int)",
            id="negative-axis",
        ),
        pytest.param(
            "RMSLike",
            {"normalized_shape": 4, "eps": float("inf")},
            ArgumentValueError,
            "eps must be finite, got inf (float)",
            id="infinite",
        ),
        pytest.param(
            "RMSLike",
            {"normalized_shape": 4, "eps": float("nan")},
            ArgumentValueError,
            "eps must be finite, got nan (float)",
            id="not-a-number",
        ),
        pytest.param(
            "LayerNorm",
            {"normalized_shape": ()},
            RefinementError,
            "normalized_shape names at least one dim (len(normalized_shape) >= 1), "
            "got normalized_shape = ()",
            id="refinement-with-a-sentence",
        ),
        pytest.param(
            "RMSLike",
            {"normalized_shape": 4, "eps": -1e-3},
            RefinementError,
            "requires eps is None or eps >= 0, got eps = -0.001",
            id="refinement-alone",
        ),
        pytest.param(
            "AttentionLike",
            {"out_dtype": "float16"},
            ArgumentTypeError,
            "out_dtype must be dtype | None, got 'float16' (str)",
            id="text-for-dtype",
        ),
        pytest.param(
            "AttentionLike",
            {"out_dtype": torch.float64},
            ArgumentValueError,
            "out_dtype must be bfloat16 or float16, got torch.float64 (torch.dtype)",
            id="dtype-not-among-the-choices",
        ),
        pytest.param(
            "AttentionLike",
            {"out_dtype": torch.complex64},
            ArgumentTypeError,
            "out_dtype must be dtype | None, got torch.complex64 (torch.dtype)",
            id="unknown-dtype",
        ),
        pytest.param(
            "GemmLike",
            {"trans_b": 1},
            ArgumentTypeError,
            "trans_b must be bool, got 1 (int)",
            id="int-for-bool",
        ),
    ],
)
def test_a_bad_parameter_is_named(
    checks: Make, stem: str, given: dict[str, Any], error: type[SignatureError], message: str
) -> None:
    """The error names the op, the parameter, what it must be and what it is."""
    with pytest.raises(error) as caught:
        checks(stem, **given)

    assert str(caught.value) == f"{stem}FwdOp: {message}"
    assert caught.value.op == f"{stem}FwdOp"
