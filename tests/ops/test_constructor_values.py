"""Numbers that no kernel could be built for stop the construction of every op."""

import math

import pytest

from tileops import GQADenseFwdOp
from tileops.errors import RefinementError, SignatureError
from tileops.ops._signature import workload_params
from tileops.ops.catalogue import in_tree_ops

FLOATS = [
    pytest.param(kind, param.name, id=f"{name}-{param.name}")
    for name, kind in in_tree_ops().items()
    for param in kind.signature().params
    if param.type.kind == "float"
]
EPSILONS = [one for one in FLOATS if one.values[1] == "eps"]
MOMENTA = [one for one in FLOATS if one.values[1] == "momentum"]


def constructed(kind, **changes):
    entry = kind.entry()
    return kind(**{**workload_params(entry.signature, entry.workloads[0]), **changes})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("kind", "name"), FLOATS)
def test_a_number_is_finite(kind, name, value):
    """The error names op, parameter and value."""
    message = f"{kind.__name__}: {name} must be finite, got {value}"
    with pytest.raises(SignatureError, match=message) as caught:
        constructed(kind, **{name: value})
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("kind", "name"), EPSILONS)
def test_an_epsilon_is_not_negative(kind, name):
    """What a call spec calls impossible is refused before there is a call."""
    for value in (-1e-5, -1):
        message = rf"{kind.__name__}: .*eps >= 0.*, got eps = {float(value)}"
        with pytest.raises(SignatureError, match=message) as caught:
            constructed(kind, **{name: value})
        assert isinstance(caught.value, ValueError)
    for value in (0.0, 1e-5, 1):
        assert constructed(kind, **{name: value}).params[name] == value


@pytest.mark.parametrize(("kind", "name"), FLOATS)
def test_a_number_fits_float32(kind, name):
    """Programs hold it in float32, and may fold a small factor into it."""
    for value in (1e39, -1e39, 2.0**127 * 1.01, 10**40):
        message = f"{kind.__name__}: {name} must be at most 2\\*\\*127 in magnitude, got"
        with pytest.raises(SignatureError, match=message) as caught:
            constructed(kind, **{name: value})
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("kind", "name"), MOMENTA)
def test_a_momentum_is_a_share(kind, name):
    """Beyond 0 and 1 a running variance could become negative."""
    for value in (-0.1, 1.001, 2):
        message = rf"{kind.__name__}: .*momentum.*, got momentum = {float(value)}"
        with pytest.raises(SignatureError, match=message) as caught:
            constructed(kind, **{name: value})
        assert isinstance(caught.value, ValueError)
    for value in (0, 0.0, 0.25, 1):
        assert constructed(kind, **{name: value}).params[name] == value


@pytest.mark.parametrize(
    ("sm_scale", "softcap", "served"),
    [
        pytest.param(None, 0.0, True, id="no-cap"),
        pytest.param(2.0**127, None, True, id="the-largest-scale"),
        pytest.param(-0.5, 50.0, True, id="a-negative-scale"),
        pytest.param(None, 2.0**-126, True, id="the-least-cap"),
        pytest.param(None, 1e-38, False, id="a-subnormal-cap"),
        pytest.param(None, 5e-324, False, id="a-cap-that-vanishes"),
        pytest.param(1e30, 1e-7, True, id="a-ratio-that-fits"),
        pytest.param(1e30, 1e-8, False, id="a-ratio-that-does-not"),
        pytest.param(-1e30, 1e-8, False, id="a-negative-ratio-that-does-not"),
    ],
)
def test_a_cap_of_scores_fits_float32(sm_scale, softcap, served):
    """Scores are divided by the cap, which float32 must be able to."""
    if served:
        assert GQADenseFwdOp(sm_scale=sm_scale, softcap=softcap).params["softcap"] == softcap
        return
    with pytest.raises(RefinementError, match=r"softcap"):
        GQADenseFwdOp(sm_scale=sm_scale, softcap=softcap)


WRONG_TYPES = {
    "float": (True, "1", 1j, [1.0]),
    "bool": (0, 1, 1.0, "yes", None),
    "tuple[int, ...]": (True, (True,), 8.0, (8.0,), "8", None),
    "int": (True, 1.0, "1", None),
    "dtype": ("float16", 1),
    "str": (1, None),
}


@pytest.mark.parametrize(
    ("kind", "param"),
    [
        pytest.param(kind, param, id=f"{name}-{param.name}")
        for name, kind in in_tree_ops().items()
        for param in kind.signature().params
    ],
)
def test_a_value_has_its_type(kind, param):
    """No bool passes for a number, no number for a bool, and no text for either."""
    for value in WRONG_TYPES[param.type.kind]:
        message = f"{kind.__name__}: {param.name} must be "
        with pytest.raises(SignatureError, match=message) as caught:
            constructed(kind, **{param.name: value})
        assert isinstance(caught.value, TypeError)
