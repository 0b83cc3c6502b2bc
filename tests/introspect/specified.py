"""The example classes of the two pages on adding kernels and joining as a backend, and more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from tileops.call_spec import CallSpec, Range
from tileops.introspect.symbolic.exploration import Explored, explore
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.selection import Candidate, SelectionTable


def explored(spec: type[CallSpec], **kernels: type[Kernel]) -> Explored:
    """Explore an interface with these keys."""
    candidates = [Candidate(key, kernel) for key, kernel in kernels.items()]
    return explore(SelectionTable("ExampleFwdOp", "example", candidates), spec)


@dataclass(frozen=True)
class AttentionCall(CallSpec):
    batch: Annotated[int, Range(1, 2**16)] = 1
    heads: Annotated[int, Range(1, 1024)] = 32
    heads_kv: Annotated[int, Range(1, 1024)] = 4
    seqlen_q: Annotated[int, Range(1, 2**24)] = 1
    seqlen_kv: Annotated[int, Range(1, 2**24)] = 0
    dim: Annotated[int, Range(1, 1024)] = 128
    dtype: torch.dtype = torch.float16
    softcap: Annotated[float, Range(0.0)] = 0.0
    fuse_rope: bool = False
    paged: bool = False

    def impossible(self) -> str | None:
        if self.heads % self.heads_kv:
            return f"heads must be a multiple of heads_kv, got {self.heads} and {self.heads_kv}"
        if self.dtype not in (torch.float16, torch.bfloat16):
            return f"dtype must be float16 or bfloat16, got {self.dtype}"
        return None

    @property
    def dense_decode_region(self) -> bool:
        return not self.paged and self.seqlen_q == 1


class GQADecodeKernel(Kernel):
    general = True
    supported_archs = [80, 89, 90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        if not call.dense_decode_region:
            return "serves one query over a dense cache"
        return super().refusal(call)


class GQADecodeBs1Kernel(GQADecodeKernel):
    general = False
    supported_archs = [90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        return super().refusal(call)


class GQADecodeLongContextKernel(GQADecodeKernel):
    general: bool = False
    preferred_over = frozenset({"bs1"})

    @classmethod
    def refusal(cls, call: AttentionCall) -> str | None:
        served = (
            call.dense_decode_region
            and not call.fuse_rope
            and call.seqlen_kv >= 1024
            and call.batch == 1
            and call.heads == 32
            and call.heads_kv == 4
            and call.dim == 128
            and call.dtype == torch.float16
            and call.softcap == 0.0
        )
        return None if served else "does not serve this call"


class UndeclaredLongContextKernel(GQADecodeLongContextKernel):
    preferred_over = frozenset()


class ShortRowsLayerNorm(Kernel):
    preferred_over = frozenset({"layer_norm"})

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        return None if call.n <= 256 else "serves rows of at most 256"


class VectorLayerNorm(Kernel):
    """A second backend's, unaware of the first."""

    preferred_over = frozenset({"layer_norm"})

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        width = 16 // call.dtype.itemsize
        return None if call.n % width == 0 else f"serves multiples of {width}, got {call.n}"


@dataclass(frozen=True)
class GemmCall(CallSpec):
    m: Annotated[int, Range(1, 2**24)] = 0
    n: Annotated[int, Range(1, 2**24)] = 0
    k: Annotated[int, Range(0, 2**24)] = 0
    dtype: torch.dtype = torch.float16
    trans_b: bool = False

    def impossible(self) -> str | None:
        if not self.dtype.is_floating_point or self.dtype.itemsize not in (2, 4):
            return f"dtype must have 16 or 32 bits, got {self.dtype}"
        return None


class TiledGemm(Kernel):
    general = True

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        width = 16 // call.dtype.itemsize
        if call.k < width:
            return f"k must span at least one vector of {width}, got {call.k}"
        return super().refusal(call)


class SplitKGemm(TiledGemm):
    general = False

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        tiles = -(-call.m // 128) * -(-call.n // 128)
        if tiles >= call.sm_count or call.k < 4096:
            return f"serves deep products of few tiles, got {tiles} tiles and k {call.k}"
        return super().refusal(call)


class SkinnyGemm(TiledGemm):
    general = False

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        return f"serves m up to 16, got {call.m}" if call.m > 16 else super().refusal(call)


class NarrowGemm(SkinnyGemm):
    """Serves only what `SkinnyGemm` serves."""

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        return f"serves m up to 4, got {call.m}" if call.m > 4 else super().refusal(call)


class HiddenGemm(NarrowGemm):
    preferred_over = frozenset()


class RaisingGemm(TiledGemm):
    general = False

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        ratio = call.m // call.k
        return None if ratio > 2**30 else f"serves tall products, got {ratio}"


class LogarithmGemm(TiledGemm):
    general = False

    @classmethod
    def refusal(cls, call: GemmCall) -> str | None:
        return None if math.log2(call.m) == 3.0 else "serves eight rows"


Kernels = dict[str, Any]

GQA: Kernels = {
    "decode": GQADecodeKernel,
    "bs1": GQADecodeBs1Kernel,
    "long_context": GQADecodeLongContextKernel,
}
LAYER_NORM: Kernels = {"layer_norm": LayerNormKernel, "torch_short_rows": ShortRowsLayerNorm}
