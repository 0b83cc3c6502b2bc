"""The tables that backends write and ops read, as one object."""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any

import torch

from tileops import manifest
from tileops.backend._journal import Journal
from tileops.backend._loading import EntryPoints, installed_backends, load_backends, warn_of
from tileops.backend._registration import (
    BUILTIN,
    BuilderRegistration,
    DetectorRegistration,
    FactsRegistration,
    KernelRegistration,
    LoadedBackend,
    LoadFailure,
    Registration,
)
from tileops.device import READERS, DeviceFacts, FactReaders
from tileops.errors import BackendError, DeviceFactsError
from tileops.errors.wording import shown
from tileops.selection import Origin


class Registry:
    """Registered kernels, detectors, builders, device facts and the default target.

    The module keeps one default instance; tests make their own.

    Args:
        known_ops: The names that registrations may give.
        readers: The readers that `register_device_facts` writes.
        entry_points: The backends to load; the installed ones by default.
    """

    def __init__(
        self,
        known_ops: Callable[[], Collection[str]] = manifest.op_names,
        readers: FactReaders | None = None,
        entry_points: EntryPoints = installed_backends,
    ) -> None:
        self._known_ops = known_ops
        self._entry_points = entry_points
        self.readers = FactReaders() if readers is None else readers
        self.kernels: dict[tuple[str, str], KernelRegistration] = {}
        self.detectors: dict[str, DetectorRegistration] = {}
        self.builders: dict[tuple[str, str], BuilderRegistration] = {}
        self.facts: dict[str, FactsRegistration] = {}
        self.default_target: str | None = None
        self.loaded: tuple[LoadedBackend, ...] = ()
        self.failures: tuple[LoadFailure, ...] = ()
        self.journal = Journal()
        self._load_lock = threading.RLock()
        self._loading = False
        self._has_loaded = False

    def load(self) -> None:
        """Load the installed backends, once; the first caller loads, the others wait."""
        if self._has_loaded:
            return
        with self._load_lock:
            # The lock is re-entrant: an op that a backend constructs while it is being imported
            # must not start the loading again.
            if self._has_loaded or self._loading:
                return
            self._loading = True
            try:
                backends = load_backends(self, self._entry_points())
            finally:
                self._loading = False
            self.loaded = tuple(one for one in backends if isinstance(one, LoadedBackend))
            self.failures = tuple(one for one in backends if isinstance(one, LoadFailure))
            self._has_loaded = True
        # Warnings may be errors: by now the records are kept and the loading is over.
        warn_of(self.failures)

    @property
    def tables(self) -> tuple[dict[Any, Any], ...]:
        """Every table of registrations."""
        return (self.kernels, self.detectors, self.builders, self.facts)

    def register_kernel_type(self, op: str, key: str, kernel_type: Any) -> None:
        """See `tileops.backend.register_kernel_type`."""
        what = f"register_kernel_type({op!r}, {key!r})"
        self._check_op(what, op)
        _check_name(what, "key", key)
        if not isinstance(kernel_type, type):
            raise BackendError(what=what, problem=f"{shown(kernel_type)} is not a class")
        registration = KernelRegistration(
            op=op, key=key, kernel_type=kernel_type, origin=self._origin()
        )
        self._put(what, self.kernels, (op, key), registration)

    def register_detector(self, target: str, detect: Callable[[torch.device], bool]) -> None:
        """See `tileops.backend.register_detector`."""
        what = f"register_detector({target!r})"
        self._check_target(what, target)
        if not callable(detect):
            raise BackendError(
                what=what, problem=f"detect is {shown(detect)}, which is not callable"
            )
        registration = DetectorRegistration(target=target, detect=detect, origin=self._origin())
        self._put(what, self.detectors, target, registration)

    def register_kernel_builder(
        self, op: str, target: str, build_kernel: Callable[..., Any]
    ) -> None:
        """See `tileops.backend.register_kernel_builder`."""
        what = f"register_kernel_builder({op!r}, {target!r})"
        self._check_op(what, op)
        self._check_target(what, target)
        if not callable(build_kernel):
            raise BackendError(
                what=what, problem=f"build_kernel is {shown(build_kernel)}, which is not callable"
            )
        registration = BuilderRegistration(
            op=op, target=target, build_kernel=build_kernel, origin=self._origin()
        )
        self._put(what, self.builders, (op, target), registration)

    def register_device_facts(
        self, device_type: str, reader: Callable[[torch.device], DeviceFacts]
    ) -> None:
        """See `tileops.backend.register_device_facts`."""
        what = f"register_device_facts({device_type!r})"
        _check_name(what, "device_type", device_type)
        registration = FactsRegistration(
            device_type=device_type, reader=reader, origin=self._origin()
        )
        _check_unclaimed(what, self.facts, device_type, registration)
        before = self.readers.snapshot()
        try:
            self.readers.register(device_type, reader)
        except DeviceFactsError as error:
            raise BackendError(what=what, problem=error.fields["problem"]) from error
        self.journal.note(lambda: self.readers.restore(before))
        self._put(what, self.facts, device_type, registration)

    def set_default_target(self, target: str | None) -> None:
        """See `tileops.backend.set_default_target`."""
        if target is not None and (not isinstance(target, str) or not target):
            raise BackendError(
                what="set_default_target", problem=f"{shown(target)} is no target name and not None"
            )
        before = self.default_target
        self.journal.note(lambda: setattr(self, "default_target", before))
        self.default_target = target

    def kernels_of(self, op: str) -> tuple[KernelRegistration, ...]:
        """Return the implementations registered for an op, in the order of registration."""
        return tuple(one for (name, _), one in list(self.kernels.items()) if name == op)

    def targets(self) -> tuple[str, ...]:
        """Return the names of every target with a detector or a builder, sorted."""
        return tuple(sorted({*self.detectors, *(target for _, target in list(self.builders))}))

    def targets_of(self, op: str) -> tuple[str, ...]:
        """Return the targets that have a builder for an op, sorted."""
        return tuple(sorted(target for name, target in list(self.builders) if name == op))

    def snapshot(self) -> Any:
        """Return what is registered now, for `restore`: tests of backends start from it again."""
        tables = tuple(dict(table) for table in self.tables)
        return tables, self.default_target, self.readers.snapshot()

    def restore(self, state: Any) -> None:
        """Return to what was registered at a snapshot."""
        tables, self.default_target, readers = state
        for table, kept in zip(self.tables, tables, strict=True):
            table.clear()
            table.update(kept)
        self.readers.restore(readers)

    def _origin(self) -> Origin:
        if self.journal.origin is not None:
            return self.journal.origin
        frame = sys._getframe(1)
        while frame.f_back is not None and _module(frame).startswith("tileops.backend"):
            frame = frame.f_back
        return Origin(module=_module(frame))

    def _check_op(self, what: str, op: object) -> None:
        known = self._known_ops()
        if op not in known:
            near = difflib.get_close_matches(str(op), known, n=3)
            hint = f"; did you mean {' or '.join(near)}" if near else ""
            raise BackendError(what=what, problem=f"there is no op {op!r}{hint}")

    def _check_target(self, what: str, target: object) -> None:
        _check_name(what, "target", target)
        if target == BUILTIN:
            raise BackendError(
                what=what, problem=f"{BUILTIN!r} names the in-tree kernels; choose another name"
            )

    def _put(self, what: str, table: dict[Any, Any], key: Any, registration: Registration) -> None:
        _check_unclaimed(what, table, key, registration)
        table[key] = registration
        self.journal.note(lambda: table.pop(key))


def _check_unclaimed(
    what: str, table: dict[Any, Any], key: Any, registration: Registration
) -> None:
    if key in table:
        first = table[key]
        raise BackendError(
            what=what,
            problem=f"{first.claimant} has registered it already, and "
            f"{registration.claimant} registers it again; {_way_out(first, registration)}",
        )


def _way_out(first: Registration, second: Registration) -> str:
    if first.claimant == second.claimant:
        return "leave one of the two calls out"
    ways = (
        f"leave the call out of {one.claimant}"
        if one.origin.distribution is None
        else f"uninstall {one.origin.distribution.partition(' ')[0]}"
        for one in (second, first)
    )
    return ", or ".join(ways)


def _check_name(what: str, parameter: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise BackendError(what=what, problem=f"{parameter} must be a name, got {shown(name)}")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "__main__"))


REGISTRY = Registry(readers=READERS)
"""The registry that ops use unless they are given another."""
