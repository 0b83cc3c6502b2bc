"""Cases: workloads of the manifest as calls, their rooflines, their sets of inputs."""

from __future__ import annotations

import pytest
import torch
from harness.case import Case, UnknownOpError, cases_of, chosen_ops
from harness.ceilings import roofline
from harness.inputs import NotEnoughMemoryError, input_sets, sets_for
from harness.record import Ceilings

from tileops import manifest
from tileops.manifest import TypedShape, Workload

ENTRY = manifest.load()["LayerNormFwdOp"]
CEILINGS = Ceilings(copy_tbs=4.0, read_tbs=5.0, gemm_tflops=800.0)


def layer_norm(rows, n, device="cpu", dtype="bfloat16"):
    """Return a case of LayerNormFwdOp."""
    inputs = {
        "input": TypedShape(dtype, (rows, n)),
        "weight": TypedShape(dtype, (n,)),
        "bias": TypedShape(dtype, (n,)),
    }
    workload = Workload(name="w", params={"normalized_shape": (n,)}, inputs=inputs)
    return Case.of(ENTRY, workload, device)


def test_every_workload_of_every_op_is_a_case():
    """The whole manifest builds for a device that need not be there: no tensor is made."""
    cases = cases_of(chosen_ops([]), "cuda")
    named = [case.name for case in cases]
    assert len(named) == len(set(named))
    assert "LayerNormFwdOp/hidden-4096-tokens-32768" in named
    assert all(case.cost.bytes > 0 and case.call.device.type == "cuda" for case in cases)


@pytest.mark.parametrize(
    ("names", "only", "sweep", "expected"),
    [
        pytest.param(
            ["norm"], "hidden-4096-token-1", False, {"hidden-4096-token-1"}, id="a-family"
        ),
        pytest.param(
            ["LayerNormFwdOp"], "LayerNormFwdOp/head-*", False,
            {"head-128-rows-1048576", "head-64-rows-524288"}, id="an-op-and-a-pattern",
        ),
        pytest.param(["LayerNormFwdOp"], "sweep-2880-*", False, set(), id="no-sweep"),
        pytest.param(
            ["LayerNormFwdOp"], "sweep-2880-*", True,
            {f"sweep-2880-rows-{rows}" for rows in (1, 128, 2048, 32768)}, id="a-sweep",
        ),
        pytest.param(
            ["LayerNormFwdOp"], "sweep-262144-*", True,
            {f"sweep-262144-rows-{rows}" for rows in (1, 128, 2048)}, id="a-sweep-within-bounds",
        ),
    ],
)  # fmt: skip
def test_cases_are_chosen_by_name_and_pattern(names, only, sweep, expected):
    """Ops or families first, then a pattern of workloads."""
    cases = cases_of(chosen_ops(names), "cuda", only, sweep)
    assert {case.workload.name for case in cases if case.entry is ENTRY} == expected
    assert {case.source for case in cases} <= ({"sweep"} if sweep else {"manifest"})


def test_the_sweep_of_the_matrix_product():
    """Each layer is multiplied by one token and by thousands, in the layout of a linear layer."""
    cases = cases_of(chosen_ops(["gemm"]), "cuda", "sweep-2112-7168-*", True)
    tokens = [1 << power for power in range(14)]
    assert [case.workload.name for case in cases] == [f"sweep-2112-7168-tokens-{m}" for m in tokens]
    assert [case.cost.flops for case in cases] == [2 * m * 2112 * 7168 for m in tokens]


def test_an_unknown_name_is_an_error():
    """The sentence lists what there is."""
    with pytest.raises(UnknownOpError, match=r"LayerNormFwdOp.*norm"):
        chosen_ops(["LayerNorm"])


def test_cost_and_bytes_of_a_case():
    """32768 rows of 4096 in bfloat16: 256 MiB in, 256 MiB out, two vectors of 8 KiB."""
    case = layer_norm(32768, 4096, "cuda")
    assert case.input_bytes == 2**28 + 2 * 8192
    assert case.output_bytes == 2**28
    assert case.cost.bytes == 2**29 + 2 * 8192


