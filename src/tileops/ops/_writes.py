"""Calls that write into tensors of the caller: what they may not overlap, and what torch is told.

A kernel writes through addresses. So torch does not see the write, which it must know of where a
backward still needs what was there, and does not notice that a buffer lies on an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any

import torch

from tileops.errors import BufferOverlapError, LazyWriteError
from tileops.ops._overlap import Extent, overlaps_itself, share
from tileops.ops._plan import Run
from tileops.ops._signature import BoundCall

__all__ = ["Writes", "writing"]

# What `torch.autograd.graph.increment_version` calls, which costs as much again.
_increment_version: Callable[[Iterable[torch.Tensor]], None] = torch._C._increment_version

Places = tuple[int, ...]


def writing(
    call: BoundCall, run: Run, inputs: Sequence[Any], buffers: Mapping[str, torch.Tensor]
) -> Run:
    """Return *run*, which takes the tensors as passed, as calls like this one make it.

    Args:
        call: The call.
        run: Runs calls like it.
        inputs: The inputs of the call.
        buffers: Its buffers by keyword.

    Raises:
        LazyWriteError: A tensor that is written negates or conjugates when it is read.
        BufferOverlapError: Several elements of a tensor that is written lie in one place; by the
            calls, one lies on another tensor.
    """
    if not call.written and not buffers:
        return run
    tensors = [*inputs, *buffers.values()]
    return Writes.of(call, inputs, buffers).on(run, tensors)


_ADDRESSED = ("cpu", "cuda")
"""Device types whose tensors have addresses; a vendor's need not."""


@dataclass(frozen=True, slots=True)
class Writes:
    """What calls that differ in sizes alone write, where none of them passes an empty tensor.

    Attributes:
        op: The op's name.
        labels: The names of the inputs, then of the buffers.
        written: The places of the tensors that are written.
        reached: The places of those that have memory, whose addresses are looked at.
        make: Makes the function that runs calls.
    """

    op: str
    labels: tuple[str, ...]
    written: Places
    reached: Places
    make: Callable[..., Run]

    @classmethod
    def of(
        cls, call: BoundCall, inputs: Sequence[Any], buffers: Mapping[str, torch.Tensor]
    ) -> Writes:
        """Return what a call writes that passes these inputs and buffers.

        Raises:
            LazyWriteError: As `writing` does. Whether a tensor is read as it lies is part of what
                calls share that differ in sizes alone.
        """
        labels = (*[*call.inputs][: len(inputs)], *buffers)
        tensors = [*inputs, *buffers.values()]
        written = tuple(
            place
            for place, label in enumerate(labels)
            if tensors[place] is not None and (label in call.written or place >= len(inputs))
        )
        reached = tuple(
            place
            for place, one in enumerate(tensors)
            if call.device.type in _ADDRESSED
            and one is not None
            and one.numel()
            and one.device == call.device
        )
        for place in written:
            _check_not_lazy(call.op, labels[place], tensors[place])
        noted = tuple(place for place in written if not tensors[place].is_inference())
        keywords = None if not buffers and not call.execution else tuple(buffers)
        make = _written_out(len(inputs), keywords, reached, written, noted)
        return cls(call.op, labels, written, reached, make)

    def on(self, run: Run, tensors: Sequence[Any]) -> Run:
        """Return *run* as calls on tensors with the sizes and strides of these make it.

        Raises:
            BufferOverlapError: As `writing` does.
        """
        for place in self.written:
            _check_alone(self.op, self.labels[place], tensors[place])
        lengths: list[int] = []
        sparse: dict[int, Extent] = {}
        for place in self.reached:
            one = tensors[place]
            if one.is_contiguous():
                lengths.append(one.nbytes)
            else:
                extent = sparse[place] = Extent.of(one)
                lengths.append(extent.length)
        return self.make(run, _Check(self, lengths, sparse), _increment_version, lengths)


def _check_not_lazy(op: str, name: str, tensor: torch.Tensor) -> None:
    if tensor.is_neg() or tensor.is_conj():
        what = "negates" if tensor.is_neg() else "conjugates"
        raise LazyWriteError(
            op=op,
            tensor=name,
            requirement="lie in memory as it is read",
            given=f"a view that {what} when it is read; pass what resolve_neg() or resolve_conj() "
            "returns",
        )


def _check_alone(op: str, name: str, tensor: torch.Tensor) -> None:
    if not tensor.is_contiguous() and tensor.numel() and overlaps_itself(tensor):
        raise BufferOverlapError(
            op=op,
            tensor=name,
            requirement="hold every element in a place of its own",
            given=f"shape {tuple(tensor.shape)} with strides {tensor.stride()}",
        )


@dataclass(frozen=True)
class _Check:
    """Raises for a tensor that is written and shares memory with another one.

    Attributes:
        writes: What is written.
        lengths: Per tensor reached, the bytes from its first to its last.
        sparse: Those that are not contiguous.
    """

    writes: Writes
    lengths: Sequence[int]
    sparse: Mapping[int, Extent]

    def __call__(self, starts: Mapping[int, int]) -> None:
        """Look closely at tensors that may touch.

        Args:
            starts: Where each begins, by its place.
        """
        writes = self.writes
        extents = {
            place: self.sparse.get(place) or Extent.whole(length)
            for place, length in zip(writes.reached, self.lengths, strict=True)
        }
        for place, other in permutations(starts, 2):
            apart = starts[other] - starts[place]
            if place in writes.written and share(extents[place], extents[other], apart):
                raise BufferOverlapError(
                    op=writes.op,
                    tensor=writes.labels[place],
                    requirement="share no memory with another tensor",
                    given=f"a tensor in the memory of {writes.labels[other]}",
                )


@lru_cache(maxsize=256)
def _written_out(
    count: int, keywords: tuple[str, ...] | None, reached: Places, written: Places, noted: Places
) -> Callable[..., Run]:
    """Return what makes the function that runs calls, and first looks at addresses.

    The comparisons are written out, since a loop over them costs as much as a small call.

    Args:
        count: The number of inputs.
        keywords: The buffers, counted after the inputs; None where no keyword is passed.
        reached: The tensors that have memory.
        written: Those that may share it with no other.
        noted: Those whose writes are told to torch.
    """
    tensors = [f"x{place}" for place in range(count)]
    tensors += [f"given[{keyword!r}]" for keyword in keywords or ()]
    pairs = [(a, b) for a, b in combinations(reached, 2) if a in written or b in written]
    lines = []
    if pairs:
        lines += [f"a{place} = {tensors[place]}.data_ptr()" for place in reached]
        touching = [f"before{one} < a{one} - a{two} < length{two}" for one, two in pairs]
        starts = ", ".join(f"{place}: a{place}" for place in reached)
        lines += [f"if {' or '.join(touching)}: check({{{starts}}})"]
    arguments = "".join(f"x{place}, " for place in range(count))
    arguments += "" if keywords is None else "**given"
    lines += [f"results = run({arguments})"]
    lines += [f"note(({', '.join(tensors[place] for place in noted)},))"] if noted else []
    body = "\n        ".join([*lines, "return results"])
    source = f"""
def make(run, check, note, lengths):
    [{", ".join(f"length{place}" for place in reached)}] = lengths
    [{", ".join(f"before{place}" for place in reached)}] = [-one for one in lengths]
    def run_and_note({arguments}):
        {body}
    return run_and_note
"""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    make: Callable[..., Run] = namespace["make"]
    return make
