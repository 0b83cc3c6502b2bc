"""One op of the manifest: its meaning, signature, workloads and roofline."""

from __future__ import annotations

from typing import Any

import msgspec

from tileops.manifest._expression import Expression
from tileops.manifest._signature import Signature
from tileops.manifest._typed_shape import TypedShape


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A named concrete call: tests, benchmarks, audit grids and docs read it.

    Attributes:
        name: Unique within the op.
        params: Constructor arguments as the YAML states them (dtypes by name).
        inputs: Dtype and shape per input given, by name.
        about: Where such a call occurs.
    """

    name: str
    inputs: dict[str, TypedShape]
    params: dict[str, Any] = {}
    about: str = ""


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """The work a call cannot avoid, as expressions over dims, params, dtypes and tensors."""

    flops: Expression
    bytes: Expression


class OpEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An op's entry.

    Attributes:
        name: The op's class name.
        family: The stem of the file it stands in.
        reference: The torch semantics, as an expression or a sentence.
        signature: What a call takes and returns.
        workloads: Named concrete calls.
        roofline: The work a call cannot avoid.
    """

    name: str
    family: str
    reference: str
    signature: Signature
    workloads: tuple[Workload, ...]
    roofline: Roofline
