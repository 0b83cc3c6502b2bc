"""From the words of a call to its kernel requests: the op's own checks, and nothing that runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import torch

from tileops.call_spec import spell
from tileops.cli._call_words import GivenCall, GivenTensor
from tileops.cli._failure import Failure, LoadFailure, UsageFailure
from tileops.errors import SignatureError, TensorSpecError
from tileops.introspect.explanation import TensorCall
from tileops.manifest import ParamDecl, Signature, Workload
from tileops.ops._signature import CallChecks, workload_inputs, workload_params
from tileops.ops.op import Op, Request
from tileops.tensor_spec import TensorSpec

__all__ = ["params_that_ask", "requests_of"]


def requests_of(
    op: type[Op], given: GivenCall, device: torch.device
) -> tuple[TensorCall, tuple[Request, ...]]:
    """Check a call on a device; return it with its kernel requests.

    Raises:
        UsageFailure: The call does not fit the op's signature.
        LoadFailure: The op cannot be constructed with these parameters, or fails to state its
            requests.
    """
    signature = op.signature()
    assert signature is not None
    workload = _workload(op, given)
    params = {} if workload is None else workload_params(signature, workload)
    params |= {name: _param(signature, name, value) for name, value in given.params.items()}
    try:
        specs = _inputs(signature, workload, given, device)
        call = CallChecks(op.__name__, signature, params).check(specs)
        made = _constructed(op, params)
        requests = made.checked_requests(*specs)
    except (SignatureError, TensorSpecError) as error:
        raise UsageFailure(str(error)) from error
    except NotImplementedError as error:
        raise UsageFailure(str(error), remedy=f"ask {op.__name__} by its facts") from error
    defaulted = tuple(name for name in call.params if name not in params)
    return TensorCall(call, defaulted, given.workload), requests


def params_that_ask(
    op: type[Op], given: GivenCall, device: torch.device, interfaces: Collection[str]
) -> str | None:
    """Say which bool parameter, turned around, makes the call ask for a kernel; None for none.

    Args:
        op: The op.
        given: A call that cannot be made, or asks none of *interfaces*.
        device: Where it runs.
        interfaces: The interfaces that are asked about.
    """
    signature, found = op.signature(), list[str]()
    for one in () if signature is None else signature.params:
        if one.type.kind != "bool":
            continue
        turned = not given.params.get(one.name, one.default)
        call = replace(given, params={**given.params, one.name: turned})
        try:
            _, requests = requests_of(op, call, device)
        except Failure:
            continue
        names = dict.fromkeys(name for name, _ in requests if name in interfaces)
        if names:
            found.append(f"with {one.name}={spell(turned)} it asks {', '.join(names)}")
    return "\n".join(found) or None


def _constructed(op: type[Op], params: Mapping[str, Any]) -> Op:
    try:
        return op(**params)
    except SignatureError:
        raise
    except Exception as error:
        # The constructor of an op from elsewhere may do anything.
        raise LoadFailure(
            f"{op.__name__} cannot be constructed with these parameters",
            cause=f"{type(error).__name__}: {error}",
        ) from error


def _workload(op: type[Op], given: GivenCall) -> Workload | None:
    entry = op.entry()
    if given.workload is None or entry is None:
        return None
    return next(one for one in entry.workloads if one.name == given.workload)


def _param(signature: Signature, name: str, value: Any) -> Any:
    decl: ParamDecl = next(one for one in signature.params if one.name == name)
    return getattr(torch, value) if decl.type.kind == "dtype" and value is not None else value


def _inputs(
    signature: Signature, workload: Workload | None, given: GivenCall, device: torch.device
) -> tuple[TensorSpec | None, ...]:
    """Return the inputs in order: those of the workload unless words state others."""
    stated: dict[str, TensorSpec | None] = {}
    if workload is not None:
        specs = workload_inputs(signature, workload, device)
        stated = dict(zip((one.name for one in signature.inputs), specs, strict=True))
    places = {one.name: torch.device("cpu") for one in signature.inputs if one.device == "cpu"}
    for name, one in given.inputs.items():
        stated[name] = None if one is None else _described(one, places.get(name, device))
    return tuple(stated.get(one.name) for one in signature.inputs)


def _described(tensor: GivenTensor, device: torch.device) -> TensorSpec:
    dtype: torch.dtype = getattr(torch, tensor.typed.dtype)
    return TensorSpec(tensor.typed.shape, dtype, device, tensor.stride)
