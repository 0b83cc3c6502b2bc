"""Op: what every operator shares between its call and the kernel that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch

from tileops.backend import BUILTIN, REGISTRY, Registry
from tileops.call_spec import CallSpec, check_keyable
from tileops.errors import CallSpecTypeError, StatedFactsError, UnknownInterfaceError
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.ops._entries import BuiltKernel, EntryCache
from tileops.ops._plan import fingerprint, with_prepared_inputs
from tileops.ops._serving import Serving
from tileops.ops._tables import tables_of
from tileops.selection import Selection, SelectionTable, select
from tileops.tensor_spec import TensorSpec

__all__ = ["Op", "Request"]

Request = tuple[str, CallSpec]
"""A kernel request: the interface's key in the op, and the call spec."""


class Op:
    """An operator that selects one kernel for every call.

    A subclass states its kernels and interfaces, its constructor parameters, the kernel requests
    of a call, and how the kernels run.

    Attributes:
        kernel_types: The op's own implementations by key.
        interfaces: Its kernel interfaces by name; a key belongs to every interface that its
            class inherits.
    """

    kernel_types: ClassVar[Mapping[str, type[Kernel]]] = {}
    interfaces: ClassVar[Mapping[str, type[KernelInterface]]] = {}
    registry: ClassVar[Registry] = REGISTRY

    def __init__(self, *, target: str | None = None, **params: Any) -> None:
        """Load the installed backends, then check the op's kernels and the registered ones.

        Args:
            target: The target to run on; None leaves it to the process default and the
                detectors, ``tileops.backend.BUILTIN`` means the in-tree kernels.
            params: The parameters of the op, as the subclass's constructor names them.

        Raises:
            DispatchError: A class, a key or a preference breaks the contract.
        """
        self.params: Mapping[str, Any] = params
        self._tables = self.selection_tables()
        self._entries = EntryCache()
        self._serving = Serving(self.registry, type(self).__name__, target)
        self._plans: dict[Any, Callable[..., Any]] = {}

    @classmethod
    def selection_tables(cls) -> Mapping[str, SelectionTable]:
        """Return the table of every interface, as an instance constructed now would have it.

        Raises:
            DispatchError: A class, a key or a preference breaks the contract.
        """
        cls.registry.load()
        return tables_of(cls, cls.registry)

    def requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Return the kernel requests of a call, from descriptions alone.

        Args:
            inputs: A tensor or `TensorSpec` per input, None for one that is absent.
        """
        raise NotImplementedError(f"{type(self).__name__} states no kernel requests")

    def bind(self, kernels: tuple[Kernel, ...], *inputs: torch.Tensor | None) -> Callable[..., Any]:
        """Return the function that runs calls like this one, given the kernels it requested."""
        (kernel,) = kernels
        forward: Callable[..., Any] = kernel.forward  # type: ignore[attr-defined]
        return forward

    def explain(self, interface: str, call: CallSpec) -> Selection:
        """Decide which key serves *call*; nothing is built.

        Raises:
            UnknownInterfaceError: The op has no such interface.
            CallSpecTypeError: *call* is no call spec of the interface.
        """
        return select(self._table(interface, call), call.resolved())

    def key_for(self, interface: str, call: CallSpec) -> str:
        """Return the key that serves *call*; stated device facts are welcome.

        Raises:
            UnknownInterfaceError: The op has no such interface.
            CallSpecTypeError: *call* is no call spec of the interface.
            SelectionError: No key is selected; the error carries the selection.
        """
        return self.explain(interface, call).winner()

    def kernel_for(self, interface: str, call: CallSpec) -> Kernel:
        """Return the built kernel that serves *call* on its device.

        Raises:
            UnknownInterfaceError: The op has no such interface.
            CallSpecTypeError: *call* is no call spec of the interface.
            UnkeyableFactError: A fact of *call* is mutable.
            StatedFactsError: *call* states device facts.
            SelectionError: No key is selected; the error carries the selection.
        """
        table = self._table(interface, call)
        check_keyable(call)
        stated = call.stated_facts()
        if stated:
            raise StatedFactsError(
                op=type(self).__name__, interface=interface, facts=sorted(stated)
            )
        call = call.resolved()
        kernel = self._entries.find(interface, call)
        if kernel is None:
            selection = select(table, call)
            selection.winner()
            kernel = self._build(selection, call)
        return kernel

    def request_tune(self) -> None:
        """Tune every kernel built so far, and every later one before its first launch.

        Tuning changes a configuration inside one implementation, never the selection.
        """
        self._entries.tune()
        self._serving.tune()

    def iter_kernels(self) -> Iterator[BuiltKernel]:
        """Yield the in-tree kernels built so far, in the order they were built."""
        return iter(self._entries)

    def kernel_config(self) -> tuple[Any, ...]:
        """Return the configuration of every kernel built so far, in-tree kernels first."""
        kernels = [built.kernel for built in self._entries]
        kernels += [kernel for _, kernel in self._serving.built.items()]
        return tuple(getattr(kernel, "config", None) for kernel in kernels)

    @property
    def serving_target(self) -> str | None:
        """The target this instance has fixed, BUILTIN for the in-tree kernels, None before."""
        choice = self._serving.choice
        return None if choice is None else choice.target or BUILTIN

    def _build(self, selection: Selection, call: CallSpec) -> Kernel:
        verdict = selection.selected
        assert verdict is not None
        kernel_type: Any = verdict.candidate.implementation
        interface = selection.table.interface
        return self._entries.entry(type(self).__name__, interface, kernel_type, call)

    def _table(self, interface: str, call: CallSpec) -> SelectionTable:
        table = self._tables.get(interface)
        if table is None:
            raise UnknownInterfaceError(
                op=type(self).__name__,
                interface=interface,
                interfaces=", ".join(self._tables) or "none",
            )
        request = self.interfaces[interface].request
        if not isinstance(call, request):
            raise CallSpecTypeError(
                op=type(self).__name__,
                interface=interface,
                request=request.__name__,
                given=type(call).__name__,
            )
        return table

    def _call(self, *inputs: Any) -> Any:
        """Run a call: by its plan if one like it ran before, else from the beginning."""
        plan = self._plans.get(fingerprint(inputs))
        return self._first_call(inputs) if plan is None else plan(*inputs)

    def _first_call(self, inputs: tuple[Any, ...]) -> Any:
        key = fingerprint(inputs)
        device = inputs[0].device
        with self._serving.fixed(device, bool(self.kernel_types)) as choice:
            if choice.target is None:
                kernels = tuple(self.kernel_for(i, call) for i, call in self.requests(*inputs))
                run = self.bind(kernels, *inputs)
            else:
                specs = tuple(None if t is None else TensorSpec.of(t) for t in inputs)
                run = self._serving.kernel(choice.target, device, specs, self.params)
            plan = with_prepared_inputs(run, inputs, [False] * len(inputs))
            result = plan(*inputs)
        if key is not None:
            self._plans[key] = plan
        return result
