"""Whether an implementation's forward takes the arguments of its interface."""

from abc import abstractmethod
from typing import ClassVar

import pytest
import torch

from scale_family import (
    ScaleCall,
    ScaleFwdInterface,
    ScaleKernel,
    op_of,
)
from tileops import errors
from tileops.kernels.gemm.call_spec import GemmFwdInterface
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.ops.gemm.gemm import GemmFwdOp
from tileops.ops.norm.layer_norm import LayerNormFwdOp


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


def test_a_subclass_of_a_kernel_runs_its_own_forward():
    """What the class that it derives from binds is not inherited with it."""

    class Zeros(LayerNormKernel):
        devices = frozenset({"cpu"})
        supported_archs = None

        @classmethod
        def entry_for(cls, call):
            return call.n, lambda: cls(call)

        def __init__(self, call):
            self.n = call.n

        def forward(self, x, weight, bias):
            return torch.zeros_like(x)

    class ZerosOp(LayerNormFwdOp):
        kernel_types: ClassVar = {"zeros": Zeros}

    ZerosOp.__name__ = "LayerNormFwdOp"
    x = torch.ones(3, 8)
    assert torch.equal(ZerosOp(8)(x), torch.zeros(3, 8))


def required(self, a, b, out):
    return torch.mm(a, b.T, out=out)


def renamed(self, a, b, c=None):
    return torch.mm(a, b.T, out=c)


def together(self, *tensors):
    a, b, out = tensors
    return torch.mm(a, b.T, out=out)


@pytest.mark.parametrize("forward", [required, renamed, together])
def test_an_output_buffer_is_passed_by_position(forward):
    """An implementation accepts its interface's parameters by position, under any names."""
    attributes = {"devices": frozenset({"cpu"}), "forward": forward}
    product = type("CpuProduct", (Kernel, GemmFwdInterface), attributes)

    class ProductOp(GemmFwdOp):
        kernel_types: ClassVar = {"product": product}

    ProductOp.__name__ = "GemmFwdOp"
    a, b = torch.randn(4, 8).half(), torch.randn(5, 8).half()
    out = torch.empty(4, 5).half()
    assert ProductOp()(a, b, out=out) is out
    assert torch.equal(out, ProductOp()(a, b))
