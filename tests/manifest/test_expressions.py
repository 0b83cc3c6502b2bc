"""The manifest's expressions: what they evaluate to, and what cannot be written."""

from __future__ import annotations

import pickle

import pytest

from tileops.manifest import Expression, ExpressionError, FormError, Scope, TypedShape

SCOPE = Scope(
    values={
        "n": 6,
        "k": 4,
        "zero": 0,
        "nothing": None,
        "flag": True,
        "B": (2, 3),
        "none_left": (),
        "T": "bfloat16",
        "mode": "fast",
    },
    given=frozenset({"weight"}),
    tensors={"x": TypedShape("bfloat16", (2, 3, 6)), "y": TypedShape("float32", ())},
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("n + k * 2 - 1", 13, id="arithmetic"),
        pytest.param("-n // k", -2, id="floor-of-a-negative"),
        pytest.param("-(n // k)", -1, id="parentheses"),
        pytest.param("n % k", 2, id="remainder"),
        pytest.param("n / k", 1.5, id="quotient"),
        pytest.param("ceil_div(n, k)", 2, id="ceil-div"),
        pytest.param("ceil_div(2 * k, k)", 2, id="ceil-div-exact"),
        pytest.param("prod(B) * len(B) + sum(B)", 17, id="splice"),
        pytest.param("prod(none_left)", 1, id="empty-splice"),
        pytest.param("B[0]", 2, id="first"),
        pytest.param("B[-1]", 3, id="last"),
        pytest.param("max(n, k) - min(n, k)", 2, id="max-min"),
        pytest.param("itemsize(T)", 2, id="itemsize-of-a-variable"),
        pytest.param("itemsize(float8_e4m3fn)", 1, id="itemsize-of-a-dtype"),
        pytest.param("numel(x)", 36, id="numel"),
        pytest.param("nbytes(x)", 72, id="nbytes"),
        pytest.param("numel(y)", 1, id="numel-of-a-scalar"),
        pytest.param("nbytes(absent)", 0, id="absent-moves-nothing"),
        pytest.param("given(weight)", True, id="given"),
        pytest.param("given(bias)", False, id="absent"),
        pytest.param("nbytes(x) if given(weight) else 0", 72, id="conditional"),
        pytest.param("T == bfloat16", True, id="dtype-equal"),
        pytest.param("T in (float16, float32)", False, id="dtype-among"),
        pytest.param("T not in (float16, float32)", True, id="dtype-not-among"),
        pytest.param("mode == 'fast'", True, id="text"),
        pytest.param("nothing is None", True, id="is-none"),
        pytest.param("n is not None", True, id="is-not-none"),
        pytest.param("nothing is None or nothing > 0", True, id="or-stops"),
        pytest.param("zero != 0 and n // zero > 1", False, id="and-stops"),
        pytest.param("not flag", False, id="not"),
        pytest.param("1 < k <= 4 < n", True, id="chain"),
        pytest.param("1 < k < 4 < n", False, id="chain-broken"),
        pytest.param("k >= 4 == True", False, id="chain-as-in-python"),
        pytest.param(True, True, id="a-bool"),
        pytest.param(8, 8, id="a-number"),
    ],
)
def test_evaluates_as_python_does(text: object, value: object) -> None:
    """The values are those Python gives the same text."""
    assert Expression.parse(text).evaluate(SCOPE) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("__import__('os')", "unknown function '__import__'", id="import"),
        pytest.param("n.real", "Attribute has no place", id="attribute"),
        pytest.param("(lambda: 1)()", "call a function by its name", id="lambda-call"),
        pytest.param("lambda: 1", "Lambda has no place", id="lambda"),
        pytest.param("[i for i in B]", "ListComp has no place", id="comprehension"),
        pytest.param("n ** k", "Pow has no place", id="power"),
        pytest.param("n << k", "LShift has no place", id="shift"),
        pytest.param("(n := 3)", "NamedExpr has no place", id="assignment"),
        pytest.param("f'{n}'", "JoinedStr has no place", id="f-string"),
        pytest.param("B[0:1]", "Slice has no place", id="slice"),
        pytest.param("max(*B)", "Starred has no place", id="star"),
        pytest.param("max(B, key=n)", "without keywords", id="keyword"),
        pytest.param("given('weight')", "takes the name of one tensor", id="given-a-text"),
        pytest.param("numel(x, y)", "takes the name of one tensor", id="numel-of-two"),
        pytest.param("b'ab'", "is no constant", id="bytes"),
        pytest.param("...", "is no constant", id="ellipsis"),
        pytest.param("2j", "is no constant", id="complex"),
        pytest.param("n +", "cannot be read", id="unfinished"),
        pytest.param("n = 3", "cannot be read", id="statement"),
        pytest.param("", "cannot be read", id="empty"),
        pytest.param("n\0", "cannot be read", id="null-byte"),
        pytest.param(None, "expected a text", id="none"),
        pytest.param(["n"], "expected a text", id="a-list"),
        pytest.param(1.5, "expected a text", id="a-float"),
    ],
)
def test_refuses_what_is_no_plain_condition_or_size(text: object, problem: str) -> None:
    """Nothing that could run code, loop or build large values can be written."""
    with pytest.raises(FormError, match=problem.replace("(", r"\(")):
        Expression.parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("n // zero", "zero", id="division-by-zero"),
        pytest.param("nothing > 0", "not supported", id="none-compared"),
        pytest.param("missing + 1", "missing has no value", id="unbound"),
        pytest.param("none_left[0]", "out of range", id="empty-splice-indexed"),
        pytest.param("itemsize(mode)", "fast", id="itemsize-of-a-text"),
        pytest.param("max(none_left)", "empty", id="max-of-nothing"),
    ],
)
def test_an_expression_without_a_value(text: str, problem: str) -> None:
    """The error keeps the text, the values read and the reason."""
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text).evaluate(SCOPE)

    assert caught.value.text == text
    assert problem in caught.value.problem


def test_says_what_it_reads() -> None:
    """Names, presence and tensors are known before anything is evaluated."""
    expression = Expression.parse("n > len(B) and given(weight) and nbytes(x) > 0")

    assert expression.names == {"n", "B"}
    assert expression.given == {"weight"}
    assert expression.tensors == {"x"}
    assert expression.shown(SCOPE, {"n": "input"}) == "B = (2, 3), n = 6 of input, weight given"


def test_narrowing_decides_what_the_scope_decides() -> None:
    """A decided expression needs no scope any more; its text stays, for messages."""
    params = Scope({"n": 6})
    decided = Expression.parse("n > 4").narrowed(params)
    open_one = Expression.parse("n > 4 and given(weight)").narrowed(params)

    assert decided.evaluate(Scope({})) is True
    assert str(decided) == "n > 4"
    with pytest.raises(ExpressionError):
        open_one.evaluate(Scope({}))


def test_survives_pickling() -> None:
    """Records travel to worker processes."""
    expression = pickle.loads(pickle.dumps(Expression.parse("n % k == 2")))

    assert expression == Expression.parse("n % k == 2")
    assert expression.evaluate(SCOPE) is True
