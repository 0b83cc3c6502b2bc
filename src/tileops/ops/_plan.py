"""Plans: the functions that later calls of the same kind run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileops.kernels.alignment import MISALIGNED, aligned, like, takes_any_address
from tileops.ops._current_device import keeping_current_device
from tileops.ops._recognise import Recognise
from tileops.ops._signature import BoundCall, empty_outputs

__all__ = ["Plan", "Preparation", "Run", "empty_run", "returned", "with_outputs"]

Run = Callable[..., Any]


@dataclass(slots=True)
class Plan:
    """What calls of one kind run.

    Attributes:
        run: Takes the inputs in order, buffers and execution arguments by keyword.
        count: The number of inputs passed.
        found: How often the plan was found by its fingerprint.
        recognise: Recognises such calls without a fingerprint; made when calls repeat.
    """

    run: Run
    count: int
    found: int = 0
    recognise: Recognise | None = None


@dataclass(frozen=True, slots=True)
class Preparation:
    """What calls of one kind do around their kernels.

    Inputs are copied where a kernel needs them otherwise: which must be made dense is the same in
    every call of the kind, which are misaligned is looked at in each. A written input is never
    copied. The current device stays what it was.

    Attributes:
        places: The inputs given that may be copied.
        sparse: Those that must be made dense.
        plain: Whether these are all inputs, and no keyword is passed.
        count: The number of inputs passed.
        device: Where the tensors lie.
    """

    places: tuple[int, ...]
    sparse: tuple[int, ...]
    plain: bool
    count: int
    device: torch.device

    @classmethod
    def of(cls, call: BoundCall, inputs: Sequence[torch.Tensor | None]) -> Preparation:
        """Return the preparation of calls like *call*, which has these inputs."""
        given = [
            (place, tensor)
            for place, (name, tensor) in enumerate(zip(call.inputs, inputs, strict=False))
            if tensor is not None and name not in call.written
        ]
        plain = len(given) == len(inputs) and not call.buffers and not call.execution
        sparse = tuple(place for place, tensor in given if _must_be_made_dense(tensor))
        places = tuple(place for place, _ in given)
        return cls(places, sparse, plain, len(inputs), call.device)

    def on(self, run: Run) -> Run:
        """Return *run*, which takes prepared inputs in order and keywords, for inputs as passed."""
        if not takes_any_address(run):
            run = (_aligned_plain if self.plain else _aligned)(run, self.places)
        run = keeping_current_device(run, self.device)
        return _on_dense(run, self.sparse) if self.sparse else run


def with_outputs(call: BoundCall, run: Run, results: Any) -> Run:
    """Return *run* with its results in the form that the op returns them.

    An output that is a written input given back is added.

    Args:
        call: The call.
        run: Runs calls like it.
        results: What it returned the first time, checked.
    """
    if call.aliases:
        return _giving_back(call, run)
    if isinstance(results, list):
        return lambda *inputs, **keywords: tuple(run(*inputs, **keywords))
    return run


def returned(outputs: Sequence[torch.Tensor]) -> Any:
    """Return outputs as an op does: nothing, the only one, or a tuple."""
    if len(outputs) == 1:
        return outputs[0]
    return tuple(outputs) or None


def empty_run(call: BoundCall, check: Callable[[], None]) -> Run:
    """Return what a call that writes no element runs: its new outputs, as the signature says.

    Args:
        call: The call.
        check: Raises when the call cannot be served; run every time.
    """

    def construct(*inputs: Any, **keywords: Any) -> Any:
        check()
        outputs = zip(call.outputs, empty_outputs(call, inputs, keywords), strict=True)
        return returned([one for name, one in outputs if name not in call.aliases])

    return construct


def _must_be_made_dense(tensor: torch.Tensor) -> bool:
    # A view that negates or conjugates does so when it is read through torch alone.
    return not tensor.is_contiguous() or tensor.is_neg() or tensor.is_conj()


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().resolve_conj().resolve_neg()


def _on_dense(run: Run, places: Sequence[int]) -> Run:
    def run_on_dense(*inputs: Any, **keywords: Any) -> Any:
        arguments = list(inputs)
        for place in places:
            arguments[place] = _dense(arguments[place])
        return run(*arguments, **keywords)

    return like(run, run_on_dense)


def _aligned(run: Run, places: Sequence[int]) -> Run:
    def run_on_aligned(*inputs: Any, **keywords: Any) -> Any:
        arguments = list(inputs)
        for place in places:
            arguments[place] = aligned(arguments[place])
        return run(*arguments, **keywords)

    return run_on_aligned


def _aligned_plain(run: Run, places: Sequence[int]) -> Run:
    """Do the same where every input is given and may be copied, and no keyword is passed.

    A loop over the inputs costs several times what reading their addresses does.
    """
    match len(places):
        case 1:
            return lambda a: run(aligned(a))
        case 2:
            return lambda a, b: (
                run(aligned(a), aligned(b))
                if (a.data_ptr() | b.data_ptr()) & MISALIGNED
                else run(a, b)
            )
        case 3:
            return lambda a, b, c: (
                run(aligned(a), aligned(b), aligned(c))
                if (a.data_ptr() | b.data_ptr() | c.data_ptr()) & MISALIGNED
                else run(a, b, c)
            )
        case 4:
            return lambda a, b, c, d: (
                run(aligned(a), aligned(b), aligned(c), aligned(d))
                if (a.data_ptr() | b.data_ptr() | c.data_ptr() | d.data_ptr()) & MISALIGNED
                else run(a, b, c, d)
            )
    return _aligned(run, places)


def _giving_back(call: BoundCall, run: Run) -> Run:
    names = list(call.inputs)
    sources = [
        names.index(call.aliases[name]) if name in call.aliases else None for name in call.outputs
    ]

    def run_and_give_back(*inputs: Any, **keywords: Any) -> Any:
        results = run(*inputs, **keywords)
        new = iter(results if isinstance(results, tuple | list) else (results,))
        return returned([next(new) if place is None else inputs[place] for place in sources])

    return run_and_give_back
