"""The conditions of a signature that are more than a dtype or a shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileops.errors import RefinementError
from tileops.manifest import ExpressionError, Refinement, Scope


def check_refinements(
    op: str, refinements: Iterable[Refinement], scope: Scope, origins: Mapping[str, str]
) -> None:
    """Raise RefinementError for the first condition that does not hold.

    A condition over a dim or a dtype that only an absent input would bind says nothing of the
    call, and is passed over.
    """
    for refinement in refinements:
        require = refinement.require
        if not scope.binds(require.names):
            continue
        given = require.shown(scope, origins)
        try:
            if require.evaluate(scope):
                continue
        except ExpressionError as error:
            given = f"{given}, where it has no value ({error.problem})"
        says = f"{refinement.says} ({require})" if refinement.says else f"requires {require}"
        raise RefinementError(
            op=op, tensor=_tensors(require.names, origins), requirement=says, given=given
        )


def _tensors(names: Iterable[str], origins: Mapping[str, str]) -> str:
    return ", ".join(sorted({origins[name] for name in names if name in origins}))
