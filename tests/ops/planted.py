"""Every op of the library with kernels that run on a CPU, and what it is called with.

A new op is covered by what goes through `PLANTED` once it has a line here, which a test asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ops.attention.cpu_attention import CpuGQADenseFwdOp
from ops.gemm.cpu_product import CpuGemmFwdOp
from ops.graph.cpu_norms import CASES, WIDTH
from ops.linear_attention.cpu_gla import CpuGLAFwdOp
from ops.norm.cpu_channels import CpuBatchNormBwdOp, CpuBatchNormFwdOp, CpuInstanceNormFwdOp
from tileops.backend import BUILTIN

F16, BF16, F32, F8 = torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn

Shape = tuple[int | str, ...]
"""Sizes of a tensor; a name stands for a size that may vary from call to call."""


@dataclass(frozen=True)
class Planted:
    """One way to call an op.

    Attributes:
        name: What distinguishes it.
        kind: The op's class, with planted kernels.
        shapes: The shapes of its inputs, None for one that is absent.
        dtype: The dtype of its inputs.
        dtypes: The dtypes of those that have another, by place.
        others: What can stand for *dtype*.
        params: The constructor's arguments.
        optional: The places that may be left out one by one.
        written: The places that are written.
        grad: The places that get a gradient.
    """

    name: str
    kind: type
    shapes: tuple[Shape | None, ...]
    dtype: torch.dtype = F32
    dtypes: Mapping[int, torch.dtype] = field(default_factory=dict)
    others: tuple[torch.dtype, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    grad: tuple[int, ...] = ()

    def op(self, **keywords):
        return self.kind(**self.params, **keywords)

    @property
    def sizes(self) -> list[str]:
        """The names of the sizes that vary."""
        shapes = [shape for shape in self.shapes if shape is not None]
        return sorted({size for shape in shapes for size in shape if isinstance(size, str)})

    def tensors(self, dtype: torch.dtype | None = None, **sizes: int) -> list[torch.Tensor | None]:
        """Random inputs with these sizes."""
        return [
            None
            if shape is None
            else self._tensor(shape, sizes, self.dtypes.get(place, dtype or self.dtype))
            for place, shape in enumerate(self.shapes)
        ]

    def dynamic(self, tensors) -> None:
        """Mark the dims of inputs that vary."""
        for shape, one in zip(self.shapes, tensors, strict=True):
            for dim, size in enumerate(shape or ()):
                if isinstance(size, str) and one is not None:
                    torch._dynamo.mark_dynamic(one, dim)

    def _tensor(self, shape: Shape, sizes: Mapping[str, int], dtype: torch.dtype) -> torch.Tensor:
        exact = [sizes[one] if isinstance(one, str) else one for one in shape]
        values = torch.randn(exact)
        # Variances, reciprocal roots and scales are positive, and so are they as anything else.
        values = values.abs() + 0.5 if len(exact) == 1 else values
        return values.to(dtype)


def _rows(name: str) -> Planted:
    case = CASES[name]
    op, _ = case.make()
    shapes = tuple(("rows", WIDTH) if kind == "x" else (WIDTH,) for kind in case.inputs)
    params = {"normalized_shape": WIDTH} if case.params else {}
    optional = tuple(
        place for place, decl in enumerate(op.signature().inputs) if str(decl.optional) == "True"
    )
    return Planted(name, type(op), shapes, others=(F16,), params=params, optional=optional)


X: Shape = ("n", 4, "length")
C: Shape = (4,)
STATISTICS = {1: F32, 2: F32}
HEADS = {"q": ("batch", "queries", 4, 8), "k": ("batch", "keys", 2, 8)}
STEPS: Shape = ("batch", "steps", 2, 8)

PLANTED = [
    *(_rows(name) for name in CASES),
    Planted(
        "BatchNormFwdOp-train",
        CpuBatchNormFwdOp,
        (X, C, C, C, C),
        dtypes=STATISTICS,
        others=(F16,),
        params={"training": True},
        optional=(3, 4),
        written=(1, 2),
        grad=(0, 3, 4),
    ),
    Planted(
        "BatchNormFwdOp-infer",
        CpuBatchNormFwdOp,
        (X, C, C, C, C),
        dtypes=STATISTICS,
        others=(F16,),
        optional=(3, 4),
    ),
    Planted(
        "BatchNormBwdOp",
        CpuBatchNormBwdOp,
        (X, X, C, C, C),
        dtypes={2: F32, 3: F32},
        others=(F16,),
        optional=(4,),
    ),
    Planted(
        "InstanceNormFwdOp",
        CpuInstanceNormFwdOp,
        (X, None, None, C, C),
        others=(F16,),
        optional=(3, 4),
    ),
    Planted(
        "InstanceNormFwdOp-running",
        CpuInstanceNormFwdOp,
        (X, C, C, C, C),
        dtypes=STATISTICS,
        others=(F16,),
        optional=(3, 4),
        written=(1, 2),
    ),
    Planted(
        "InstanceNormFwdOp-infer",
        CpuInstanceNormFwdOp,
        (X, C, C, C, C),
        dtypes=STATISTICS,
        others=(F16,),
        params={"use_input_stats": False},
        optional=(3, 4),
    ),
    Planted("GemmFwdOp", CpuGemmFwdOp, (("m", 16), (24, 16)), dtype=F16, others=(BF16,)),
    Planted(
        "GemmFwdOp-tn",
        CpuGemmFwdOp,
        ((16, "m"), (16, 24)),
        dtype=F16,
        params={"trans_a": True, "trans_b": False},
    ),
    Planted(
        "GQADenseFwdOp",
        CpuGQADenseFwdOp,
        (HEADS["q"], HEADS["k"], HEADS["k"]),
        dtype=F16,
        others=(BF16,),
    ),
    Planted(
        "GQADenseFwdOp-fp8",
        CpuGQADenseFwdOp,
        (HEADS["q"], HEADS["k"], HEADS["k"], ("batch", 2), ("batch", 2), ("batch", 2)),
        dtype=F8,
        dtypes={3: F32, 4: F32, 5: F32},
        optional=(3, 4, 5),
    ),
    Planted(
        "GLAFwdOp",
        CpuGLAFwdOp,
        (STEPS, STEPS, ("batch", "steps", 2, 16), STEPS, ("batch", 2, 8, 16)),
        dtype=F16,
        dtypes={4: F32},
        optional=(4,),
    ),
]


def listed(results) -> list[torch.Tensor]:
    """The results of a call as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def copies(planted: Planted, tensors) -> list[torch.Tensor | None]:
    """The same inputs, with memory of their own where the call writes."""
    return [one.clone() if place in planted.written else one for place, one in enumerate(tensors)]


def builder(kind: type) -> Callable[..., Any]:
    """What builds the kernels of a target for an op: the in-tree ones in another instance."""

    def build(*specs, **params):
        return kind(**params, target=BUILTIN)

    return build
