"""Nothing is answered about a call that no op makes, and nothing is built for one."""

from __future__ import annotations

import dataclasses
import enum
import math
from abc import abstractmethod
from typing import Annotated, Any

import pytest
import torch
from noting import noting, op_with, spec

from tileops.call_spec import CallSpec, Range
from tileops.errors import ImpossibleCallError, UnkeyableFactError
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


class Layout(enum.Enum):
    ROWS = "rows"


@dataclasses.dataclass(frozen=True)
class FactsCall(CallSpec):
    n: Annotated[int, Range(1, 100)] = 0
    eps: Annotated[float, Range(0.0)] = 1e-5
    causal: bool = False
    layout: Layout = Layout.ROWS
    dtype: torch.dtype = torch.float16
    heads: Annotated[int | None, Range(1, 8)] = None
    mode: str = "fast"
    other: Any = None  # tileops: ignore[call-spec-mutable-field] -- accepts anything

    def impossible(self):
        return "heads must divide n" if self.heads and self.n % self.heads else None


class FactsFwdInterface(KernelInterface):
    request = FactsCall

    @abstractmethod
    def forward(self, x): ...


built = []


class FactsKernel(Kernel, FactsFwdInterface):
    devices = frozenset({"cpu"})

    def __init__(self, call):
        super().__init__()
        built.append(call)

    def forward(self, x):
        return x


class FactsFwdOp(Op):
    kernel_types = {"facts": FactsKernel}
    interfaces = {"facts": FactsFwdInterface}


IMPOSSIBLE = [
    pytest.param({"n": 0}, "n must be 1 to 100, got 0", id="n-0"),
    pytest.param({"n": -1}, "n must be 1 to 100, got -1", id="n-negative"),
    pytest.param({"n": 101}, "n must be 1 to 100, got 101", id="n-above"),
    pytest.param({"n": 8.5}, "n must be an int, got 8.5 (float)", id="n-fraction"),
    pytest.param({"n": 8.0}, "n must be an int, got 8.0 (float)", id="n-float"),
    pytest.param({"n": True}, "n must be an int, got True (bool)", id="n-bool"),
    pytest.param({"n": "8"}, "n must be an int, got '8' (str)", id="n-text"),
    pytest.param({"n": None}, "n must be an int, got None (NoneType)", id="n-none"),
    pytest.param({"n": 7, "heads": 2}, "heads must divide n", id="its-own-reason"),
    pytest.param({"heads": 0}, "heads must be 1 to 8, got 0", id="optional-below"),
    pytest.param({"heads": 1.0}, "heads must be an int or None, got 1.0", id="optional-float"),
    pytest.param({"eps": -1e-9}, "eps must be 0.0 or more, got -1e-09", id="eps-negative"),
    pytest.param({"eps": math.inf}, "eps must be a finite number, got inf", id="eps-infinite"),
    pytest.param({"eps": 2**1024}, "eps must be a finite number, got 17976", id="eps-no-float"),
    pytest.param({"eps": 1e39}, "eps must be at most 2**127 in magnitude", id="eps-float32"),
    pytest.param({"eps": False}, "eps must be a finite number, got False (bool)", id="eps-bool"),
    pytest.param({"causal": 1}, "causal must be a bool, got 1 (int)", id="bool-int"),
    pytest.param({"layout": "rows"}, "layout must be a Layout, got 'rows' (str)", id="enum-text"),
    pytest.param({"dtype": "float16"}, "dtype must be a dtype, got 'float16' (str)", id="dtype"),
    pytest.param({"mode": 3}, "mode must be a str, got 3 (int)", id="text-int"),
]


def facts(**changes):
    return FactsCall(device="cpu", **{"n": 8, **changes})


@pytest.mark.parametrize(("changes", "message"), IMPOSSIBLE)
@pytest.mark.parametrize("ask", ["explain", "key_for", "kernel_for"])
def test_an_impossible_call(ask, changes, message):
    """The fact is named with what it must be and what it is, before and after a like build."""
    op = FactsFwdOp()
    for _ in range(2):
        built.clear()
        with pytest.raises(ImpossibleCallError) as caught:
            getattr(op, ask)("facts", facts(**changes))
        assert f"FactsFwdOp: no call of 'facts' has these facts: {message}" in str(caught.value)
        assert isinstance(caught.value, ValueError)
        assert built == []
        op.kernel_for("facts", facts())
        op.kernel_for("facts", facts(n=1))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        pytest.param({"arch": "90"}, "arch must be an int of 1 or more, got '90'", id="text"),
        pytest.param({"arch": 9.0}, "arch must be an int of 1 or more, got 9.0", id="float"),
        pytest.param(
            {"sm_count": True}, "sm_count must be an int of 1 or more, got True", id="bool"
        ),
        pytest.param({"smem_budget": -1}, "smem_budget must be an int of 1 or more", id="negative"),
        pytest.param({"smem_budget": 0}, "smem_budget must be an int of 1 or more", id="no-memory"),
        pytest.param({"sm_count": 0}, "sm_count must be an int of 1 or more, got 0", id="no-sm"),
    ],
)
def test_device_facts_that_no_device_has(stated, message):
    """What is stated of a device is checked as well."""
    op = FactsFwdOp()
    with pytest.raises(ImpossibleCallError, match=message):
        op.key_for("facts", FactsCall(n=8, **stated))
    with pytest.raises(ImpossibleCallError, match=message):
        op.explain("facts", FactsCall(n=8, **stated))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"n": 1}, id="lowest"),
        pytest.param({"n": 100}, id="highest"),
        pytest.param({"eps": 0.0}, id="eps-0"),
        pytest.param({"eps": 1}, id="eps-int"),
        pytest.param({"causal": True}, id="bool"),
        pytest.param({"heads": 8}, id="optional"),
        pytest.param({"heads": None}, id="optional-absent"),
        pytest.param({"other": (1, "x")}, id="of-no-plain-type"),
    ],
)
def test_a_possible_call(changes):
    """The ends of a range belong to it."""
    op = FactsFwdOp()
    assert op.key_for("facts", facts(**changes)) == "facts"
    assert isinstance(op.kernel_for("facts", facts(**changes)), FactsKernel)


def test_not_a_number():
    """It cannot key a cache either, which kernel_for says first."""
    op = FactsFwdOp()
    with pytest.raises(ImpossibleCallError, match="eps must be a finite number, got nan"):
        op.key_for("facts", facts(eps=math.nan))
    with pytest.raises(UnkeyableFactError, match="never equals itself"):
        op.kernel_for("facts", facts(eps=math.nan))


def test_a_call_spec_can_still_be_constructed():
    """Ranges act when a question is asked, not before."""
    assert facts(n=-1, eps=-1.0).impossible() is None


def test_a_request_of_the_op_itself():
    """An op that would ask for an impossible kernel builds none."""
    kernel_type, noted = noting()
    op = op_with(a=kernel_type)
    op.requests = lambda *inputs: (("layer_norm", spec(n=0)),)
    with pytest.raises(ImpossibleCallError, match="n must be at least 1, got 0"):
        op(torch.ones(3, 8))
    assert noted.built == []


@pytest.mark.parametrize("interface", [["layer_norm"], {}, None, 3, "layer"])
def test_an_interface_that_is_no_name_of_one(interface):
    """Whatever it is, the error names the interfaces there are."""
    op = op_with(a=noting()[0])
    for ask in (op.explain, op.key_for, op.kernel_for):
        with pytest.raises(KeyError, match="it has layer_norm"):
            ask(interface, spec())
