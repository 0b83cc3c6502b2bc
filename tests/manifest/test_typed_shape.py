"""Tensors in text, parameter types, and the dtypes that the manifest knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tileops.manifest import FormError, ParamType, TypedShape
from tileops.manifest._itemsize import ITEMSIZE, SHORT


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        pytest.param("f16[32, 256]", "float16", (32, 256), id="short"),
        pytest.param("float16[32,256]", "float16", (32, 256), id="long-name"),
        pytest.param(" bf16 [ 8 ] ", "bfloat16", (8,), id="spaces"),
        pytest.param("i64[3,]", "int64", (3,), id="trailing-comma"),
        pytest.param("f32[]", "float32", (), id="scalar"),
        pytest.param("f8e4m3[0, 5]", "float8_e4m3fn", (0, 5), id="empty"),
    ],
)
def test_reads_a_tensor(text: str, dtype: str, shape: tuple[int, ...]) -> None:
    """The text and what it prints as mean the same tensor."""
    tensor = TypedShape.parse(text)

    assert tensor == TypedShape(dtype, shape)
    assert TypedShape.parse(str(tensor)) == tensor


@pytest.mark.parametrize(
    "text",
    [
        "f16",
        "f16[",
        "f16[2 3]",
        "f16[-1]",
        "f16[2,,3]",
        "f16[,]",
        "[2]",
        "f16[2]x",
        "q4[2]",
        3,
        None,
    ],
)
def test_refuses_what_is_no_tensor(text: Any) -> None:
    """A misspelt tensor never becomes another one."""
    with pytest.raises(FormError):
        TypedShape.parse(text)


def test_dtypes_are_those_of_torch() -> None:
    """Every name is torch's, with torch's size; every short form leads to one."""
    assert {name: getattr(torch, name).itemsize for name in ITEMSIZE} == ITEMSIZE
    assert sorted(SHORT.values()) == sorted(ITEMSIZE)


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        pytest.param("int", 3, 3, id="int"),
        pytest.param("int", np.int64(3), 3, id="numpy-int"),
        pytest.param("float", 3, 3.0, id="int-for-float"),
        pytest.param("float", np.float32(0.5), 0.5, id="numpy-float"),
        pytest.param("float | None", None, None, id="none"),
        pytest.param("bool", True, True, id="bool"),
        pytest.param("str", "fast", "fast", id="str"),
        pytest.param("dtype", "bfloat16", "bfloat16", id="dtype"),
        pytest.param("tuple[int, ...]", 4, (4,), id="one-size"),
        pytest.param("tuple[int, ...]", [4, 5], (4, 5), id="list-of-sizes"),
        pytest.param("tuple[int, ...]", torch.Size((4, 5)), (4, 5), id="torch-size"),
        pytest.param("tuple[int, ...] | None", (), (), id="no-sizes"),
    ],
)
def test_a_value_is_kept_in_one_form(kind: str, value: Any, kept: Any) -> None:
    """Equal parameters of different Python types become equal values of one type."""
    found = ParamType.parse(kind).normalise(value)

    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("int", 3.0, id="float-for-int"),
        pytest.param("int", True, id="bool-for-int"),
        pytest.param("int", None, id="none-for-int"),
        pytest.param("int", torch.tensor(3), id="tensor-for-int"),
        pytest.param("int", np.array(3), id="array-for-int"),
        pytest.param("float", "1e-5", id="text-for-float"),
        pytest.param("float", True, id="bool-for-float"),
        pytest.param("float", 1j, id="complex-for-float"),
        pytest.param("float", 10**400, id="int-too-large-for-float"),
        pytest.param("bool", 1, id="int-for-bool"),
        pytest.param("str", b"fast", id="bytes-for-str"),
        pytest.param("dtype", "half", id="no-dtype"),
        pytest.param("tuple[int, ...]", (4, 5.0), id="float-among-sizes"),
        pytest.param("tuple[int, ...]", (4, True), id="bool-among-sizes"),
        pytest.param("tuple[int, ...]", "45", id="text-for-sizes"),
        pytest.param("tuple[int, ...]", {4, 5}, id="set-for-sizes"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, value: Any) -> None:
    """Nothing is converted that a caller could have meant otherwise."""
    with pytest.raises(FormError):
        ParamType.parse(kind).normalise(value)


@pytest.mark.parametrize("text", ["integer", "int | float", "None", "int | None | None", 3, None])
def test_a_type_that_does_not_exist(text: Any) -> None:
    """The types are few, and each may be joined by None once."""
    with pytest.raises(FormError, match="type"):
        ParamType.parse(text)
