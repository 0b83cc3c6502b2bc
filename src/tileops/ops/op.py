"""Op: what every operator shares between its call and the kernel that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch.autograd import forward_ad

from tileops import manifest
from tileops.backend import BUILTIN, REGISTRY, Registry
from tileops.call_spec import CallSpec, check_keyable
from tileops.errors import (
    CallSpecTypeError,
    MissingSignatureError,
    StatedFactsError,
    UnknownInterfaceError,
)
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
from tileops.manifest import OpEntry, Signature
from tileops.ops._constructed import Copied
from tileops.ops._entries import BuiltKernel, EntryCache
from tileops.ops._fixed import Fixed
from tileops.ops._graph import Identity, as_node, enlist, interposed, shared, show_as_node
from tileops.ops._observers import join, tell, watched
from tileops.ops._plan import Plan, Run
from tileops.ops._plans import Plans
from tileops.ops._possible import check_possible, check_stated
from tileops.ops._recognise import Recognise, modes, nothing
from tileops.ops._serving import Serving
from tileops.ops._signature import CallChecks
from tileops.ops._tables import tables_of
from tileops.ops.gradient import Gradient
from tileops.selection import Selection, SelectionTable, select, winner_of

__all__ = ["Op", "Request"]

Request = tuple[str, CallSpec]
"""A kernel request: the interface's key in the op, and the call spec."""

_NONE: Mapping[str, Any] = {}

_set = object.__setattr__


def _unreachable(*inputs: Any) -> Any:
    raise AssertionError("no call is recognised before a plan is")


