"""Which values of a fact can key a cache, and which cannot."""

import copy
import dataclasses
import enum
import types
from typing import Any

import pytest
import torch

from tileops.call_spec import CallSpec, check_keyable
from tileops.errors import UnkeyableFactError

OTHER = torch.device("privateuseone", 0)


class Layout(enum.Enum):
    ROWS = "row-major"
    PARTS = ["a", "list"]


@dataclasses.dataclass(frozen=True)
class Tile:
    rows: int
    parts: Any = ()


@dataclasses.dataclass(frozen=True)
class Hostile:
    def __hash__(self):
        raise ArithmeticError


@dataclasses.dataclass
class Mutable:
    rows: int = 1


@dataclasses.dataclass(frozen=True)
class AnyCall(CallSpec):
    value: Any = None  # tileops: ignore[call-spec-mutable-field] -- tests what is refused


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param(True, id="bool"),
        pytest.param(2**40, id="int"),
        pytest.param(1e-5, id="float"),
        pytest.param(float("inf"), id="infinity"),
        pytest.param("causal", id="str"),
        pytest.param(torch.bfloat16, id="dtype"),
        pytest.param(torch.device("cuda", 1), id="device"),
        pytest.param(Layout.ROWS, id="enum"),
        pytest.param(Layout.PARTS, id="enum-whose-value-is-a-list"),
        pytest.param((), id="empty-tuple"),
        pytest.param((1, (2.0, "x", None)), id="nested-tuple"),
        pytest.param(frozenset({1, (2, 3)}), id="frozenset"),
        pytest.param(Tile(1, (2, 3)), id="frozen-dataclass"),
        pytest.param((Tile(1), Tile(2, frozenset({"a"}))), id="tuple-of-dataclasses"),
        pytest.param(torch.Size([2, 3]), id="torch-size"),
    ],
)
def test_keyable(value):
    """Immutable values of the listed kinds key a cache, at any depth."""
    call = AnyCall(value=value)
    check_keyable(call)
    assert {call: 1}[AnyCall(value=copy.deepcopy(value))] == 1


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param([1, 2], "a list is mutable", id="list"),
        pytest.param({"a": 1}, "a dict is mutable", id="dict"),
        pytest.param({1}, "a set is mutable", id="set"),
        pytest.param(bytearray(b"x"), "a bytearray is mutable", id="bytearray"),
        pytest.param(types.MappingProxyType({}), "mutable", id="mapping"),
        pytest.param(torch.zeros(2), "a Tensor is mutable", id="tensor"),
        pytest.param(torch.nn.Parameter(torch.zeros(1)), "mutable", id="parameter"),
        pytest.param((1, [2]), "a list is mutable", id="list-in-a-tuple"),
        pytest.param((1, (2, {"a": 3})), "a dict is mutable", id="dict-two-tuples-deep"),
        pytest.param(Mutable(), "Mutable is not frozen", id="dataclass"),
        pytest.param((Mutable(),), "Mutable is not frozen", id="dataclass-in-a-tuple"),
        pytest.param(Tile(1, [2]), "a list is mutable", id="list-in-a-frozen-dataclass"),
        pytest.param(float("nan"), "never equals itself", id="nan"),
        pytest.param((1.0, float("nan")), "never equals itself", id="nan-in-a-tuple"),
        pytest.param(Hostile(), "its hash raises ArithmeticError", id="hash-raises"),
        pytest.param((1, Hostile()), "its hash raises ArithmeticError", id="hash-of-a-part"),
        pytest.param(len, "not among the keyable types", id="function"),
        pytest.param(object(), "not among the keyable types", id="object"),
        pytest.param(Mutable, "not among the keyable types", id="class"),
        pytest.param(1j, "not among the keyable types", id="complex"),
        pytest.param(b"x", "not among the keyable types", id="bytes"),
        pytest.param(range(3), "not among the keyable types", id="range"),
    ],
)
def test_unkeyable(value, problem):
    """Everything else is an error that names spec, field and problem, and keeps them."""
    with pytest.raises(UnkeyableFactError, match="cannot key a dispatch cache") as caught:
        check_keyable(AnyCall(value=value))
    assert problem in str(caught.value)
    assert str(caught.value).startswith("AnyCall.value is ")
    assert (caught.value.spec, caught.value.field) == ("AnyCall", "value")
    assert isinstance(caught.value, TypeError)


def test_unkeyable_value_is_shortened():
    """A long value does not fill the message."""
    with pytest.raises(UnkeyableFactError) as caught:
        check_keyable(AnyCall(value=list(range(10_000))))
    assert len(str(caught.value)) < 500
