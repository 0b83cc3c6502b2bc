"""What the programs share whose blocks go on from channel to channel, bringing the next one in.

A block stages a slice of a channel as pieces, parts of planes. A warp brings its own pieces in by
bulk copies and waits for them alone; as soon as it has written the result of one, it brings in
that piece of the block's next channel. So reading never pauses for statistics or writing.

The functions are those of `channel_blocks`, for the same callers.
"""

from types import SimpleNamespace

from tileops.kernels.norm.programs.copies import COPIES, PIECES
from tileops.kernels.stores import STORES

__all__ = ["standing_blocks"]

# Accesses of a lane in a piece up to which code for each is worth its size.
_UNROLLED = 8


def standing_blocks(T, spatial, dtype, layout, streams=1):
    """Return the building blocks of a program over channels of planes of *spatial* elements.

    Args:
        T: ``tilelang.language``.
        spatial: Elements of a plane.
        dtype: TileLang's name of the data's dtype.
        layout: The `StandingLayout`.
        streams: Tensors that are read.
    """
    f32 = "float32"
    V, threads, blocks, parts, per = (
        layout.vector,
        layout.threads,
        layout.cluster,
        layout.parts,
        layout.per,
    )
    standing = layout.standing
    access = V * (4 if dtype == f32 else 2)
    group, rows, lanes, A, unit = 1, 1, 0, 1, V
    warps = threads // 32
    plane = spatial // V
    # Accesses of a piece, and of each lane in it at most.
    length = plane // parts
    each = -(-length // 32)
    # Blocks hand over to two halves in turn: the others may still read the last.
    halves = 2
    cluster = {"cluster_dims": blocks} if blocks > 1 else {}

    def grid(channels, parts=1):
        return T.cast(T.min(channels, standing) * blocks, "int32")

    def place(turn, samples, channels, inputs, outputs):
        """Find the thread's pieces, and set its variables up; as `channel_blocks` does."""
        s = SimpleNamespace(samples=samples, channels=channels)
        s.thread = T.get_thread_binding()
        s.warp, s.lane = s.thread // 32, s.thread % 32
        s.earliest = turn // blocks
        s.part = T.block_rank_in_cluster() if blocks > 1 else 0
        # The channel at hand, and whether the number of those before it is odd.
        s.where = T.alloc_local((2,), "int32")
        s.turn, s.half = s.where[0], s.where[1]
        s.first_channel = s.turn
        s.pitch = T.cast(channels, "int64") * plane
        total = T.cast(samples, "int64") * s.pitch
        s.inputs = [T.make_tensor_from_addr(one, (total, V), dtype) for one in inputs]
        s.outputs = [T.make_tensor_from_addr(one, (total, V), dtype) for one in outputs]
        s.stage = T.alloc_shared((streams, warps * per * length, V), dtype)
        s.gates = T.alloc_shared((warps * per,), "uint64")
        s.packed = T.alloc_local((streams, 1, V), dtype)
        # The block's first sample, its pieces, and the piece at hand.
        s.span = T.alloc_local((3,), "int32")
        s.access = T.alloc_local((2,), "int64")
        s.result = T.alloc_local((V,), dtype)
        s.x = T.alloc_local((V,), f32)
        s.other = T.alloc_local((V,), f32)
        return s

    @T.macro
    def begin():
        T.annotate_min_blocks_per_sm(1)
        T.import_source(COPIES + PIECES + STORES)
        # TileLang launches clusters before their predecessor has ended, asked or not.
        if blocks > 1:
            T.pdl_sync()
            T.cluster_arrive_relaxed()

    @T.macro
    def settle_place(s):
        s.span[1] = T.ceildiv(s.samples, blocks)
        s.span[0] = s.part * s.span[1]
        s.span[1] = T.min(s.span[1], s.samples - s.span[0]) * parts

    def stops(s):
        """How many channels the block serves, one after the other."""
        return T.ceildiv(s.channels - s.earliest, standing)

    @T.macro
    def turn_to(s, number):
        """Go on to the block's channel of this number."""
        s.where[0] = s.earliest + number * standing
        s.where[1] = number % 2

    def holds(s, j):
        """Whether the warp's piece *j* exists."""
        return j * warps + s.warp < s.span[1]

    def count(s):
        """How many accesses the thread has."""
        pieces = T.max(0, T.ceildiv(s.span[1] - s.warp, warps))
        return pieces * T.truncdiv(length + 31 - s.lane, 32)

    @T.macro
    def locate(s, j, channel):
        """Find the first access of the warp's piece *j*."""
        s.span[2] = j * warps + s.warp
        s.access[0] = (
            T.cast(s.span[0] + T.truncdiv(s.span[2], parts), "int64") * s.pitch
            + T.cast(channel, "int64") * plane
            + T.truncmod(s.span[2], parts) * length
        )

    @T.macro
    def bring(s, j, channel):
        """Start to copy the warp's piece *j* of a channel, by one lane."""
        if s.lane == 0:
            locate(s, j, channel)
            T.call_extern(
                "handle",
                "tileops::expect_piece",
                T.address_of(s.gates[s.warp * per + j]),
                length * access * streams,
            )
            for stream in tuple(range(streams)):
                T.call_extern(
                    "handle",
                    "tileops::copy_piece",
                    T.address_of(s.gates[s.warp * per + j]),
                    T.address_of(s.stage[stream, (j * warps + s.warp) * length, 0]),
                    T.address_of(s.inputs[stream][s.access[0], 0]),
                    length * access,
                )

    @T.macro
    def fetch(s):
        """Start every read of the block's first channel."""
        if s.lane == 0:
            for j in T.unroll(per):
                T.call_extern(
                    "handle", "tileops::open_gate", T.address_of(s.gates[s.warp * per + j])
                )
            T.call_extern("handle", "tileops::fence_gates")
        T.sync_warp()
        for j in T.unroll(per):
            if holds(s, j):
                bring(s, j, s.earliest)
        # Only when every block of the cluster runs may its memory be written.
        if blocks > 1:
            T.cluster_wait()

    @T.macro
    def meet():
        """The blocks of the cluster have met before the first channel."""

    @T.macro
    def release():
        """The next kernel finds no room before this one ends."""

    def accesses():
        """Walk the lane's accesses of a piece."""
        return T.unroll(each) if each <= _UNROLLED else T.unroll(each, unroll_factor=4)

    @T.macro
    def look(s, j, e):
        """Read an access of every stream, packed."""
        for stream in tuple(range(streams)):
            for i in T.vectorized(V):
                s.packed[stream, 0, i] = s.stage[
                    stream, (j * warps + s.warp) * length + e * 32 + s.lane, i
                ]

    @T.macro
    def unpack(s, stream, u, into):
        for i in T.vectorized(V):
            into[i] = T.cast(s.packed[stream, u, i], f32)

    @T.macro
    def refill(s, j):
        """Bring in piece *j* of the next channel: every lane has read that of this one."""
        T.call_extern("handle", "tileops::fence_pieces")
        T.sync_warp()
        if s.turn + standing < s.channels:
            bring(s, j, s.turn + standing)

    @T.macro
    def sweep(s, visit, first):
        """Call ``visit(s, k, u)`` for every access, as `channel_blocks` does.

        Where *first*, the data may be on its way; afterwards its place is given to the next.
        """
        for j in T.unroll(per):
            if holds(s, j):
                if first:
                    T.call_extern(
                        "handle",
                        "tileops::await_piece",
                        T.address_of(s.gates[s.warp * per + j]),
                        s.half,
                    )
                else:
                    locate(s, j, s.turn)
                for e in accesses():
                    if e * 32 + s.lane < length:
                        look(s, j, e)
                        s.access[1] = s.access[0] + (e * 32 + s.lane)
                        visit(s, j * each + e, 0)
                if not first:
                    refill(s, j)

    @T.macro
    def write(s, result, k, value):
        """Round an access to the data's dtype and store it."""
        for i in T.vectorized(V):
            s.result[i] = T.cast(value[i], dtype)
        T.call_extern(
            "handle",
            f"tileops::store_whole<{access}>",
            T.address_of(s.outputs[result][s.access[1], 0]),
            T.address_of(s.result[0]),
        )

    def unit_of(i):
        """The unit of element *i* of an access: there is one."""
        return 0

    def channel_of(s, a):
        """The channel of the thread's accesses, counted within the group: there is one."""
        return 0

    return SimpleNamespace(**locals())
