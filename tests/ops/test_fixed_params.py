"""What an op was constructed with stays as it is."""

import pytest
import torch
from blend_family import StirFwdOp

from tileops import BatchNormFwdOp
from tileops.errors import FixedParameterError
from tileops.ops._signature import workload_params
from tileops.ops.catalogue import in_tree_ops

PARAMS = [
    pytest.param(kind, param.name, id=f"{name}-{param.name}")
    for name, kind in in_tree_ops().items()
    for param in kind.signature().params
]


def constructed(kind):
    entry = kind.entry()
    return kind(**workload_params(entry.signature, entry.workloads[0]))


@pytest.mark.parametrize(("kind", "name"), PARAMS)
def test_a_parameter_is_not_assigned(kind, name):
    """The error names op and parameter, and the old value stays."""
    op = constructed(kind)
    before = getattr(op, name)
    message = f"{kind.__name__}: {name} cannot be assigned: .* Construct another op"
    for value in (before, 2.0, None):
        with pytest.raises(FixedParameterError, match=message) as caught:
            setattr(op, name, value)
        assert isinstance(caught.value, AttributeError)
    assert getattr(op, name) == before


@pytest.mark.parametrize(("kind", "name"), PARAMS)
def test_params_are_read_only(kind, name):
    """Ops with equal parameters share them."""
    op = constructed(kind)
    with pytest.raises(TypeError):
        op.params[name] = 2.0
    with pytest.raises(FixedParameterError, match="params"):
        op.params = {}


def test_a_class_may_have_a_default():
    """The constructor sets it once for the instance; other attributes are set at any time."""

    class WithDefault(StirFwdOp):
        gain = 1.0

        def __init__(self, gain):
            super().__init__(gain)
            self.gain = self.params["gain"]

    op = WithDefault(0.5)
    with pytest.raises(FixedParameterError, match="gain"):
        op.gain = 2.0
    op.label = "first"
    op.label = "second"
    assert (op.gain, op.label) == (0.5, "second")
    torch.testing.assert_close(op(torch.zeros(2, 4)), torch.full((2, 4), 0.5))


def test_a_default_that_is_the_value():
    """A parameter whose value is the very object that the class has as default is set too."""

    class WithDefault(BatchNormFwdOp):
        training = False

    op = WithDefault()
    with pytest.raises(FixedParameterError, match="training"):
        op.training = True
    assert op.training is False


def test_a_property_with_a_setter():
    """The constructor sets the parameter through the class's property, once."""

    class WithProperty(BatchNormFwdOp):
        @property
        def eps(self):
            return self.stored

        @eps.setter
        def eps(self, value):
            self.stored = value

    op = WithProperty(eps=0.5)
    with pytest.raises(FixedParameterError, match="eps"):
        op.eps = 2.0
    assert op.eps == 0.5


@pytest.mark.parametrize("name", ["eps", "params"])
def test_a_parameter_is_not_deleted(name):
    """Nor could it be assigned anew afterwards; other attributes can be deleted."""
    op = BatchNormFwdOp(eps=0.5)
    with pytest.raises(FixedParameterError, match=f"{name} cannot be assigned"):
        delattr(op, name)
    op.label = "first"
    del op.label
    assert (op.eps, op.params["eps"], hasattr(op, "label")) == (0.5, 0.5, False)


def test_training_does_not_follow_a_module():
    """What looks like a module's flag is a parameter."""
    op = BatchNormFwdOp(training=True)
    with pytest.raises(FixedParameterError, match="training"):
        op.training = False
