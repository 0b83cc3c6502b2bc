"""Ops as nodes of traced graphs: torch.compile, torch.export, fake tensors, dispatch modes.

An eager call never comes here. A traced one becomes a single custom operator of torch, whose
implementation is the ordinary eager call and whose fake makes the outputs that the signature
infers.
"""

from tileops.ops._graph._instances import Identity, enlist, shared
from tileops.ops._graph._interposed import interposed
from tileops.ops._graph._trace import as_node, show_as_node

__all__ = ["Identity", "as_node", "enlist", "interposed", "shared", "show_as_node"]
