"""Forms: what calls that differ in sizes alone share, so that a new size is served quickly.

A new number of rows is another specialisation, and finds a kernel that is built. What the first
call of its form has shown is not shown again; what sizes decide is decided anew: the equations
between them, the kernel requests, the kernels found, the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch

from tileops.ops._differentiable import Links, linked, links_of
from tileops.ops._observers import observed
from tileops.ops._plan import Preparation, Run, returned, with_outputs
from tileops.ops._recognise import Recognise, nothing, recogniser, repeated
from tileops.ops._signature import BoundCall, Sizes, check_results, plain_results
from tileops.ops._writes import Writes

if TYPE_CHECKING:
    from tileops.ops.op import Op

__all__ = ["Form"]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Calls that differ in sizes alone, and run in-tree kernels.

    Attributes:
        call: One of them, checked.
        sizes: What the sizes of each must satisfy.
        preparation: The inputs that are copied.
        links: How their gradients flow, or None.
        writes: What they write, or None.
        recognise: Recognises the inputs of calls that pass nothing else, if all are contiguous.
    """

    call: BoundCall
    sizes: Sizes
    preparation: Preparation
    links: Links | None
    writes: Writes | None
    recognise: Recognise

    @classmethod
    def of(
        cls, op: Op, call: BoundCall, inputs: tuple[Any, ...], buffers: Mapping[str, Any]
    ) -> Form | None:
        """Return the form of a call that was served, where there is one.

        There is none under a target, whose kernels are built for sizes, none where more than
        equations between sizes would have to be checked, and none of one with an empty tensor,
        beside which no other is of its form.
        """
        choice = op.serving.choice
        if op.checks is None or call.empty or choice is None or choice.target is not None:
            return None
        sizes = op.checks.sizes(call)
        tensors = [one for one in (*inputs, *buffers.values()) if one is not None]
        if sizes is None or not all(one.numel() for one in tensors):
            return None
        links = links_of(op, call, inputs, {})
        plain = not call.buffers and not call.execution and _contiguous(inputs)
        plain = plain and not repeated(inputs)
        recognise = recogniser(inputs, sizes=False) if plain else nothing
        writes = Writes.of(call, inputs, buffers) if call.written or buffers else None
        return cls(call, sizes, Preparation.of(call, inputs), links, writes, recognise)

    def takes(self, inputs: tuple[Any, ...]) -> bool:
        """Whether a call that passes these inputs and nothing else is known to be of this form."""
        return len(inputs) == self.preparation.count and (
            self.recognise(*inputs) and _contiguous(inputs)
        )

    def run(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        buffers: Mapping[str, Any],
        execution: Mapping[str, Any],
    ) -> tuple[Any, Run] | None:
        """Serve a call of this form; return the result and what later calls run.

        Returns:
            None where the slow path has to serve the call, or to say what is wrong with it.

        Raises:
            SelectionError: No kernel is selected.
            ResultError: The kernel returned something that does not fit the signature.
        """
        if observed():
            return None
        given = [one.shape for one in inputs if one is not None]
        given += [buffers[keyword].shape for keyword in self.call.buffers.values()]
        shapes = self.sizes.outputs_for(tuple(chain.from_iterable(given)))
        if shapes is None:
            return None
        kernels = op.kernels_for(inputs)
        run = self.preparation.on(op.bind(kernels, *inputs))
        if self.writes is not None:
            run = self.writes.on(run, (*inputs, *buffers.values()))
        if self.links is None:
            results = run(*inputs, **buffers, **execution)
        else:
            with torch.no_grad():
                results = run(*inputs, **buffers, **execution)
        outputs = plain_results(self.call, shapes, results, inputs)
        if outputs is None:
            # The full checks accept more than what is plain, and say what is wrong.
            assert op.checks is not None
            call = op.checks.check(inputs, buffers, execution)
            source = ", ".join(type(one).__qualname__ for one in kernels)
            outputs = check_results(call, results, inputs, buffers, source=source)
        if self.links is not None:
            return linked(self.links, self.call, run, results, inputs)
        return returned(outputs), with_outputs(self.call, run, results)


def _contiguous(inputs: tuple[Any, ...]) -> bool:
    return not [one for one in inputs if one is not None and not one.is_contiguous()]
