"""Static checks of splices: a name is one axis or several, and a shape can be taken apart."""

from __future__ import annotations

from tileops.manifest._names import Names, always_given, axes_of, named_in_every_case
from tileops.manifest._node import Node
from tileops.manifest._shape import Shape
from tileops.manifest._signature import Signature


def check_splices(signature: Signature, names: Names, node: Node) -> None:
    """Raise ManifestError for a name used both ways, or for two open splices in a shape.

    A splice is open where its length is not known before the tensor is seen: it is no parameter,
    and no earlier input that every call passes has bound it.
    """
    ways: dict[str, bool] = {}
    bound = set(names.params)
    for decl in signature.inputs:
        place = node.at("inputs", decl.name, "shape")
        _check_ways(decl.shape, ways, place)
        for case in decl.shape.cases:
            open_ones = [axis for axis in case.value if axis.splice and axis.name not in bound]
            if len(open_ones) > 1:
                shown = " and ".join(map(str, open_ones))
                raise place.error(f"{shown} cannot be told apart; a shape has one open splice")
        if always_given(decl):
            bound |= named_in_every_case(decl.shape)
    for output in signature.outputs:
        _check_ways(output.shape, ways, node.at("outputs", output.name, "shape"))


def _check_ways(shape: Shape, ways: dict[str, bool], node: Node) -> None:
    for axis in axes_of(shape):
        if axis.name and ways.setdefault(axis.name, axis.splice) is not axis.splice:
            raise node.error(f"{axis.name!r} is a splice in one place and one axis in another")
