"""Our side of a benchmark: the public op, the key it selects, and the proof that its plan runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from harness.case import Case
from harness.inputs import Inputs
from tileops.backend import BUILTIN
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op

__all__ = ["PlanError", "Subject", "bare_launch", "function_of"]


LAUNCHES = ("_launch", "_launches")
"""Where kernels keep what they compiled."""


class PlanError(AssertionError):
    """The op ran something else than the selection says, or took the slow path again.

    Attributes:
        case: The case.
        problem: What happened.
    """

    def __init__(self, case: str, problem: str) -> None:
        self.case, self.problem = case, problem
        super().__init__(f"{case}: {problem}; its time would not be that of the selected kernel")


@dataclass(frozen=True)
class Subject:
    """An op that is ready to be timed.

    Attributes:
        op: The op; a call that its one plan does not serve raises from now on.
        keys: The selected key by interface.
        kernels: The kernels that its plan runs, in the order of the requests.
        result: What the call on the first set returned.
    """

    op: Op
    keys: dict[str, str]
    kernels: tuple[Kernel, ...]
    result: Any

    @classmethod
    def of(cls, case: Case, sets: Sequence[Inputs]) -> Subject:
        """Select, make the first call, and check that it built and ran what was selected.

        Raises:
            SelectionError: No kernel is selected.
            PlanError: Something else ran.
        """
        op = case.new_op()
        keys, implementations = {}, {}
        for interface, call in op.requests(*sets[0]):
            selection = op.explain(interface, call)
            keys[interface] = selection.winner()
            assert selection.selected is not None
            implementations[interface] = selection.selected.candidate.implementation
        result = function_of(op)(*sets[0])
        if op.serving_target != BUILTIN:
            raise PlanError(case.name, f"target {op.serving_target!r} serves it")
        built = {one.interface: type(one.kernel) for one in op.iter_kernels()}
        if built != implementations:
            raise PlanError(case.name, f"it built {built}, and selection says {implementations}")
        subject = cls(op, keys, tuple(one.kernel for one in op.iter_kernels()), result)
        subject._keep_to_the_plan(case)
        return subject

    @property
    def function(self) -> Callable[..., Any]:
        """The public op as what it is called as."""
        return function_of(self.op)

    def _keep_to_the_plan(self, case: Case) -> None:
        """Make the slow path raise: it alone asks an op for its requests."""

        def requests(*inputs: Any) -> NoReturn:
            raise PlanError(case.name, "a later call did not run by the plan of the first")

        self.op.requests = requests  # type: ignore[method-assign]


def bare_launch(kernel: Kernel, forward: Callable[[], Any]) -> Callable[[], Any] | None:
    """Return the compiled function of *kernel* on buffers that are ready, or None.

    Args:
        kernel: A kernel that keeps its compiled function as ``_launch``, or several by what they
            are for as ``_launches``, and is not bound yet: what it bound would not be seen.
        forward: Binds the kernel and runs it; the buffers of that run are used again.
    """
    seen: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def watched(launch: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            seen.append((launch, arguments))
            return launch(*arguments)

        return run

    held = {name: getattr(kernel, name) for name in LAUNCHES if hasattr(kernel, name)}
    for name, value in held.items():
        many = isinstance(value, Mapping)
        new = {key: watched(one) for key, one in value.items()} if many else watched(value)
        setattr(kernel, name, new)
    try:
        kept = forward()
    finally:
        for name, value in held.items():
            setattr(kernel, name, value)
    if len(seen) != 1:
        return None
    ((launch, arguments),) = seen
    bare = partial(launch, *arguments)
    # A launch may take addresses: what they point to lives as long as the function.
    bare.__dict__["kept"] = (kept, forward)
    return bare


def function_of(op: Op) -> Callable[..., Any]:
    """Return an op as what it is called as."""
    # Every op defines how it is called; their common class does not.
    return op  # type: ignore[return-value]
