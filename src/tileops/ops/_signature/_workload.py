"""A workload of the manifest as the arguments of a call."""

from __future__ import annotations

from typing import Any

import torch

from tileops.manifest import Signature, Workload
from tileops.ops._signature._describe import dtype_of
from tileops.tensor_spec import TensorSpec


def workload_params(signature: Signature, workload: Workload) -> dict[str, Any]:
    """Return the constructor's arguments of a workload, dtypes as torch's."""
    kinds = {param.name: param.type.kind for param in signature.params}
    return {
        name: dtype_of(value) if kinds[name] == "dtype" and value is not None else value
        for name, value in workload.params.items()
    }


def workload_inputs(
    signature: Signature, workload: Workload, device: torch.device | str
) -> tuple[TensorSpec | None, ...]:
    """Return the inputs of a workload in order, described, as they lie when run on a device."""
    specs: list[TensorSpec | None] = []
    for decl in signature.inputs:
        tensor = workload.inputs.get(decl.name)
        if tensor is None:
            specs.append(None)
            continue
        place = torch.device("cpu" if decl.device == "cpu" else device)
        specs.append(TensorSpec(tensor.shape, dtype_of(tensor.dtype), place))
    return tuple(specs)
