"""Whether an implementation's forward takes the arguments of its interface."""

from abc import abstractmethod

import pytest
import torch

from scale_family import (
    ScaleCall,
    ScaleFwdInterface,
    ScaleKernel,
    op_of,
)
from tileops import errors
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel


class OneArgument(ScaleKernel):
    def forward(self, x):
        return x


class PositionalNames(ScaleKernel):
    def forward(self, data, by):
        return data * by


class FurtherWithDefaults(ScaleKernel):
    def forward(self, x, factor, chunk=4, *, verbose=False):
        return x * factor


class AnyArguments(ScaleKernel):
    def forward(self, *args, **keywords):
        return args[0]


class StaticForward(ScaleKernel):
    @staticmethod
    def forward(x, factor):
        return x * factor


class FurtherWithoutDefault(ScaleKernel):
    def forward(self, x, factor, chunk):
        return x


class KeywordOnlyFactor(ScaleKernel):
    def forward(self, x, *, factor):
        return x


class FurtherKeyword(ScaleKernel):
    def forward(self, x, factor, *, chunk):
        return x


class NoArguments(ScaleKernel):
    def forward(self):
        return None


class KeywordFwdInterface(KernelInterface):
    request = ScaleCall

    @abstractmethod
    def forward(self, x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor: ...


class WithOut(Kernel, KeywordFwdInterface):
    def forward(self, data, *, out):
        return out.copy_(data)


class OutPositional(Kernel, KeywordFwdInterface):
    def forward(self, data, out):
        return out


class OtherKeyword(Kernel, KeywordFwdInterface):
    def forward(self, data, *, result):
        return result


@pytest.mark.parametrize(
    ("kernel_type", "takes"),
    [
        pytest.param(ScaleKernel, True, id="same"),
        pytest.param(PositionalNames, True, id="other-names"),
        pytest.param(FurtherWithDefaults, True, id="further-with-defaults"),
        pytest.param(AnyArguments, True, id="star-args"),
        pytest.param(StaticForward, True, id="static"),
        pytest.param(WithOut, True, id="keyword-only-by-name"),
        pytest.param(OutPositional, True, id="keyword-only-by-name-positional-too"),
        pytest.param(OneArgument, False, id="too-few"),
        pytest.param(NoArguments, False, id="none"),
        pytest.param(FurtherWithoutDefault, False, id="further-without-default"),
        pytest.param(KeywordOnlyFactor, False, id="not-positionally"),
        pytest.param(FurtherKeyword, False, id="further-keyword-without-default"),
        pytest.param(OtherKeyword, False, id="keyword-only-under-another-name"),
    ],
)
def test_forward_takes_the_interface_arguments(kernel_type, takes):
    """Positional parameters bind by place, keyword-only ones by name, others need defaults."""
    op = op_of({"scale": ScaleFwdInterface, "keyword": KeywordFwdInterface}, a=kernel_type)
    if takes:
        op()
    else:
        with pytest.raises(errors.ForwardSignatureError, match="forward does not take"):
            op()


def test_keyword_only_arguments_reach_the_kernel():
    """Calling a kernel passes keywords on to its forward."""
    out = torch.zeros(2)
    assert WithOut()(torch.ones(2), out=out) is out
    assert out.tolist() == [1.0, 1.0]
