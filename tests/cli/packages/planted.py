"""An op with three kernels, in which tests plant one fault after the other."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Annotated

import torch

from tileops.call_spec import CallSpec, Range
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op


@dataclasses.dataclass(frozen=True)
class DecodeCall(CallSpec):
    """Decoding over a cache."""

    batch: Annotated[int, Range(1, 4096)] = 1
    seqlen_kv: Annotated[int, Range(1, 2**20)] = 0
    dtype: torch.dtype = torch.float16

    def impossible(self) -> str | None:
        """Half precision only."""
        if self.dtype not in (torch.float16, torch.bfloat16):
            return f"dtype must be float16 or bfloat16, got {self.dtype}"
        return None


class DecodeFwdInterface(KernelInterface):
    """Decoding."""

    request = DecodeCall

    @abstractmethod
    def forward(self, q: object) -> object: ...


class DecodeKernel(Kernel, DecodeFwdInterface):
    """Serves whatever fits its index."""

    general = True
    supported_archs = [80, 89, 90]

    @classmethod
    def refusal(cls, call: DecodeCall) -> str | None:
        if call.seqlen_kv > 131072:
            return f"serves at most 131072 positions, got {call.seqlen_kv}"
        return super().refusal(call)

    def forward(self, q: object) -> object:
        return q


class DecodeBs1Kernel(DecodeKernel):
    """For one sequence."""

    general = False
    supported_archs = [89, 90]

    @classmethod
    def refusal(cls, call: DecodeCall) -> str | None:
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        return super().refusal(call)


class DecodeLongKernel(DecodeKernel):
    """For one sequence with a long cache."""

    general = False
    preferred_over = frozenset({"bs1"})

    @classmethod
    def refusal(cls, call: DecodeCall) -> str | None:
        if call.batch != 1 or call.seqlen_kv < 1024:
            return f"serves batch 1 and 1024 and more, got {call.batch} and {call.seqlen_kv}"
        return super().refusal(call)


class DecodeFwdOp(Op):
    """The op."""

    kernel_types = {"decode": DecodeKernel, "bs1": DecodeBs1Kernel, "long": DecodeLongKernel}
    interfaces = {"decode": DecodeFwdInterface}
