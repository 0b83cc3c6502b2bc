"""BoundCall: everything the signature says of one call, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from tileops.manifest import Scope, TypedShape
from tileops.ops._signature._describe import dtype_name, manifest_value
from tileops.tensor_spec import TensorSpec

Values = dict[str, TensorSpec]
"""Tensors by name, described; absent ones are not in it."""


@dataclass(frozen=True)
class BoundCall:
    """A call that passed the checks.

    Attributes:
        op: The op.
        device: The call's device.
        params: The op's parameters.
        dims: Sizes of the dims bound; tuples of sizes for the splices.
        dtypes: The dtype variables bound.
        inputs: The description of every input by name, in order; None where absent.
        written: The inputs that the call writes in place, in order.
        outputs: The description of every output the call returns by name, in order.
        aliases: The outputs that are a written input given back: output name to input name.
        buffers: The outputs that a buffer receives: output name to keyword.
        execution: The execution arguments the caller passed, by keyword.
    """

    op: str
    device: torch.device
    params: Mapping[str, Any]
    dims: Mapping[str, Any]
    dtypes: Mapping[str, torch.dtype]
    inputs: Mapping[str, TensorSpec | None]
    written: tuple[str, ...]
    outputs: Mapping[str, TensorSpec]
    aliases: Mapping[str, str]
    buffers: Mapping[str, str]
    execution: Mapping[str, Any]

    @cached_property
    def new(self) -> Mapping[str, TensorSpec]:
        """The outputs that are no input given back, as in `outputs`."""
        return {name: spec for name, spec in self.outputs.items() if name not in self.aliases}

    @property
    def given(self) -> frozenset[str]:
        """The names of the inputs given."""
        return frozenset(name for name, spec in self.inputs.items() if spec is not None)

    @property
    def empty(self) -> bool:
        """Whether every tensor the call writes is empty, so that nothing has to run."""
        written = [self.inputs[name] for name in self.written]
        return all(spec is None or _empty(spec) for spec in (*self.outputs.values(), *written))

    def scope(self) -> Scope:
        """Return what the manifest's expressions read, for this call."""
        values = {name: manifest_value(value) for name, value in self.params.items()}
        values |= self.dims
        values |= {name: dtype_name(dtype) for name, dtype in self.dtypes.items()}
        tensors = {**self.inputs, **self.outputs}
        return Scope(
            values=values,
            given=self.given,
            tensors={
                name: TypedShape(dtype_name(spec.dtype), spec.shape)
                for name, spec in tensors.items()
                if spec is not None
            },
        )


def _empty(spec: TensorSpec) -> bool:
    # Comparing a size that torch traces would tie the graph to the answer.
    return any(isinstance(size, int) and size == 0 for size in spec.shape)
