"""Terms mean what Python means, whatever is folded, factored or substituted."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tileops.introspect.formula import (
    FALSE,
    TRUE,
    FormulaSyntaxError,
    Term,
    all_of,
    any_of,
    compare,
    const,
    evaluate,
    fact,
    member,
    negate,
    number,
    outline,
    power_of_two,
    read,
    render,
    restricted,
    substituted,
    where,
    write,
)

N, M = fact("n"), fact("m")
DTYPE = member("dtype", ["float16", "bfloat16"])
SHORT, LONG = compare("le", N, const(4)), compare("ge", N, const(64))
WIDE = compare("gt", M, const(9))


@pytest.mark.parametrize(
    ("term", "values", "expected"),
    [
        pytest.param(number("div", N, const(7)), {"n": -15}, -3, id="floors-a-negative"),
        pytest.param(number("mod", N, const(7)), {"n": -15}, 6, id="remainder-of-a-negative"),
        pytest.param(number("quot", N, const(3)), {"n": 2}, Fraction(2, 3), id="exact-quotient"),
        pytest.param(number("floor", fact("x")), {"x": Fraction(-1, 2)}, -1, id="floor"),
        pytest.param(number("bitlen", N), {"n": 256}, 9, id="bit-length"),
        pytest.param(number("exp2", N), {"n": 10}, 1024, id="power"),
        pytest.param(number("clearlow", N), {"n": 12}, 8, id="without-lowest-bit"),
        pytest.param(power_of_two(N), {"n": 64}, True, id="power-of-two"),
        pytest.param(power_of_two(N), {"n": 0}, False, id="zero-is-none"),
        pytest.param(power_of_two(N), {"n": -8}, False, id="negative-is-none"),
        pytest.param(DTYPE, {"dtype": "float32"}, False, id="not-a-member"),
        pytest.param(member("flag", [True]), {"flag": 1}, False, id="one-is-not-true"),
        pytest.param(member("cap", [None]), {"cap": None}, True, id="none"),
    ],
)
def test_evaluation(term: Term, values: dict[str, object], expected: object) -> None:
    """A term has the value that Python gives the expression."""
    assert evaluate(term, values) == expected


def test_a_later_part_is_evaluated_only_where_the_earlier_ones_decide_nothing() -> None:
    """A division stands behind its guard in conjunctions, disjunctions and their opposites."""
    guarded = all_of([compare("gt", M, const(0)), compare("eq", number("mod", N, M), const(0))])

    assert evaluate(guarded, {"n": 4, "m": 0}) is False
    assert evaluate(negate(guarded), {"n": 4, "m": 0}) is True


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        pytest.param(all_of([TRUE, DTYPE, DTYPE]), DTYPE, id="repeated"),
        pytest.param(all_of([DTYPE, FALSE]), FALSE, id="never"),
        pytest.param(any_of([]), FALSE, id="no-case"),
        pytest.param(negate(negate(DTYPE)), DTYPE, id="twice-negated"),
        pytest.param(compare("le", N, N), TRUE, id="equal-sides"),
        pytest.param(number("add", number("add", N, const(1)), const(2)),
                     number("add", N, const(3)), id="constants-add-up"),
        pytest.param(member("n", []), FALSE, id="no-value"),
        pytest.param(where(DTYPE, all_of([compare("le", N, const(4)), compare("gt", M, const(1))]),
                           compare("gt", M, const(1))),
                     all_of([any_of([negate(DTYPE), compare("le", N, const(4))]),
                             compare("gt", M, const(1))]), id="shared-end-split-off"),
        pytest.param(where(DTYPE, SHORT, where(WIDE, SHORT, LONG)),
                     where(any_of([DTYPE, WIDE]), SHORT, LONG), id="equal-cases-in-a-row"),
        pytest.param(where(DTYPE, where(WIDE, SHORT, LONG), LONG),
                     where(all_of([DTYPE, WIDE]), SHORT, LONG), id="equal-cases-nested"),
    ],
)  # fmt: skip
def test_simplification(built: Term, expected: Term) -> None:
    """Builders fold what needs no call to decide."""
    assert built == expected


@pytest.mark.parametrize(
    ("term", "text"),
    [
        pytest.param(compare("le", number("mul", N, const(4)), const(256)), "n * 4 <= 256",
                     id="product"),
        pytest.param(compare("eq", number("mod", number("add", N, M), const(8)), const(0)),
                     "(n + m) % 8 == 0", id="sum-in-remainder"),
        pytest.param(compare("eq", number("mul", number("div", N, const(16)), const(16)), N),
                     "(n // 16) * 16 == n", id="mixed-factors"),
        pytest.param(DTYPE, "dtype is float16 or bfloat16", id="choices"),
        pytest.param(negate(DTYPE), "dtype is not float16 or bfloat16", id="other-choices"),
        pytest.param(member("paged", [False]), "not paged", id="false"),
        pytest.param(negate(member("paged", [False])), "paged", id="not-false"),
        pytest.param(member("stages", [1]), "stages is 1", id="one-is-no-truth"),
        pytest.param(any_of([all_of([DTYPE, power_of_two(N)]), member("cap", [None])]),
                     "dtype is float16 or bfloat16 and n is a power of two or cap is none",
                     id="or-of-and"),
        pytest.param(all_of([any_of([member("a", [True]), member("b", [True])]), DTYPE]),
                     "(a or b) and dtype is float16 or bfloat16", id="and-of-or"),
        pytest.param(negate(power_of_two(N)), "n is no power of two", id="no-power"),
        pytest.param(where(WIDE, where(DTYPE, SHORT, LONG), compare("eq", M, const(1))),
                     "(n <= 4 if dtype is float16 or bfloat16 else n >= 64) if m > 9 else m == 1",
                     id="case-before-if"),
        pytest.param(where(WIDE, SHORT, where(DTYPE, LONG, compare("eq", M, const(1)))),
                     "n <= 4 if m > 9 else n >= 64 if dtype is float16 or bfloat16 else m == 1",
                     id="case-behind-else"),
    ],
)  # fmt: skip
def test_rendering(term: Term, text: str) -> None:
    """A term reads like the code it stands for."""
    assert render(term) == text


def _random_term(chance: random.Random, depth: int) -> Term:
    if depth == 0:
        return chance.choice([compare("le", N, const(chance.randint(-3, 9))), DTYPE, TRUE])
    parts = [_random_term(chance, depth - 1) for _ in range(3)]
    atom = compare("gt", number("mod", N, const(3)), number("neg", M))
    return chance.choice([all_of(parts), any_of(parts), negate(parts[0]), where(*parts), atom])


def _calls() -> list[dict[str, object]]:
    dtypes = ("float16", "bfloat16", "float32")
    return [{"n": n, "m": m, "dtype": d} for n in range(-4, 11) for m in (-2, 0, 5) for d in dtypes]


@pytest.mark.parametrize("seed", range(40))
def test_transformations_keep_the_meaning(seed: int) -> None:
    """Writing and reading, negation, substitution and restriction agree with evaluation."""
    term = _random_term(random.Random(seed), 3)
    ahead = substituted(term, "n", number("add", N, const(1)))
    fixed = substituted(term, "dtype", "float32")
    narrow = restricted(term, {"dtype": ("float16", "float32")})

    assert read(write(term)) == term
    for call in _calls():
        truth = evaluate(term, call)
        assert evaluate(negate(term), call) is not truth
        assert evaluate(ahead, call) == evaluate(term, {**call, "n": call["n"] + 1})
        assert evaluate(fixed, call) == evaluate(term, {**call, "dtype": "float32"})
        if call["dtype"] != "bfloat16":
            assert evaluate(narrow, call) == truth


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        pytest.param("(le n", "not closed", id="open-bracket"),
        pytest.param("(le n 4))", "follows the formula", id="closing-bracket"),
        pytest.param("(less n 4)", "no operator 'less'", id="operator"),
        pytest.param("(le n)", "takes 2 parts", id="arity"),
        pytest.param("(le n 4.5)", "cannot read the value", id="decimal"),
        pytest.param("none", "no formula", id="none"),
    ],
)
def test_what_is_no_formula_is_rejected(text: str, fragment: str) -> None:
    """Reading names what it cannot read."""
    with pytest.raises(FormulaSyntaxError, match=fragment):
        read(text)


def test_odd_names_are_quoted() -> None:
    """A choice that is no plain word, or looks like a constant, survives writing."""
    term = member("layout", ["true", "a b", 'quo"te', "bshd", None, True, 3])

    assert write(term) == '(in layout "true" "a b" "quo\\"te" bshd none true 3)'
    assert read(write(term)) == term


@pytest.mark.parametrize(
    ("term", "width", "lines"),
    [
        pytest.param(all_of([SHORT, WIDE]), 40, ["n <= 4 and m > 9"], id="short"),
        pytest.param(all_of([SHORT, WIDE]), 10, ["all of", "  n <= 4", "  m > 9"], id="and"),
        pytest.param(
            any_of([all_of([SHORT, WIDE]), LONG]),
            20,
            ["any of", "  n <= 4 and m > 9", "  n >= 64"],
            id="or-of-what-fits",
        ),
        pytest.param(
            where(WIDE, SHORT, LONG),
            20,
            ["where m > 9", "  n <= 4", "otherwise", "  n >= 64"],
            id="cases",
        ),
        pytest.param(DTYPE, 5, ["dtype is float16 or bfloat16"], id="what-cannot-be-divided"),
    ],
)
def test_outline(term: Term, width: int, lines: list[str]) -> None:
    """A term that is too long for a line has a condition in each, below what joins them."""
    assert list(outline(term, width)) == lines


@pytest.mark.parametrize(
    ("join", "ops", "numbers", "left"),
    [
        pytest.param(all_of, "gt gt", (256, 512), "n > 512", id="and-of-lower-ends"),
        pytest.param(all_of, "le le", (512, 256), "n <= 256", id="and-of-upper-ends"),
        pytest.param(all_of, "gt ge", (4, 4), "n > 4", id="and-where-one-is-open"),
        pytest.param(any_of, "le le", (64, 512), "n <= 512", id="or-of-upper-ends"),
        pytest.param(any_of, "ge gt", (4, 4), "n >= 4", id="or-where-one-is-open"),
        pytest.param(all_of, "gt le", (4, 9), "n > 4 and n <= 9", id="both-ends"),
        pytest.param(any_of, "gt le", (9, 4), "n > 9 or n <= 4", id="both-ends-outside"),
        pytest.param(all_of, "gt ne", (4, 9), "n > 4 and n != 9", id="not-a-bound"),
    ],
)
def test_of_bounds_only_the_deciding_one_is_kept(join, ops, numbers, left) -> None:
    """A conjunction keeps the strictest bound of a term, a disjunction the loosest."""
    terms = [compare(op, N, const(one)) for op, one in zip(ops.split(), numbers, strict=True)]
    assert render(join(terms)) == left
    for n in range(-2, 520, 3):
        expected = [evaluate(one, {"n": n}) for one in terms]
        assert evaluate(join(terms), {"n": n}) is (all if join is all_of else any)(expected)


def test_bounds_stay_where_the_first_of_them_stands() -> None:
    """What was defined behind a bound stays behind it."""
    ratio = compare("eq", number("mod", const(60), N), const(0))
    term = all_of((compare("gt", N, const(0)), ratio, compare("gt", N, const(4))))
    assert render(term) == "n > 4 and 60 % n == 0"


@pytest.mark.parametrize(
    ("term", "text"),
    [
        pytest.param(
            where(negate(member("flag", [True])), SHORT, LONG),
            "n >= 64 if flag else n <= 4",
            id="not",
        ),
        pytest.param(
            where(member("flag", [False]), SHORT, LONG), "n >= 64 if flag else n <= 4", id="false"
        ),
        pytest.param(
            number("mul", const(2), number("mul", N, M)), "2 * n * m", id="product-of-a-product"
        ),
        pytest.param(
            number("mul", N, number("div", M, const(2))), "n * (m // 2)", id="product-of-a-quotient"
        ),
    ],
)
def test_terms_read_plainly(term: Term, text: str) -> None:
    """No case is asked by a negation, and no bracket is shown that changes nothing."""
    assert render(term) == text
