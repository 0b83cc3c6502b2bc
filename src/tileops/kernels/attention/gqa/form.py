"""GQAForm: the facts of a call that change the program which is built for it."""

from __future__ import annotations

from dataclasses import dataclass

from tileops.kernels.attention.gqa.call_spec import AttentionCall

__all__ = ["GQAForm"]


@dataclass(frozen=True)
class GQAForm:
    """What a program is built for; batch and lengths are arguments of its launch.

    Attributes:
        heads: Query heads.
        heads_kv: Heads of keys and values.
        dim: Elements of a head.
        dtype: TileLang's name of the inputs' dtype.
        out_dtype: TileLang's name of the output's dtype.
        scale: What scores are multiplied by.
        softcap: The bound of scores; 0 for none.
        is_causal: Whether a query sees only the keys up to its own.
    """

    heads: int
    heads_kv: int
    dim: int
    dtype: str
    out_dtype: str
    scale: float
    softcap: float
    is_causal: bool = False

    @classmethod
    def of(cls, call: AttentionCall) -> GQAForm:
        """Return the form of a call; a single query sees every key, causal or not."""
        return cls(
            heads=call.heads,
            heads_kv=call.heads_kv,
            dim=call.dim,
            dtype=str(call.dtype).removeprefix("torch."),
            out_dtype=str(call.result_dtype).removeprefix("torch."),
            scale=call.softmax_scale,
            softcap=call.softcap,
            is_causal=call.is_causal and call.seqlen_q > 1,
        )

    @property
    def group(self) -> int:
        """Query heads of a key head."""
        return self.heads // self.heads_kv

    @property
    def itemsize(self) -> int:
        """Bytes of an element of the inputs."""
        return 1 if self.dtype.startswith("float8") else 2
