"""Whether a peer computes what we compute: its result against ours, before any is timed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

__all__ = ["TOLERANCES", "DisagreementError", "check_agreement", "distance", "tolerance_for"]

TOLERANCES = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Largest relative distance, ``|peer - ours| / |ours|`` over a whole tensor: several roundings."""

CHUNK = 2**26
"""Elements compared at once, in float32."""


class DisagreementError(ArithmeticError):
    """A peer's result is not ours.

    Attributes:
        error: The relative distance, or None where the results cannot be compared.
    """

    def __init__(self, problem: str, error: float | None = None) -> None:
        self.error = error
        super().__init__(problem)


def check_agreement(ours: object, theirs: object, tolerance: float | None = None) -> float:
    """Return the largest relative distance over the results.

    Args:
        ours: What our op returned: a tensor or several.
        theirs: What the peer returned.
        tolerance: What is allowed; None allows what the dtype of each of our results says.

    Raises:
        DisagreementError: The results differ in number, shape or dtype, or by more than allowed.
    """
    mine, other = _tensors(ours), _tensors(theirs)
    if len(mine) != len(other):
        raise DisagreementError(f"it returned {len(other)} tensors, ours {len(mine)}")
    worst = 0.0
    for a, b in zip(mine, other, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise DisagreementError(
                f"it returned {b.dtype}{list(b.shape)}, ours {a.dtype}{list(a.shape)}"
            )
        error = distance(a, b)
        allowed = TOLERANCES.get(a.dtype, 1e-2) if tolerance is None else tolerance
        # Written so that NaN fails.
        if not error <= allowed:
            raise DisagreementError(
                f"its result is {error:.2g} away from ours, more than {allowed:.2g}", error
            )
        worst = max(worst, error)
    return worst


def tolerance_for(inputs: Sequence[object]) -> float | None:
    """Return what the coarsest dtype among floating inputs allows, or None without any.

    A float32 result of 16-bit data, such as a state or a statistic, comes of intermediate values
    that each library rounds where it likes.
    """
    dtypes = [one.dtype for one in inputs if isinstance(one, torch.Tensor)]
    return max((TOLERANCES[one] for one in dtypes if one in TOLERANCES), default=None)


def distance(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Return ``|theirs - ours| / |ours|`` in the Euclidean norm; 0 for two zero tensors."""
    difference = scale = 0.0
    mine, other = ours.reshape(-1), theirs.reshape(-1)
    for start in range(0, len(mine), CHUNK):
        a, b = mine[start : start + CHUNK].float(), other[start : start + CHUNK].float()
        scale += float(a.square().sum(dtype=torch.float64))
        difference += float((b - a).square().sum(dtype=torch.float64))
    if difference == 0.0:
        return 0.0
    return float((difference / scale) ** 0.5) if scale else float("inf")


def _tensors(result: object) -> Sequence[torch.Tensor]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)  # type: ignore[arg-type]
