"""A small transformer built from tileops ops, recorded while it runs.

On a CUDA device its norms, projections and attention run on the in-tree kernels. Without one only
its norms are ops, on the template backend, which must be importable:

    PYTHONPATH=docs/examples/tileops_acme/src python docs/examples/traced_block.py block.jsonl
    tileops trace summary block.jsonl
    tileops trace replay block.jsonl
"""

from __future__ import annotations

import sys
from importlib import import_module

import torch
from torch import nn

import tileops
from tileops import FusedAddLayerNormFwdOp, GemmFwdOp, GQADenseFwdOp, LayerNormFwdOp

ON_GPU = torch.cuda.is_available()
WIDTH, HEADS = (1024, 16) if ON_GPU else (64, 4)


class ResidualNorm(nn.Module):
    """Adds a branch to the residual stream and normalizes the sum, in one kernel on a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(WIDTH), requires_grad=False)
        self.norm = FusedAddLayerNormFwdOp() if ON_GPU else LayerNormFwdOp(WIDTH)

    def forward(
        self, branch: torch.Tensor, residual: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the normalized sum and the sum."""
        if ON_GPU:
            return self.norm(branch, residual, self.weight, self.bias)
        total = branch + residual
        return self.norm(total, self.weight, self.bias), total


class Projection(nn.Linear):
    """A linear layer, whose product is an op on a GPU."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__(width, out)
        self.product = GemmFwdOp()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return ``x @ weight.T + bias``."""
        if not ON_GPU:
            return super().forward(x)
        return self.product(x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1]) + self.bias


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.merge = Projection(WIDTH, 3 * WIDTH), Projection(WIDTH, WIDTH)
        self.attend = GQADenseFwdOp(is_causal=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend from every token to those before it."""
        parts = self.expand(x).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)) for part in parts)
        if ON_GPU:
            return self.merge(self.attend(q, k, v).flatten(2))
        by_head = (part.transpose(1, 2) for part in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(*by_head, is_causal=True)
        return self.merge(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then a feed-forward layer, each followed by its residual sum and norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.feed_forward = nn.Sequential(
            Projection(WIDTH, 4 * WIDTH), nn.GELU(), Projection(4 * WIDTH, WIDTH)
        )
        self.after_attention, self.after_feed_forward = ResidualNorm(), ResidualNorm()

    def forward(self, x: torch.Tensor, stream: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the normalized stream, for the next block, and the stream."""
        x, stream = self.after_attention(self.attention(x), stream)
        return self.after_feed_forward(self.feed_forward(x), stream)


class Transformer(nn.Module):
    """A stack of blocks behind a norm of the embeddings."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.first = LayerNormFwdOp(WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))

    def forward(self, embeddings: torch.Tensor) -> torch.Tensor:
        """Return the normalized stream of the last block."""
        x, stream = self.first(embeddings), embeddings
        for block in self.blocks:
            x, stream = block(x, stream)
        return x


def import_backend() -> None:
    """Import the template backend, which registers what it has; end where it is not to be had."""
    try:
        import_module("tileops_acme._kernels")
    except ModuleNotFoundError:
        sys.exit(
            "no CUDA device, and the template backend for the CPU cannot be imported; run this "
            "with PYTHONPATH=docs/examples/tileops_acme/src, or install docs/examples/tileops_acme"
        )


def main(recording: str) -> None:
    """Run batches of several lengths, recorded."""
    if not ON_GPU:
        import_backend()
    device, dtype = ("cuda", torch.bfloat16) if ON_GPU else ("cpu", torch.float32)
    model = Transformer().to(device, dtype)
    with torch.no_grad(), tileops.trace.record(recording):
        for tokens in (16, 128, 16, 32):
            output = model(torch.randn(2, tokens, WIDTH, device=device, dtype=dtype))
            assert output.isfinite().all()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "block.jsonl")
