"""The roofline of an entry, evaluated for a call."""

from __future__ import annotations

from dataclasses import dataclass

from tileops.manifest import Roofline
from tileops.ops._signature._bound import BoundCall


@dataclass(frozen=True)
class Cost:
    """The work that a call cannot avoid.

    Attributes:
        flops: Floating point operations.
        bytes: Bytes read and written once each.
    """

    flops: int
    bytes: int


def cost_of(roofline: Roofline, call: BoundCall) -> Cost:
    """Return the work of a call by its op's roofline."""
    scope = call.scope()
    return Cost(int(roofline.flops.evaluate(scope)), int(roofline.bytes.evaluate(scope)))
