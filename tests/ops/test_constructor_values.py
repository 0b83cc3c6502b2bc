"""Numbers that no kernel could be built for stop the construction of every op."""

import math

import pytest

from tileops.errors import SignatureError
from tileops.ops._signature import workload_params
from tileops.ops.catalogue import in_tree_ops

FLOATS = [
    pytest.param(kind, param.name, id=f"{name}-{param.name}")
    for name, kind in in_tree_ops().items()
    for param in kind.signature().params
    if param.type.kind == "float"
]
EPSILONS = [one for one in FLOATS if one.values[1] == "eps"]


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
