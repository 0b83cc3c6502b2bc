"""Repairs: calls with the same result that a refused key would be selected for."""

import dataclasses
from typing import Annotated

import pytest
import torch

from scale_family import General, ScaleCall, ScaleFwdInterface, ScaleKernel, op_of
from tileops import BatchNormFwdOp, GemmFwdOp, GLAFwdOp, GQADenseFwdOp
from tileops.call_spec import Range, facts_declared
from tileops.introspect.fallback import refused_first_choices
from tileops.introspect.repair import repairs
from tileops.kernels.attention.gqa.call_spec import AttentionCall
from tileops.kernels.gemm.call_spec import GemmCall
from tileops.kernels.linear_attention.call_spec import GLACall
from tileops.kernels.norm.call_spec import BatchNormCall

H200 = {"arch": 90, "sm_count": 132, "smem_budget": 232448}
A100 = {"arch": 80, "sm_count": 108, "smem_budget": 166912}

GLA = {"dim_k": 128, "dim_v": 128}


def found(op, interface, call):
    selection = op().explain(interface, call)
    refused = [one.key for one in refused_first_choices(selection)]
    return refused, repairs(selection, refused)


@pytest.mark.parametrize(
    ("op", "interface", "call", "repair"),
    [
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=4096, n=4096, k=4097, **H200)),
            {"gemm_tma": {"k": 4104}},
            id="rows-between-vectors",
        ),
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=64, n=4096, k=4097, **H200)),
            {"gemm_skinny": {"k": 4104}},
            id="few-rows-between-vectors",
        ),
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=4096, n=15, k=4096, trans_b=False, **H200)),
            {"gemm_tma": {"n": 16}},
            id="padding-rather-than-another-layout",
        ),
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=4096, n=9, k=4096, trans_b=False, **H200)),
            {"gemm_tma": {"trans_b": True}},
            id="another-layout-rather-than-much-padding",
        ),
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=512, n=4097, k=4097, trans_b=False, **H200)),
            {"gemm_tma": {"n": 4104, "k": 4104}},
            id="two-facts",
        ),
        pytest.param(
            *(GemmFwdOp, "gemm", GemmCall(m=5, n=4096, k=4096, **A100)),
            {},
            id="more-rows-than-gemv",
        ),
        pytest.param(
            *(GQADenseFwdOp, "gqa_dense"),
            AttentionCall(batch=1, seqlen_kv=16384, dtype=torch.bfloat16, **H200),
            {"gqa_dense_decode_long_context": {"dtype": torch.float16}},
            id="another-16-bit-dtype",
        ),
        pytest.param(
            *(GQADenseFwdOp, "gqa_dense", AttentionCall(batch=8, seqlen_kv=4096, **H200)),
            {},
            id="a-batch-is-decoded",
        ),
        pytest.param(
            *(GLAFwdOp, "gla", GLACall(batch=4, seq_len=128, heads=16, **GLA, **H200)),
            {},
            id="a-short-sequence",
        ),
        pytest.param(
            *(GLAFwdOp, "gla", GLACall(batch=8, seq_len=4096, heads=32, **GLA, **H200)),
            {},
            id="many-sequences",
        ),
        pytest.param(
            *(BatchNormFwdOp, "batch_norm_fwd_train"),
            BatchNormCall(n=128, c=1000, spatial=12544, **H200),
            {},
            id="channels-too-large-for-the-chip",
        ),
    ],
)
def test_what_a_caller_can_repair(op, interface, call, repair):
    """Layouts, dtypes and padding are repairs; another size of the problem is none."""
    refused, repaired = found(op, interface, call)
    assert refused
    assert repaired == repair


@dataclasses.dataclass(frozen=True)
class TiledCall(ScaleCall):
    rows: Annotated[int, Range(1, 4096)] = 1
    wide: bool = False

    ADJUSTABLE = frozenset({"n"})

    def impossible(self):
        return "n must not be 40" if self.n == 40 else None


class TiledFwdInterface(ScaleFwdInterface):
    request = TiledCall


def tiled(needs):
    """Return an op with a general kernel and one that serves where *needs* holds."""

    class Tiled(ScaleKernel, TiledFwdInterface):
        @classmethod
        def refusal(cls, call):
            return None if needs(call) else "serves other calls"

    class Whole(General, TiledFwdInterface):
        pass

    return op_of({"tiled": TiledFwdInterface}, tiled=Tiled, whole=Whole)


@pytest.mark.parametrize(
    ("needs", "call", "repair"),
    [
        pytest.param(lambda c: c.n % 8 == 0, {"n": 65}, {"n": 72}, id="padded"),
        pytest.param(lambda c: c.n % 64 == 0, {"n": 1000}, {"n": 1024}, id="to-a-larger-multiple"),
        pytest.param(lambda c: c.n % 128 == 0, {"n": 1025}, {"n": 1152}, id="by-an-eighth"),
        pytest.param(lambda c: c.n % 128 == 0, {"n": 895}, {"n": 896}, id="by-one"),
        pytest.param(lambda c: c.n % 128 == 0, {"n": 897}, None, id="by-more-than-an-eighth"),
        pytest.param(lambda c: c.n % 8 == 0, {"n": 39}, None, id="to-an-impossible-call"),
        pytest.param(lambda c: c.n <= 64, {"n": 65}, None, id="smaller"),
        pytest.param(lambda c: c.rows % 8 == 0, {"n": 65, "rows": 63}, None, id="not-adjustable"),
        pytest.param(lambda c: c.wide, {"n": 65}, None, id="a-flag-that-is-not-adjustable"),
        pytest.param(
            lambda c: c.dtype == torch.bfloat16, {"n": 65}, {"dtype": torch.bfloat16}, id="cast"
        ),
        pytest.param(
            lambda c: c.dtype.itemsize == 1, {"n": 65}, None, id="narrower-than-a-cast-can-be"
        ),
        pytest.param(
            lambda c: c.dtype == torch.float16,
            {"n": 65, "dtype": torch.float8_e4m3fn},
            None,
            id="scaled-data-is-not-cast",
        ),
    ],
)
def test_how_far_a_repair_goes(needs, call, repair):
    """A size is padded by at most an eighth, data is cast between the common dtypes."""
    op = tiled(needs)
    refused, repaired = found(op, "tiled", TiledCall(device="cpu", **call))
    assert refused == ["tiled"]
    assert repaired.get("tiled") == repair


@pytest.mark.parametrize("spec", [GemmCall, AttentionCall, GLACall])
def test_adjustable_facts_exist(spec):
    """Call specs name facts that they have."""
    assert {one.name for one in facts_declared(spec)} >= spec.ADJUSTABLE
