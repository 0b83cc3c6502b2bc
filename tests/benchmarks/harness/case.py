"""Cases: named concrete calls of one op, with everything known of them before a tensor exists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Literal

import torch

from harness.sweeps import sweep_of
from tileops import manifest
from tileops.manifest import OpEntry, Workload
from tileops.ops._signature import (
    BoundCall,
    CallChecks,
    Cost,
    cost_of,
    workload_inputs,
    workload_params,
)
from tileops.ops.catalogue import in_tree_ops
from tileops.ops.op import Op
from tileops.tensor_spec import TensorSpec

__all__ = ["Case", "UnknownOpError", "cases_of", "chosen_ops", "smallest_of"]


Source = Literal["manifest", "sweep"]


class UnknownOpError(LookupError):
    """A benchmark was asked of an op or family that the manifest does not hold.

    Attributes:
        name: What was asked for.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(
            f"{name!r} is neither an op nor a family of the manifest; it holds {', '.join(known)}"
        )


@dataclass(frozen=True)
class Case:
    """A workload of an op on a device.

    Attributes:
        entry: The op's entry in the manifest.
        workload: The workload.
        source: Whether the manifest or a sweep names it.
        params: The constructor's arguments.
        inputs: The inputs in order, described; None where absent.
        call: What the signature says of the call.
        cost: The work it cannot avoid.
    """

    entry: OpEntry
    workload: Workload
    source: Source
    params: Mapping[str, Any]
    inputs: tuple[TensorSpec | None, ...]
    call: BoundCall
    cost: Cost

    @classmethod
    def of(
        cls,
        entry: OpEntry,
        workload: Workload,
        device: torch.device | str,
        source: Source = "manifest",
    ) -> Case:
        """Check a workload against its op's signature and take its roofline; nothing is allocated.

        Raises:
            SignatureError: The workload does not fit the signature.
        """
        params = workload_params(entry.signature, workload)
        inputs = workload_inputs(entry.signature, workload, device)
        call = CallChecks(entry.name, entry.signature, params).check(inputs)
        return cls(entry, workload, source, params, inputs, call, cost_of(entry.roofline, call))

    @property
    def name(self) -> str:
        """The op and the workload, as ``--only`` matches them."""
        return f"{self.entry.name}/{self.workload.name}"

    @property
    def input_bytes(self) -> int:
        """Bytes of one set of inputs."""
        return sum(spec.nbytes for spec in self.inputs if spec is not None)

    @property
    def output_bytes(self) -> int:
        """Bytes of one set of outputs."""
        return sum(spec.nbytes for spec in self.call.outputs.values())

    def new_op(self) -> Op:
        """Construct the public op of this case.

        Raises:
            UnknownOpError: No class has the name of the entry.
        """
        classes = in_tree_ops()
        kind = classes.get(self.entry.name)
        if kind is None:
            raise UnknownOpError(self.entry.name, classes)
        return kind(**self.params)


def chosen_ops(names: Iterable[str]) -> tuple[OpEntry, ...]:
    """Return the entries of ops or families by name, or of every op whose class exists.

    Raises:
        UnknownOpError: A name is neither.
    """
    entries = manifest.load()
    classes = in_tree_ops()
    families = {entry.family for entry in entries.values()}
    wanted = list(names)
    for name in wanted:
        if name not in entries and name not in families:
            raise UnknownOpError(name, [*entries, *sorted(families)])
    return tuple(
        entry
        for entry in entries.values()
        if entry.name in classes and (not wanted or {entry.name, entry.family} & set(wanted))
    )


def cases_of(
    entries: Iterable[OpEntry], device: torch.device | str, only: str = "*", sweep: bool = False
) -> tuple[Case, ...]:
    """Return the cases of ops in the order of the manifest, sweeps after an op's workloads.

    Args:
        entries: The ops.
        device: Where they run.
        only: A pattern of ``op/workload``; one without a slash matches workloads of every op.
        sweep: Whether to add the points of the families' sweeps.
    """
    pattern = only if "/" in only else f"*/{only}"
    found: list[Case] = []
    for entry in entries:
        named: dict[Source, tuple[Workload, ...]] = {"manifest": entry.workloads}
        if sweep:
            named["sweep"] = sweep_of(entry)
        found += [
            Case.of(entry, workload, device, source)
            for source, workloads in named.items()
            for workload in workloads
            if fnmatch(f"{entry.name}/{workload.name}", pattern)
        ]
    return tuple(found)


def smallest_of(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the smallest workload of every op: its device time hides behind the host's."""
    smallest: dict[str, Case] = {}
    for case in cases:
        known = smallest.setdefault(case.entry.name, case)
        if case.cost.bytes < known.cost.bytes:
            smallest[case.entry.name] = case
    return tuple(smallest.values())
