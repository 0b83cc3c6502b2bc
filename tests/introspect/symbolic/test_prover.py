"""Questions to the solver: proofs, plainest calls, nearest calls, regions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tileops.introspect.formula import (
    Domain,
    FactDomain,
    Machine,
    Term,
    all_of,
    any_of,
    compare,
    const,
    evaluate,
    fact,
    is_none,
    member,
    negate,
    number,
)
from tileops.introspect.symbolic.prover import Prover, Status
from tileops.introspect.symbolic.regions import regions
from tileops.introspect.symbolic.witness import minimal, nearest

N, M = fact("n"), fact("m")
SMALL = Machine("cuda", 80, 108, 166912, "small")
LARGE = Machine("cuda", 90, 132, 232448, "large")
DOMAIN = Domain(
    (SMALL, LARGE, Machine("cpu")),
    (
        FactDomain("n", "int", 0, required=True, low=1, high=2**31),
        FactDomain("m", "int", 64, low=-100, high=4096),
        FactDomain("free", "int", 5),
        FactDomain("eps", "real", Fraction(1e-5), low=Fraction(0)),
        FactDomain("cap", "int", None, low=1, high=9, optional=True),
        FactDomain("dtype", "choice", "f16", values=("bf16", "f16", "f32")),
        FactDomain("paged", "choice", False, values=(False, True)),
    ),
)


def at_least(name: str, value: int) -> Term:
    return compare("ge", fact(name), const(value))


@pytest.fixture
def prover() -> Prover:
    return Prover(DOMAIN)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param(at_least("n", 1), {"n": 1, "m": 64, "cap": None, "paged": False}, id="plain"),
        pytest.param(at_least("n", 257), {"n": 257, "arch": 80}, id="least-number"),
        pytest.param(compare("lt", M, const(-7)), {"m": -8}, id="below-zero"),
        pytest.param(compare("lt", fact("free"), const(-7)), {"free": -8}, id="no-bound"),
        pytest.param(compare("gt", fact("eps"), const(Fraction(1, 2))), {"eps": 1}, id="round"),
        pytest.param(negate(is_none("cap")), {"cap": 1}, id="some"),
        pytest.param(member("dtype", ["f32", "bf16"]), {"dtype": "bf16"}, id="first-choice"),
        pytest.param(compare("gt", number("mul", N, const(4)), fact("smem_budget")),
                     {"n": 41729, "arch": 80}, id="device-fact"),
        pytest.param(all_of([at_least("n", 1), compare("ge", fact("arch"), const(89))]),
                     {"arch": 90, "sm_count": 132, "device_type": "cuda"}, id="machine"),
    ],
)  # fmt: skip
def test_the_plainest_call(prover: Prover, term: Term, expected: dict[str, object]) -> None:
    """Defaults are kept where they can be; numbers are as small as can be."""
    answer = minimal(prover, term)

    assert answer.values is not None
    assert evaluate(term, answer.values)
    assert {name: answer.values[name] for name in expected} == expected
    assert minimal(Prover(DOMAIN), term) == answer


@pytest.mark.parametrize(
    ("start", "term", "expected"),
    [
        pytest.param({"n": 512}, at_least("n", 1024), {"n": 1024}, id="upwards"),
        pytest.param({"n": 512}, compare("le", N, const(256)), {"n": 256}, id="downwards"),
        pytest.param({"n": 100}, compare("eq", number("mod", N, const(64)), const(0)),
                     {"n": 128}, id="nearer-multiple"),
        pytest.param({"n": 96}, compare("eq", number("mod", N, const(64)), const(0)),
                     {"n": 128}, id="of-two-the-greater"),
        pytest.param({"arch": 90, "sm_count": 132, "smem_budget": 232448},
                     at_least("n", 8), {"arch": 90, "n": 8}, id="machine-stays"),
    ],
)  # fmt: skip
def test_the_nearest_call(
    prover: Prover, start: dict[str, object], term: Term, expected: dict[str, object]
) -> None:
    """Facts stay where they can; numbers move as little as they must."""
    plain = minimal(prover).values
    assert plain is not None
    answer = nearest(prover, {**plain, **start}, term)

    assert answer.values is not None
    assert {name: answer.values[name] for name in expected} == expected


def test_that_there_is_no_such_call_is_a_proof(prover: Prover) -> None:
    """Nothing is found where nothing is."""
    assert prover.find(compare("lt", N, const(1))).proved_none
    assert prover.find(is_none("arch"), member("device_type", ["cuda"])).proved_none
    assert minimal(prover, compare("lt", N, const(1))).proved_none


def test_giving_up_is_no_answer() -> None:
    """A question beyond the effort is neither found nor proved."""
    domain = replace(
        DOMAIN, facts=tuple(FactDomain(x, "int", low=2, high=2**62) for x in ("n", "m", "k"))
    )
    cubes = [number("mul", fact(x), number("mul", fact(x), fact(x))) for x in ("n", "m", "k")]
    fermat = compare("eq", number("add", cubes[0], cubes[1]), cubes[2])
    answer = Prover(domain, effort=20_000).find(fermat)

    assert answer.status is Status.UNKNOWN
    assert not answer.found
    assert not answer.proved_none


def test_a_core_names_what_contradicts(prover: Prover) -> None:
    """Only the literals that matter are named, and none of them can be left out."""
    literals = [at_least("n", 5), member("dtype", ["f16"]), at_least("m", 9), compare("lt", N, M)]

    assert prover.core(literals, compare("lt", M, const(6))) == (2,)
    assert prover.core(literals) is None


def test_regions_cover_a_formula_and_nothing_else(prover: Prover) -> None:
    """The regions of a formula are all of it, and each is part of it."""
    formula = any_of([
        all_of([at_least("n", 257), member("dtype", ["f32"])]),
        all_of([compare("ne", number("mod", N, const(8)), const(0)), member("paged", [True])]),
    ])  # fmt: skip
    found = regions(prover, formula)

    assert found.complete
    assert {region.text() for region in found.found} == {
        "n >= 257, dtype is f32",
        "n % 8 != 0, paged",
    }
    covered = any_of(all_of(region.conditions) for region in found.found)
    assert prover.find(covered, negate(formula)).proved_none
    assert prover.find(formula, negate(covered)).proved_none
