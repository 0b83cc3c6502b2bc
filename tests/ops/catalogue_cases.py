"""Calls of every op in the catalogue, taken from the manifest's workloads.

For every set of keys that some workload selects on an H200 the smallest such workload stands, so a
new family, and a new kernel with a workload, is covered without a word here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tileops.device import board_named
from tileops.errors import SelectionError
from tileops.ops._signature import workload_inputs, workload_params
from tileops.ops.catalogue import in_tree_ops
from tileops.ops.op import Op
from tileops.tensor_spec import TensorSpec

Tensors = tuple[torch.Tensor | None, ...]


@dataclass(frozen=True)
class Case:
    """A workload of an op.

    Attributes:
        kind: The op.
        workload: The workload's name.
        params: The constructor's arguments.
        specs: The inputs.
        keys: What serves it on an H200.
    """

    kind: type[Op]
    workload: str
    params: Mapping[str, Any]
    specs: tuple[TensorSpec | None, ...]
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return "-".join([self.kind.__name__, *self.keys])

    def op(self) -> Op:
        return self.kind(**self.params)

    def tensors(self, seed: int) -> Tensors:
        """Random inputs, the same for the same seed."""
        names = [decl.name for decl in self.kind.signature().inputs]
        generator = torch.Generator("cuda").manual_seed(seed)
        return tuple(
            None if spec is None else drawn(name, spec, generator)
            for name, spec in zip(names, self.specs, strict=True)
        )

    def written(self) -> list[int]:
        """The places of the inputs that the call writes."""
        call = self.op().checks.check(self.specs)
        return [place for place, name in enumerate(call.inputs) if name in call.written]


FILLS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    # Logarithms of gates, variances and their roots have a sign.
    "g": lambda x: -x.abs(),
    "running_var": lambda x: x.abs() + 0.5,
    "rstd": lambda x: x.abs() + 0.5,
}


def drawn(name: str, spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    """Values that are typical of an input."""
    values = torch.randn(spec.shape, device="cuda", generator=generator) * 0.5
    return FILLS.get(name, lambda x: x)(values).to(spec.device, spec.dtype)


def cases() -> list[Case]:
    """The smallest workload for every set of keys, by op and keys."""
    board = board_named("h200").facts
    stated = {"arch": board.arch, "sm_count": board.sm_count, "smem_budget": board.smem_budget}
    smallest: dict[str, tuple[int, Case]] = {}
    for kind in in_tree_ops().values():
        entry = kind.entry()
        if entry is None or not kind.kernel_types:
            continue
        for workload in entry.workloads:
            params = workload_params(entry.signature, workload)
            specs = workload_inputs(entry.signature, workload, "cuda")
            try:
                selections = kind(**params).explain_call(*specs, **stated)
                keys = tuple(one.winner() for one in selections)
            except SelectionError:
                continue
            case = Case(kind, workload.name, params, specs, keys)
            size = sum(spec.nbytes for spec in specs if spec is not None)
            if case.name not in smallest or size < smallest[case.name][0]:
                smallest[case.name] = (size, case)
    return [case for _, (_, case) in sorted(smallest.items())]
