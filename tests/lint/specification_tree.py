"""The code blocks of the specification, verbatim, in the files they speak of.

The blocks are fragments; what stands around them here is what they take for granted.
"""

from pathlib import Path

from tileops.lint._case import CONTRACT

BLOCKS = Path(__file__).with_name("specification")


def block(name: str) -> str:
    """Return a block as the specification prints it."""
    return (BLOCKS / f"{name}.txt").read_text("utf-8")


def specification_tree() -> dict[str, str]:
    """Return the files of a project that holds every block."""
    return {
        **CONTRACT,
        "src/tileops/kernels/norm/__init__.py": "",
        "src/tileops/kernels/norm/call_spec.py": NORM_CALL_SPEC + block("layer_norm_call_spec"),
        "src/tileops/kernels/norm/layer_norm.py": LAYER_NORM + block("layer_norm_kernel") + FORWARD,
        "src/tileops/kernels/norm/batch_norm.py": BATCH_NORM_KERNELS,
        "src/tileops/ops/norm/__init__.py": "",
        "src/tileops/ops/norm/layer_norm.py": LAYER_NORM_OP,
        "src/tileops/ops/norm/batch_norm.py": BATCH_NORM_OP + block("batch_norm_op"),
        "src/tileops/kernels/attention/gqa/__init__.py": "",
        "src/tileops/kernels/attention/gqa/call_spec.py": ATTENTION_CALL_SPEC,
        "src/tileops/kernels/attention/gqa/decode.py": DECODE + block("gqa_decode_long_context"),
        "src/tileops/kernels/attention/gqa/prefill.py": PREFILL,
        "src/tileops/ops/attention/__init__.py": "",
        "src/tileops/ops/attention/gqa.py": DECODE_OP,
        "src/tileops/kernels/gemm/__init__.py": "",
        "src/tileops/kernels/gemm/gemm.py": GEMM_KERNEL,
        "src/tileops/ops/gemm/__init__.py": "",
        "src/tileops/ops/gemm/gemm.py": GEMM_OP,
        "tests/ops/test_family_dispatch.py": GEMM_TEST + block("gemm_dispatch_test"),
        "tests/test_kernel_dispatch.py": DISPATCH_TEST + block("torch_layer_norm"),
        "backends/acme/pyproject.toml": '[project]\nname = "acme"\n\n' + block("entry_point"),
        "backends/acme/src/tileops_acme/__init__.py": block("rms_norm_target"),
        "backends/acme/src/tileops_acme/kernels.py": "class AcmeRMSNorm: ...\n",
    }