class Op(Copied, Fixed):
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

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Let torch.compile see a call of the op as one node."""
        super().__init_subclass__(**keywords)
        if "__call__" in vars(cls):
            show_as_node(vars(cls)["__call__"])

    def __init__(self, *, target: str | None = None, **params: Any) -> None:
        """Load the installed backends, then check the op's kernels and the registered ones.

        Args:
            target: The target to run on; None leaves it to the process default and the
                detectors, ``tileops.backend.BUILTIN`` means the in-tree kernels.
            params: The parameters of the op, as the subclass's constructor names them.

        Raises:
            SignatureError: A parameter is unknown, missing, or has a wrong value.
            DispatchError: A class, a key or a preference breaks the contract.
        """
        name = type(self).__name__
        signature = self.signature()
        checks = None if signature is None else CallChecks(name, signature, params)
        self.checks = None if checks is None else shared(type(self), checks)
        self.params = MappingProxyType(params) if self.checks is None else self.checks.params
        self._tables = self.selection_tables()
        self._entries = EntryCache()
        self.serving = Serving(self.registry, name, target)
        self._plans = Plans()
        self._recent: tuple[Recognise, Run] = (nothing, _unreachable)
        self.identity: Identity = enlist(self)
        join(self)

    @classmethod
    def entry(cls) -> OpEntry | None:
        """Return the manifest's entry of the op, or of the nearest ancestor that has one."""
        entries = manifest.load()
        return next((entries[one.__name__] for one in cls.__mro__ if one.__name__ in entries), None)

    @classmethod
    def signature(cls) -> Signature | None:
        """Return the signature that calls are checked against; by default the entry's."""
        entry = cls.entry()
        return None if entry is None else entry.signature

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
        return kernel.bind(*inputs)

    def gradient(self) -> Gradient | None:
        """Return the backward of this instance's calls; None says that it is forward only.

        Asked for when a call that records gradients is planned, so other calls never pay for it.
        """
        return None

    def checked_requests(self, *inputs: Any) -> tuple[Request, ...]:
        """Return the kernel requests of a call that passes the checks; nothing runs.

        Args:
            inputs: A tensor or `TensorSpec` per input, in order; None, or nothing at the end,
                where absent.

        Returns:
            The requests in order; none where every tensor that the call writes is empty.

        Raises:
            MissingSignatureError: The op has no signature to check the call against.
            SignatureError: The call does not fit the op's signature.
        """
        if self.checks is None:
            raise MissingSignatureError(op=type(self).__name__)
        call = self.checks.check(inputs)
        return () if call.empty else self.requests(*call.inputs.values())

    def explain_call(self, *inputs: Any, **stated: int) -> tuple[Selection, ...]:
        """Decide which key serves each kernel request of a call; nothing is built and nothing runs.

        The answer is about the in-tree and the registered kernels, whatever target serves the op.

        Args:
            inputs: A tensor or `TensorSpec` per input, in order; None, or nothing at the end,
                where absent.
            stated: Device facts (arch, sm_count, smem_budget) to assume of the inputs' device.

        Returns:
            A selection per request, in order; none where every tensor that the call writes is
            empty, since such a call runs no kernel.

        Raises:
            MissingSignatureError: The op has no signature to check the call against.
            SignatureError: The call does not fit the op's signature, or a keyword is no device
                fact.
            ImpossibleCallError: A device fact has a value that no device has.
        """
        check_stated(type(self).__name__, stated)
        requests = self.checked_requests(*inputs)
        if stated:
            requests = tuple(
                (name, call.with_device(call.device, **stated)) for name, call in requests
            )
        return tuple(self.explain(name, call) for name, call in requests)

    def explain(self, interface: str, call: CallSpec) -> Selection:
        """Decide which key serves *call*; nothing is built.

        Raises:
            UnknownInterfaceError: The op has no such interface.
            CallSpecTypeError: *call* is no call spec of the interface.
            ImpossibleCallError: No op makes such a call.
        """
        table = self._table(interface, call)
        call = self.interfaces[interface].narrow(call)
        check_possible(type(self).__name__, interface, call)
        return tell(select(table, call.resolved()))

    def key_for(self, interface: str, call: CallSpec) -> str:
        """Return the key that serves *call*; stated device facts are welcome.

        Raises:
            UnknownInterfaceError: The op has no such interface.
            CallSpecTypeError: *call* is no call spec of the interface.
            ImpossibleCallError: No op makes such a call.
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
            ImpossibleCallError: No op makes such a call.
            SelectionError: No key is selected; the error carries the selection.
        """
        self._table(interface, call)
        call = self.interfaces[interface].narrow(call)
        check_keyable(call)
        self._check_unstated(interface, call)
        # An equal call may be known though a fact of this one has another type, as in 8.0.
        check_possible(type(self).__name__, interface, call)
        return self._kernel(interface, call)

    def kernels_for(self, inputs: tuple[Any, ...]) -> tuple[Kernel, ...]:
        """Return the built kernels that serve a call with these inputs, one per request.

        Raises:
            DispatchError: As `kernel_for` does.
        """
        return tuple([self._kernel(interface, call) for interface, call in self.requests(*inputs)])

    def request_tune(self) -> None:
        """Tune every kernel built so far, and every later one before its first launch.

        Tuning changes a configuration inside one implementation, never the selection.
        """
        try:
            self._entries.tune()
        finally:
            self.serving.tune()
            # A plan may run a kernel of a target that is no longer kept, and was not tuned now.
            self.forget_plans()

    def iter_kernels(self) -> Iterator[BuiltKernel]:
        """Yield the in-tree kernels built so far, in the order they were built."""
        return iter(self._entries)

    def kernel_config(self) -> tuple[Any, ...]:
        """Return the configuration of every kernel built so far, in-tree kernels first."""
        kernels = [built.kernel for built in self._entries]
        kernels += [kernel for _, kernel in self.serving.built.items()]
        return tuple(getattr(kernel, "config", None) for kernel in kernels)

    def forget_plans(self) -> None:
        """Let the next call of every kind take the slow path again; built kernels are kept."""
        # In this order a call that is under way cannot bring back what is forgotten.
        self._plans = Plans()
        self._recent = (nothing, _unreachable)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, in the order of the call."""
        return () if self.checks is None else tuple(d.name for d in self.checks.signature.inputs)

    @property
    def serving_target(self) -> str | None:
        """The target this instance has fixed, BUILTIN for the in-tree kernels, None before.

        It stays None for an op that is made of other ops and leaves the target to them.
        """
        choice = self.serving.choice
        if choice is None:
            return None
        return choice.target or (BUILTIN if self.kernel_types else None)

    def _kernel(self, interface: str, call: CallSpec) -> Kernel:
        """Return the kernel of a call: the one that is known, or the one that is selected."""
        table = self._table(interface, call)
        self._check_unstated(interface, call)
        call = self.interfaces[interface].narrow(call).resolved()
        kernel = self._entries.find(interface, call)
        if kernel is not None:
            return kernel
        check_keyable(call)
        check_possible(type(self).__name__, interface, call, typed=True)
        return self._build(table, call)

    def _check_unstated(self, interface: str, call: CallSpec) -> None:
        stated = call.stated_facts()
        if stated:
            raise StatedFactsError(
                op=type(self).__name__, interface=interface, facts=sorted(stated)
            )

    def _build(self, table: SelectionTable, call: CallSpec) -> Kernel:
        candidate = None if watched() else winner_of(table, call)
        if candidate is None:
            selection = tell(select(table, call))
            selection.winner()
            assert selection.selected is not None
            candidate = selection.selected.candidate
        kernel_type: Any = candidate.implementation
        op = type(self).__name__
        return self._entries.entry(op, table.interface, candidate.key, kernel_type, call)

    def _table(self, interface: str, call: CallSpec) -> SelectionTable:
        table = self._tables.get(interface) if isinstance(interface, str) else None
        if table is None:
            raise UnknownInterfaceError(
                op=type(self).__name__,
                interface=interface,
                interfaces=", ".join(self._tables) or "none",
            )
        asked = self.interfaces[interface]
        if not asked.takes(call):
            raise CallSpecTypeError(
                op=type(self).__name__,
                interface=interface,
                request=asked.request.__name__,
                given=type(call).__name__,
            )
        return table

    def _call(
        self,
        inputs: tuple[Any, ...],
        buffers: Mapping[str, Any] = _NONE,
        execution: Mapping[str, Any] = _NONE,
    ) -> Any:
        """Run a call that is not like the one before it, or show it to torch where torch wants it.

        Args:
            inputs: A tensor per input, None for one that is absent.
            buffers: The output buffers by keyword; None is as good as none.
            execution: The execution arguments that the caller passed, by keyword.
        """
        if buffers:
            buffers = {name: one for name, one in buffers.items() if one is not None}
        plans = self._plans
        if not (buffers or execution or modes() or forward_ad._current_level >= 0):
            plan = plans.recognise(inputs)
            if plan is not None:
                self._expect(plan, plans)
                return plan.run(*inputs)
        if interposed((*inputs, *buffers.values())):
            return as_node(self, inputs, buffers, execution)
        return self._unrecognised(inputs, buffers, execution)

    def launch(
        self, inputs: tuple[Any, ...], buffers: Mapping[str, Any], execution: Mapping[str, Any]
    ) -> Any:
        """Run a call: by its plan if one like it ran before, else from the beginning.

        Args:
            inputs: A tensor per input, None for one that is absent; none stands for another.
            buffers: The output buffers given, by keyword.
            execution: The execution arguments given, by keyword.
        """
        plans = self._plans
        plan = None if buffers or execution else plans.recognise(inputs)
        if plan is not None:
            return plan.run(*inputs)
        return self._unrecognised(inputs, buffers, execution)

    def _unrecognised(
        self, inputs: tuple[Any, ...], buffers: Mapping[str, Any], execution: Mapping[str, Any]
    ) -> Any:
        """Run a call that no plan recognises."""
        plans = self._plans
        result, plan = plans.run(self, inputs, buffers, execution)
        # A shape that comes once or twice is not worth what a recogniser costs to make.
        if plan is not None and plan.found > 1 and not buffers and not execution:
            plans.remember(plan, inputs)
            self._expect(plan, plans)
        return result

    def _expect(self, plan: Plan, plans: Plans) -> None:
        """Let the next call be tried as one of this plan first."""
        if plan.recognise is not None:
            # Kinds that take turns come here every time; this skips asking for a parameter's name.
            _set(self, "_recent", (plan.recognise, plan.run))
        if self._plans is not plans:
            # The plans were forgotten meanwhile.
            self._recent = (nothing, _unreachable)
