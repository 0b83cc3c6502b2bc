"""Our side of a benchmark: the public op, the key it selects, and the proof that its plan runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from harness.case import Case
from harness.inputs import Inputs
from tileops.backend import BUILTIN
from tileops.kernels.kernel import Kernel
from tileops.ops.op import Op

__all__ = ["PlanError", "Subject", "bare_launches", "function_of"]


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


def bare_launches(
    kernels: Iterable[Kernel], forward: Callable[[], Any]
) -> tuple[Callable[[], Any], ...]:
    """Return the compiled functions of one call, each on buffers that are ready, in order.

    Args:
        kernels: Kernels that keep what they compiled in attributes, themselves or in those of a
            program, and are not bound yet: what they bound would not be seen.
        forward: Binds the kernels and runs them; the buffers of that run are used again.
    """
    seen: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def watched(launch: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            seen.append((launch, arguments))
            return launch(*arguments)

        return run

    held = [place for kernel in kernels for place in _compiled_in(kernel)]
    for owner, name, value in held:
        many = isinstance(value, Mapping)
        new = {key: watched(one) for key, one in value.items()} if many else watched(value)
        setattr(owner, name, new)
    try:
        kept = forward()
    finally:
        for owner, name, value in held:
            setattr(owner, name, value)
    launches = []
    for launch, arguments in seen:
        bare = partial(launch, *arguments)
        # A launch may take addresses: what they point to lives as long as the function.
        bare.__dict__["kept"] = (kept, forward)
        launches.append(bare)
    return tuple(launches)


def _compiled_in(holder: Any, programs: bool = True) -> Iterator[tuple[Any, str, Any]]:
    """Yield where a kernel keeps compiled functions: the object, the attribute and its value."""
    for name, value in getattr(holder, "__dict__", {}).items():
        many = value.values() if isinstance(value, Mapping) else (value,)
        if many and all(callable(one) and not isinstance(one, type) for one in many):
            yield holder, name, value
        elif programs and hasattr(value, "bind"):
            yield from _compiled_in(value, programs=False)


def function_of(op: Op) -> Callable[..., Any]:
    """Return an op as what it is called as."""
    # Every op defines how it is called; their common class does not.
    return op  # type: ignore[return-value]