NORM_CALL_SPEC = '''\
import dataclasses
from abc import abstractmethod

import torch

from tileops.backend import CallSpec, KernelInterface


@dataclasses.dataclass(frozen=True)
class BatchNormCall(CallSpec):
    """The facts of batch normalization."""

    rows: int = 0
    width: int = 0


class BatchNormTrainFwdInterface(KernelInterface):
    """Batch normalization with the statistics of the batch."""

    request = BatchNormCall

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize *x*, contiguous on ``call.device``; nothing is written in place.

        Args:
            x: ``call.rows`` rows of ``call.width`` elements in any dtype.

        Returns:
            A new output shaped like *x*.
        """


class BatchNormInferFwdInterface(KernelInterface):
    """Batch normalization with running statistics."""

    request = BatchNormCall

    @abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize *x*, contiguous on ``call.device``; nothing is written in place.

        Args:
            x: ``call.rows`` rows of ``call.width`` elements in any dtype.

        Returns:
            A new output shaped like *x*.
        """


'''
LAYER_NORM = """\
from tileops.backend import Kernel
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface
from tileops.kernels.kernel import Entry


"""
# The page shows what this kernel declares, and leaves out what it computes.
FORWARD = """
    def forward(self, x, weight, bias): ...
"""
LAYER_NORM_OP = """\
from tileops.kernels.norm.call_spec import LayerNormFwdInterface
from tileops.kernels.norm.layer_norm import LayerNormKernel
from tileops.ops.op import Op


class LayerNormFwdOp(Op):
    kernel_types = {"layer_norm": LayerNormKernel}
    interfaces = {"layer_norm": LayerNormFwdInterface}
"""
BATCH_NORM_KERNELS = """\
from tileops.backend import Kernel
from tileops.kernels.norm.call_spec import BatchNormInferFwdInterface, BatchNormTrainFwdInterface


class _Train(Kernel, BatchNormTrainFwdInterface):
    def forward(self, x): ...


class BatchNormFwdTrainKernel(_Train):
    general = True


class BatchNormFwdTrainWholeKernel(_Train):
    @classmethod
    def refusal(cls, call):
        return None if call.rows < 64 else f"serves fewer than 64 rows, got {call.rows}"


class BatchNormFwdTrainWideKernel(_Train):
    @classmethod
    def refusal(cls, call):
        return None if call.width > 64 else f"serves a width above 64, got {call.width}"


class BatchNormFwdTrainSplitKernel(_Train):
    @classmethod
    def refusal(cls, call):
        return None if call.rows > 999 else f"serves more than 999 rows, got {call.rows}"


class BatchNormFwdInferKernel(Kernel, BatchNormInferFwdInterface):
    def forward(self, x): ...
"""
BATCH_NORM_OP = """\
from collections.abc import Mapping
from typing import ClassVar

from tileops.backend import Kernel, KernelInterface
from tileops.kernels.norm.batch_norm import (
    BatchNormFwdInferKernel,
    BatchNormFwdTrainKernel,
    BatchNormFwdTrainSplitKernel,
    BatchNormFwdTrainWholeKernel,
    BatchNormFwdTrainWideKernel,
)
from tileops.kernels.norm.call_spec import BatchNormInferFwdInterface, BatchNormTrainFwdInterface
from tileops.ops.op import Op


"""
ATTENTION_CALL_SPEC = '''\
import dataclasses
from abc import abstractmethod

import torch

from tileops.backend import CallSpec, KernelInterface


@dataclasses.dataclass(frozen=True)
class AttentionCall(CallSpec):
    """The facts of one attention call."""

    batch: int = 0
    heads: int = 0
    heads_kv: int = 0
    seqlen_q: int = 0
    seqlen_kv: int = 0
    dim: int = 0
    softcap: float = 0.0
    fuse_rope: bool = False
    dtype: torch.dtype = torch.float16

    @property
    def dense_decode_region(self) -> bool:
        """Whether one query token meets a dense cache."""
        return self.seqlen_q == 1


class GQADenseFwdInterface(KernelInterface):
    """Grouped-query attention over a dense cache."""

    request = AttentionCall

    @abstractmethod
    def forward(self, q: torch.Tensor, kv: torch.Tensor) -> torch.Tensor:
        """Attend; every tensor is contiguous on ``call.device``, none is written in place.

        Args:
            q: The queries, ``call.batch`` by ``call.heads`` by ``call.dim``, in ``call.dtype``.
            kv: The cache, ``call.seqlen_kv`` tokens of ``call.heads_kv`` heads, in ``call.dtype``.

        Returns:
            A new output shaped like *q*, in ``call.dtype``.
        """
'''
DECODE = """\
from typing import Optional

import torch

from tileops.backend import Kernel
from tileops.kernels.attention.gqa.call_spec import AttentionCall, GQADenseFwdInterface


class GQADecodeKernel(Kernel, GQADenseFwdInterface):
    general = True
    supported_archs: list[int] = [80, 89, 90]

    def forward(self, q, kv): ...


class GQADecodeBS1Kernel(GQADecodeKernel):
    general = False
    supported_archs: list[int] = [90]

    @classmethod
    def refusal(cls, call: AttentionCall) -> Optional[str]:
        if call.batch != 1:
            return f"serves batch 1, got {call.batch}"
        return super().refusal(call)


"""
# The family has several kernel files, so its call spec has one of its own.
PREFILL = """\
from tileops.backend import Kernel
from tileops.kernels.attention.gqa.call_spec import GQADenseFwdInterface


class GQAPrefillKernel(Kernel, GQADenseFwdInterface):
    def forward(self, q, kv): ...
"""
DECODE_OP = """\
from tileops.kernels.attention.gqa.call_spec import GQADenseFwdInterface
from tileops.kernels.attention.gqa.decode import (
    GQADecodeBS1Kernel,
    GQADecodeKernel,
    GQADecodeLongContextKernel,
)
from tileops.ops.op import Op


class GQADenseFwdOp(Op):
    kernel_types = {
        "gqa_dense_decode": GQADecodeKernel,
        "gqa_dense_decode_bs1": GQADecodeBS1Kernel,
        "gqa_dense_decode_long_context": GQADecodeLongContextKernel,
    }
    interfaces = {"gqa_dense": GQADenseFwdInterface}
"""
GEMM_KERNEL = '''\
import dataclasses
from abc import abstractmethod

import torch

from tileops.backend import CallSpec, Kernel, KernelInterface


@dataclasses.dataclass(frozen=True)
class GemmCall(CallSpec):
    """The facts of one matrix product."""

    m: int = 0
    n: int = 0
    k: int = 0
    dtype: torch.dtype = torch.float16
    trans_b: bool = False


class GemmFwdInterface(KernelInterface):
    """A matrix product."""

    request = GemmCall

    @abstractmethod
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Multiply; every tensor is contiguous on ``call.device``, none is written in place.

        Args:
            a: ``call.m`` by ``call.k`` elements in ``call.dtype``.
            b: ``call.k`` by ``call.n`` elements in ``call.dtype``, or the transpose.

        Returns:
            A new output of ``call.m`` by ``call.n`` elements in ``call.dtype``.
        """


class GemmKernel(Kernel, GemmFwdInterface):
    @classmethod
    def refusal(cls, call: GemmCall) -> "str | None":
        if call.k * call.dtype.itemsize < 16:
            return f"k must span at least one vector of 16 bytes, got {call.k}"
        if call.trans_b and call.n < call.m // 64:
            return f"serves a transposed b of at least m/64 columns, got {call.n}"
        return super().refusal(call)

    def forward(self, a, b): ...
'''
GEMM_OP = """\
from tileops.kernels.gemm.gemm import GemmFwdInterface, GemmKernel
from tileops.ops.op import Op


class GemmFwdOp(Op):
    kernel_types = {"gemm": GemmKernel}
    interfaces = {"gemm": GemmFwdInterface}
"""
GEMM_TEST = """\
import pytest
import torch

from tileops.kernels.gemm.gemm import GemmCall
from tileops.ops.gemm.gemm import GemmFwdOp

_SM90 = 90


"""
DISPATCH_TEST = """\
import torch
import torch.nn.functional as F

from tileops.backend import Kernel, register_device_facts, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface


def run_device():
    return "cuda" if torch.cuda.is_available() else "cpu"


"""
