"""Compiling without graph breaks, with the compilations counted."""

from __future__ import annotations

import torch
from torch._dynamo.testing import CompileCounterWithBackend


def calling(op):
    """Return a function that calls *op*."""

    def call(*inputs, **keywords):
        return op(*inputs, **keywords)

    return call


def compiled(function, backend="eager", **options):
    """Return *function* compiled, and the counter of its compilations."""
    counter = CompileCounterWithBackend(backend)
    return torch.compile(function, backend=counter, fullgraph=True, **options), counter


def targets(counter):
    """Return the names of what the last graph calls."""
    nodes = counter.graphs[-1].graph.nodes
    return [str(node.target) for node in nodes if node.op.startswith("call")]


def check(results, expected):
    """Compare bit by bit."""
    torch.testing.assert_close(results, expected, rtol=0, atol=0)
