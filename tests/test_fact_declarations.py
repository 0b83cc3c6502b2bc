"""What call specs declare of their facts: ranges, defaults, and impossible calls."""

import dataclasses
import enum
from typing import Annotated, Any

import pytest
import torch

from tileops.call_spec import CallSpec, Fact, Range, facts_declared
from tileops.kernels.norm.call_spec import LayerNormCall

OTHER = torch.device("privateuseone", 0)


class Layout(enum.Enum):
    ROWS = "row-major"
    PARTS = ["a", "list"]


@dataclasses.dataclass(frozen=True)
class AnyCall(CallSpec):
    value: Any = None  # tileops: ignore[call-spec-mutable-field] -- tests what is refused


@dataclasses.dataclass(frozen=True)
class SeveralCall(CallSpec):
    n: Annotated[int, Range(1, 128)] = 0
    rate: Annotated[float, Range(0.0)] = 0.0
    fused: bool = False
    dtype: torch.dtype = torch.float16
    layout: Layout = Layout.ROWS
    window: Annotated[int, Range(1)] | None = None
    name: str = "plain"

    def impossible(self) -> str | None:
        return f"n must be at least 1, got {self.n}" if self.n < 1 else None


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        pytest.param(0, False, id="below"),
        pytest.param(1, True, id="low-end"),
        pytest.param(128, True, id="high-end"),
        pytest.param(129, False, id="above"),
        pytest.param(float("nan"), False, id="nan"),
    ],
)
def test_range(value, inside):
    """Both ends belong to a range."""
    assert (value in Range(1, 128)) is inside


def test_range_without_an_upper_end():
    """A range may be open above, and says so."""
    assert 10**12 in Range(1)
    assert 0 not in Range(1)
    assert (str(Range(1)), str(Range(1, 8))) == ("1 or more", "1 to 8")


def test_ranges_never_act_at_construction():
    """A value outside its range makes a spec all the same."""
    assert SeveralCall(n=-5, rate=-1.0).n == -5


def test_declared_facts():
    """The declarations list the spec's own facts in order, with kind, default, range and None."""
    assert facts_declared(SeveralCall) == (
        Fact("n", int, 0, Range(1, 128)),
        Fact("rate", float, 0.0, Range(0.0)),
        Fact("fused", bool, False),
        Fact("dtype", torch.dtype, torch.float16),
        Fact("layout", Layout, Layout.ROWS),
        Fact("window", int, None, Range(1), optional=True),
        Fact("name", str, "plain"),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithoutDefaultCall(CallSpec):
    trans_b: bool
    m: Annotated[int, Range(1)] = 1


@pytest.mark.parametrize(
    ("spec", "required"),
    [
        pytest.param(SeveralCall, {"n"}, id="default-outside-the-range"),
        pytest.param(LayerNormCall, {"n"}, id="layer-norm"),
        pytest.param(WithoutDefaultCall, {"trans_b"}, id="no-default"),
        pytest.param(AnyCall, set(), id="no-range"),
    ],
)
def test_required_facts(spec, required):
    """A fact is required when its default is none that a call can have."""
    assert {fact.name for fact in facts_declared(spec) if fact.required} == required


def test_layer_norm_ranges():
    """A row has 1 to 2**31 - 1 elements."""
    n = next(fact for fact in facts_declared(LayerNormCall) if fact.name == "n")
    assert [v in n.range for v in (0, 1, 2**31 - 1, 2**31)] == [False, True, True, False]


def test_plain_spec_declares_no_facts_and_nothing_is_impossible():
    """CallSpec itself has device facts only."""
    assert facts_declared(CallSpec) == ()
    assert CallSpec().impossible() is None


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [
        pytest.param({"n": 1}, None, id="smallest"),
        pytest.param({"n": 4, "dtype": torch.bfloat16}, None, id="bfloat16"),
        pytest.param({"n": 4, "dtype": torch.float32}, None, id="float32"),
        pytest.param({"n": 4, "eps": 0.0}, None, id="eps-0"),
        pytest.param({"n": 0}, "n must be at least 1, got 0", id="empty-row"),
        pytest.param({"n": -1}, "n must be at least 1, got -1", id="negative"),
        pytest.param({"n": 4, "eps": -1e-5}, "eps must not be negative", id="negative-eps"),
        pytest.param({"n": 4, "dtype": torch.float64}, "float64", id="float64"),
        pytest.param({"n": 4, "dtype": torch.int32}, "int32", id="integers"),
    ],
)
def test_impossible_layer_norm_calls(facts, fragment):
    """A spec says why no op makes such a call; being made it is not stopped."""
    reason = LayerNormCall(**facts).impossible()
    assert reason is None if fragment is None else fragment in reason
