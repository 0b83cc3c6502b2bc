"""Peers of the matrix product: cuBLAS through torch, and torch.compile's own choice."""

from __future__ import annotations

import torch

from harness.peers import Family, Function, Params

__all__ = ["FAMILY"]


def matrix_product(params: Params) -> Function:
    """Return the product under the op's layout; torch hands it to cuBLAS."""
    trans_a, trans_b = params.get("trans_a", False), params.get("trans_b", True)

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a.T if trans_a else a, b.T if trans_b else b)

    return run


FAMILY = Family(compositions={"GemmFwdOp": matrix_product})
