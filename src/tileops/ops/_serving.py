"""The target of one op instance: fixed by the first call that runs, undone if that call fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from tileops.backend import Registry, TargetChoice, check_named_target, choose_target
from tileops.errors import ArgumentTypeError, TargetKernelError
from tileops.errors.wording import shown
from tileops.ops._build_once import BuildOnce
from tileops.tensor_spec import TensorSpec

__all__ = ["Serving"]

KERNELS = 256
"""Kernels of a target that an op keeps, the last used ones: a target builds one per shape."""

Specs = tuple[TensorSpec | None, ...]


class Serving:
    """Which target serves an op instance, and the kernels that the target has built for it."""

    def __init__(self, registry: Registry, op: str, argument: str | None) -> None:
        """Take what names the target; whether there is such a target is asked by the first call.

        Raises:
            ArgumentTypeError: *argument* is no name.
        """
        if argument is not None and not (isinstance(argument, str) and argument):
            raise ArgumentTypeError(
                op=op,
                tensor="target",
                requirement="be the name of a target, or None",
                given=shown(argument),
            )
        self._registry = registry
        self._op = op
        self._argument = argument
        self.choice: TargetChoice | None = None
        self.built: BuildOnce[tuple[torch.device, Any], Any] = BuildOnce(KERNELS)
        self._lock = threading.RLock()

    @contextmanager
    def fixed(self, device: torch.device, holds_kernels: bool) -> Iterator[TargetChoice]:
        """Yield the op's target, choosing it for *device* when no call has fixed it yet.

        The call that fixes it runs inside; when it fails, the choice and what the target has
        built are undone, and the next call chooses again. Calls that find it fixed run in
        parallel.
        """
        choice = self.choice
        if choice is not None:
            yield choice
            return
        with self._lock:
            if self.choice is not None:
                yield self.choice
                return
            chosen = choose_target(self._registry, self._op, self._argument, device, holds_kernels)
            try:
                yield chosen
            except BaseException:
                self.choice = None
                self.built.clear()
                raise
            self.choice = chosen

    def check_named(self) -> None:
        """Check the name of the target of an op that has fixed none.

        Raises:
            UnknownTargetError: A target is named that is not registered.
        """
        if self.choice is None:
            check_named_target(self._registry, self._op, self._argument)

    def kernel(
        self, target: str, device: torch.device, specs: Specs, params: Mapping[str, Any]
    ) -> Any:
        """Return the kernel that *target* builds for inputs like *specs* on *device*.

        An error of the builder reaches the caller unchanged, and nothing is kept.

        Args:
            target: A target with a builder for the op.
            device: The call's device.
            specs: A description per input, without strides: calls whose tensors differ in these
                alone share the kernel.
            params: The op's parameters.

        Raises:
            TargetKernelError: The builder returned nothing that can be called.
        """
        builder = self._registry.builders[self._op, target]
        key = (device, tuple(None if s is None else (s.dtype, s.shape) for s in specs))

        def build() -> Any:
            kernel = builder.build_kernel(*specs, **params)
            if not callable(kernel):
                raise TargetKernelError(op=self._op, target=target, value=shown(kernel))
            return kernel

        return self.built.get(key, device, build)

    def tune(self) -> None:
        """Tune what the target has built, and builds from now on."""
        self.built.tune()
