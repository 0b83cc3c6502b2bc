"""The stages of device and contiguity: where the tensors lie."""

from __future__ import annotations

import torch

from tileops.errors import DeviceMismatchError, NotContiguousError
from tileops.manifest import Signature
from tileops.ops._signature._bound import Values


def call_device(op: str, signature: Signature, inputs: Values, buffers: Values) -> torch.device:
    """Return the device the call runs on: that of the first input that is not kept on the host.

    Raises:
        DeviceMismatchError: A tensor is elsewhere, or on the meta device.
    """
    hosted = {decl.name for decl in signature.inputs if decl.device == "cpu"}
    first, *_ = [name for name in inputs if name not in hosted]
    device = inputs[first].device
    for name, spec in (inputs | buffers).items():
        if spec.device.type == "meta":
            requirement = "hold data"
        elif name in hosted and spec.device.type != "cpu":
            requirement = "be on cpu"
        elif name not in hosted and spec.device != device:
            requirement = f"be on {device}, as {first} is"
        else:
            continue
        raise DeviceMismatchError(
            op=op, tensor=name, requirement=requirement, given=str(spec.device)
        )
    return device


def check_contiguity(op: str, signature: Signature, inputs: Values, buffers: Values) -> None:
    """Raise NotContiguousError for the first tensor that is declared contiguous and is not."""
    declared = {decl.name: decl.contiguous for decl in signature.inputs}
    declared |= {decl.name: decl.contiguous for decl in signature.buffers}
    for name, spec in (inputs | buffers).items():
        if declared[name] and not spec.is_contiguous:
            raise NotContiguousError(
                op=op,
                tensor=name,
                requirement="be contiguous",
                given=f"shape {spec.shape} with strides {spec.stride}",
            )