@pytest.mark.parametrize(
    ("ceilings", "bound", "us"),
    [
        pytest.param(CEILINGS, "copy", 134.2, id="copy"),
        pytest.param(
            Ceilings(copy_tbs=4.0, read_tbs=5.0, gemm_tflops=1.0), "compute", 1073.7, id="compute"
        ),
    ],
)
def test_the_roofline_is_the_slower_of_traffic_and_work(ceilings, bound, us):
    """536.9 MB at 4 TB/s, or 1.07 GFLOP at 1 TFLOP/s."""
    found, time = roofline(layer_norm(32768, 4096, "cuda"), ceilings)
    assert found == bound
    assert time == pytest.approx(us, rel=1e-3)


def test_a_call_that_mostly_reads_is_held_to_the_read_ceiling():
    """One row in, and a weight and a bias as long: two thirds are reads, which is not most."""
    few_rows = layer_norm(1, 4096, "cuda")
    assert few_rows.cost.bytes == 4 * 8192
    assert roofline(few_rows, CEILINGS) == ("copy", pytest.approx(4 * 8192 / 4e6))


@pytest.mark.parametrize(
    ("rows", "free", "sets"),
    [
        pytest.param(1, 2**36, 400, id="small-as-many-as-launches"),
        pytest.param(2048, 2**36, 8, id="as-many-as-make-it-cold"),
        pytest.param(32768, 2**36, 2, id="large-two"),
        pytest.param(32768, 3.5 * 2**30, 1, id="large-one-that-fits"),
    ],
)
def test_sets_are_as_many_as_keep_the_cache_cold_and_fit(rows, free, sets):
    """240 MiB lie between two uses of a set unless memory or the launches are fewer."""
    case = layer_norm(rows, 4096, "cuda")
    assert sets_for(case, int(free), cold_bytes=240 * 2**20, most=400) == sets


def test_a_case_that_does_not_fit_is_an_error():
    """One set with room for temporaries is the least."""
    with pytest.raises(NotEnoughMemoryError, match=r"needs 2\.5 GiB") as caught:
        sets_for(layer_norm(32768, 4096, "cuda"), 2**31, cold_bytes=2**28, most=400)
    assert caught.value.needed == 10 * 2**28 + 2 * 8192


def test_inputs_are_distinct_aligned_and_the_same_for_a_seed():
    """Sets differ, start at multiples of 256 bytes, have the shapes asked for, and repeat."""
    case = layer_norm(3, 7)
    sets = input_sets(case, 4, seed=1)
    x = [one[0] for one in sets]
    assert [tuple(t.shape) for t in sets[0]] == [(3, 7), (7,), (7,)]
    assert all(t.data_ptr() % 256 == x[0].data_ptr() % 256 for one in sets for t in one[:1])
    assert not torch.equal(x[0], x[1])
    assert all(
        torch.equal(a, b)
        for one, again in zip(sets, input_sets(case, 4, seed=1), strict=True)
        for a, b in zip(one, again, strict=True)
    )
    assert not torch.equal(x[0], input_sets(case, 4, seed=2)[0][0])


def test_inputs_are_normal_and_written_everywhere():
    """No element is left as the allocator found it."""
    case = layer_norm(257, 129, dtype="float32")
    values = torch.cat([one[0].flatten() for one in input_sets(case, 3, seed=0)])
    assert values.mean().abs() < 0.02
    assert values.std() == pytest.approx(1.0, abs=0.02)


def test_a_family_says_how_an_input_is_drawn():
    """A fill by name replaces the normal values."""
    fills = {"weight": lambda tensor, generator: tensor.fill_(2.0)}
    ((x, weight, bias),) = input_sets(layer_norm(4, 8), 1, seed=0, fills=fills)
    assert weight.tolist() == [2.0] * 8
    assert not torch.equal(x[0], torch.full((8,), 2.0, dtype=x.dtype))
    assert bias.std() > 0


def test_an_absent_input_stays_absent():
    """A workload without weight and bias passes None."""
    inputs = {"input": TypedShape("float16", (2, 8))}
    workload = Workload(name="w", params={"normalized_shape": (8,)}, inputs=inputs)
    ((x, weight, bias),) = input_sets(Case.of(ENTRY, workload, "cpu"), 1, seed=0)
    assert (x.dtype, weight, bias) == (torch.float16, None, None)
