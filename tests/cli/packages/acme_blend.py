"""An op outside the tree: two interfaces, and kernels that reach every stage."""

from __future__ import annotations

import dataclasses
import enum
from abc import abstractmethod
from typing import Annotated

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


class Mode(enum.Enum):
    """How exact the result is."""

    FAST = 1
    EXACT = 2


@dataclasses.dataclass(frozen=True)
class BlendCall(CallSpec):
    """One fact of every kind that a command line spells differently."""

    n: Annotated[int, Range(1, 4096)] = 0
    batch: Annotated[int, Range(1)] = 1
    scale: Annotated[float | None, Range(0.0)] = None
    mode: Mode = Mode.FAST
    causal: bool = False

    def impossible(self) -> str | None:
        """A batch is cut from the n elements."""
        return "batch must not exceed n" if self.batch > self.n else None


@dataclasses.dataclass(frozen=True)
class SplitCall(CallSpec):
    """The call spec of the second interface."""

    n: Annotated[int, Range(1, 4096)] = 0
    parts: Annotated[int, Range(1)] = 1


class BlendFwdInterface(KernelInterface):
    """The interface that four kernels share."""

    request = BlendCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class SplitFwdInterface(KernelInterface):
    """The interface whose kernels forgot to state precedence."""

    request = SplitCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class BlendKernel(Kernel, BlendFwdInterface):
    """The general one."""

    general = True
    supported_archs = [80, 86, 89, 90]

    def forward(self, x: object) -> object:
        return x


class BlendNarrowKernel(BlendKernel):
    """For few elements; anything over it must say so."""

    general = False

    @classmethod
    def refusal(cls, call: BlendCall) -> str | None:
        if call.n > 256:
            return f"serves n of at most 256, got {call.n}"
        return super().refusal(call)


class BlendTmaKernel(BlendKernel):
    """For one architecture, over the narrow one."""

    general = False
    supported_archs = [90]
    preferred_over = frozenset({"blend_narrow"})

    @classmethod
    def refusal(cls, call: BlendCall) -> str | None:
        if call.n % 8:
            return f"needs n to be a multiple of 8, got {call.n}"
        return super().refusal(call)


class BlendSingleKernel(BlendKernel):
    """Over the narrow one through the TMA one; defective for n = 666."""

    general = False
    preferred_over = frozenset({"blend_tma"})

    @classmethod
    def refusal(cls, call: BlendCall) -> str | None:
        if call.n == 666:
            raise ArithmeticError("no such size")
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        if not call.causal:
            return "serves causal calls, got causal false"
        return super().refusal(call)


class SplitKernel(Kernel, SplitFwdInterface):
    """Serves every split."""

    def forward(self, x: object) -> object:
        return x


class SplitManyKernel(SplitKernel):
    """Overlaps the other on parts > 4, undeclared."""

    @classmethod
    def refusal(cls, call: SplitCall) -> str | None:
        if call.parts <= 4:
            return f"serves more than 4 parts, got {call.parts}"
        return super().refusal(call)


class BlendFwdOp(Op):
    """The op."""

    kernel_types = {
        "blend": BlendKernel,
        "blend_narrow": BlendNarrowKernel,
        "blend_tma": BlendTmaKernel,
        "blend_single": BlendSingleKernel,
        "split": SplitKernel,
        "split_many": SplitManyKernel,  # tileops: ignore[undeclared-overlap]
    }
    interfaces = {"blend": BlendFwdInterface, "split": SplitFwdInterface}
