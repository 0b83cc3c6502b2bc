"""An op whose facts have the names of options, and values that are hard to spell."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod

from tileops.call_spec import CallSpec
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


@dataclasses.dataclass(frozen=True)
class WordsCall(CallSpec):
    """One fact per name or value that a command line could misread."""

    format: int = 1
    target: str = "x"
    schema: bool = False
    causal: bool | None = None
    modes: frozenset[str] = frozenset({"b", "a"})
    sizes: tuple[int, ...] = (1,)


class WordsFwdInterface(KernelInterface):
    """The interface."""

    request = WordsCall

    @abstractmethod
    def forward(self, x: object) -> object: ...


class WordsKernel(Kernel, WordsFwdInterface):
    """Serves nothing, and says what it was asked."""

    @classmethod
    def refusal(cls, call: WordsCall) -> str | None:
        asked = (call.format, call.target, call.schema, call.causal, sorted(call.modes), call.sizes)
        return f"serves nothing, got {asked}"

    def forward(self, x: object) -> object:
        return x


class WordsFwdOp(Op):
    """The op."""

    kernel_types = {"words": WordsKernel}
    interfaces = {"words": WordsFwdInterface}
