"""The TileLang program that turns what parts add to the state into the states they begin with."""

from collections.abc import Callable

from tileops.device import DeviceFacts
from tileops.kernels.compile import bare_function
from tileops.kernels.linear_attention.programs.passes import PASSES
from tileops.kernels.stores import STORES

__all__ = ["AHEAD", "THREADS", "build", "program"]

THREADS = 256

AHEAD = 4
"""Parts whose reads are in flight at once; the sums wait for one another, the reads need not."""


def build(
    dim_k: int, dim_v: int, has_initial_state: bool, facts: DeviceFacts
) -> Callable[..., None]:
    """Compile for the widths of keys and values on a device of these facts.

    Returns:
        ``launch(initial, fades, states)``. The first two are addresses, multiples of 16, and
        *states* a tensor of a state for every part. It holds what the part before adds, and is
        written with the state that the part begins with: the initial one for the first. *fades*
        is a row of keys for every part but the last.
    """
    made = program(dim_k, dim_v, has_initial_state)
    return bare_function(made, facts.arch, PASSES)


def program(dim_k, dim_v, has_initial_state):
    """Return the program for the widths of keys and values."""
    import tilelang.language as T

    f32 = "float32"
    batch, heads, parts = T.dynamic("batch"), T.dynamic("heads"), T.dynamic("parts")
    line = dim_v // 4
    vectors = dim_k * line

    @T.prim_func
    def main(
        initial_at: T.int64,
        fades_at: T.int64,
        states: T.Tensor((parts, batch, heads, dim_k, dim_v), f32),
    ):
        with T.Kernel(batch * heads, T.ceildiv(vectors, THREADS), threads=THREADS) as (
            sequence,
            block,
        ):
            rows = T.cast(parts, "int64") * batch * heads
            initial = T.make_tensor_from_addr(initial_at, (batch * heads, dim_k, dim_v), f32)
            fades = T.make_tensor_from_addr(fades_at, (rows, dim_k), f32)
            where = block * THREADS + T.get_thread_binding()
            key = where // line
            value = where % line * 4
            b = sequence // heads
            h = sequence % heads
            T.import_source(STORES)
            state = T.alloc_local((4,), f32)
            added = T.alloc_local((AHEAD, 4), f32)
            fade = T.alloc_local((AHEAD,), f32)
            if where < vectors:
                for i in T.vectorized(4):
                    state[i] = 0.0
                if has_initial_state:
                    for i in T.vectorized(4):
                        state[i] = initial[sequence, key, value + i]
                for i in T.vectorized(4):
                    states[0, b, h, key, value + i] = state[i]
                for turn in T.serial(T.ceildiv(parts - 1, AHEAD)):
                    for n in T.unroll(AHEAD):
                        # Past the last part the last one is read again, and nothing is written.
                        part = T.min(turn * AHEAD + n, parts - 2)
                        for i in T.vectorized(4):
                            added[n, i] = states[part + 1, b, h, key, value + i]
                        fade[n] = fades[T.cast(part, "int64") * (batch * heads) + sequence, key]
                    for n in T.unroll(AHEAD):
                        if turn * AHEAD + n < parts - 1:
                            for i in T.unroll(4):
                                state[i] = state[i] * fade[n] + added[n, i]
                            # The compiler would take an assignment to pieces here.
                            T.call_extern(
                                "handle",
                                "tileops::store_whole<16>",
                                T.address_of(states[turn * AHEAD + n + 1, b, h, key, value]),
                                T.address_of(state[0]),
                            )

    return main
