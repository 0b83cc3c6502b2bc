"""What the programs over channels share: where a thread's data lies, bringing it in, writing it.

A block owns a group of channels, or a part of one, and cuts it into items: accesses of a channel,
plane after plane, or samples of channels that are walked side by side. A thread's items lie one
step apart and it reads back only what it brought in itself, without a barrier.

The functions here build the program while TileLang traces it: a macro becomes code, a plain
function returns an expression or a loop, and ``s`` names what `place` made for the thread.
"""

import math
from types import SimpleNamespace

from tileops.kernels.norm.programs.copies import COPIES
from tileops.kernels.stores import STORES

__all__ = ["channel_blocks"]

# Batches in which a thread awaits its copies: `await_copies` counts to eight.
_BATCHES = 8

# Items of a thread up to which code for each is worth its size.
_UNROLLED = 8


def channel_blocks(T, spatial, dtype, layout, streams=1):
    """Return the building blocks of a program over channels of planes of *spatial* elements.

    Args:
        T: ``tilelang.language``.
        spatial: Elements of a plane.
        dtype: TileLang's name of the data's dtype.
        layout: The `ChannelLayout`.
        streams: Tensors that are read.
    """
    f32 = "float32"
    V, group, lanes, rows = layout.vector, layout.group, layout.lanes, layout.rows
    threads, per, step, blocks = layout.threads, layout.per, layout.step, layout.cluster
    access = V * (4 if dtype == f32 else 2)
    warps = threads // 32
    staged = per > 0
    copies = staged and access >= 4  # cp.async moves 4, 8 or 16 bytes.
    wide = access >= 8
    source = (COPIES if copies or blocks > 1 else "") + (STORES if wide else "")
    # Items whose copies are awaited together, so that the first are used while others arrive.
    batch = -(-per // _BATCHES)
    batches = -(-per // batch) if staged else 0
    flight = layout.in_flight
    # An access that may straddle channels falls into units of one channel each.
    unit = math.gcd(spatial, V)
    A = V // unit
    plane = spatial // V
    width = group * spatial // V if lanes else 1
    idle = lanes > 0 and rows * lanes < threads
    cluster = {"cluster_dims": blocks} if blocks > 1 else {}
    halves = 1

    def grid(channels, parts=1):
        return T.cast(T.ceildiv(channels, group) * (blocks * parts), "int32")

    @T.macro
    def deal(where, block, parts):
        """Find a block's group and part; in variables, or every index would divide anew."""
        where[0] = T.truncdiv(block, parts)
        where[1] = block - where[0] * parts

    def each():
        """Walk the thread's staged items; ask `holds` of each."""
        return T.unroll(per) if per <= _UNROLLED else T.unroll(per, unroll_factor=4)

    def each_of_batch():
        """Walk what is awaited together; past the thread's last item `holds` says no."""
        return T.unroll(batch, unroll_factor=min(batch, 2))

    def place(turn, samples, channels, inputs, outputs, part=None):
        """Find the thread's channels and items, and set its variables up.

        *turn* numbers the groups, or their blocks where a cluster shares each. *inputs* and
        *outputs* are addresses of tensors (*samples*, *channels*, *spatial*). *part* is a number
        and how many parts of a group there are, where blocks share it without a cluster.
        """
        s = SimpleNamespace(samples=samples, channels=channels)
        s.thread = T.get_thread_binding()
        s.warp = s.thread // 32
        s.turn, s.half, s.part, shares = turn, 0, 0, None
        if part is not None:
            s.part, shares = part
        elif blocks > 1:
            s.turn, s.part, shares = turn // blocks, T.block_rank_in_cluster(), blocks
        s.pitch = T.cast(channels, "int64") * spatial // V
        s.first_channel = s.turn * group
        s.items = samples if lanes else samples * plane
        s.shares = shares
        s.own = s.thread // lanes if lanes else s.thread
        s.column = s.thread % lanes if lanes else 0
        total = T.cast(samples, "int64") * s.pitch
        s.inputs = [T.make_tensor_from_addr(one, (total, V), dtype) for one in inputs]
        s.outputs = [T.make_tensor_from_addr(one, (total, V), dtype) for one in outputs]
        slots = layout.staged if staged else 1
        s.stage = T.alloc_shared((streams, slots, V), dtype)
        s.packed = T.alloc_local((streams, 1 if staged else flight, V), dtype)
        s.item = T.alloc_local((4,), "int32")
        s.sample_pitch = T.alloc_local((1,), "int32")
        s.span = T.alloc_local((3,), "int32")
        s.first, s.limit, s.trips = s.span[0], s.span[1], s.span[2]
        s.access = T.alloc_local((1,), "int64")
        s.result = T.alloc_local((V,), dtype)
        s.x = T.alloc_local((V,), f32)
        s.other = T.alloc_local((V,), f32)
        return s

    @T.macro
    def begin():
        T.annotate_min_blocks_per_sm(layout.resident)
        if copies or wide or blocks > 1:
            T.import_source(source)
        # TileLang launches clusters before their predecessor has ended, asked or not.
        if layout.overlap or blocks > 1:
            T.pdl_sync()
        # Nothing is to be seen of this block yet: an arrival that orders memory would wait for it.
        if blocks > 1:
            T.cluster_arrive_relaxed()

    @T.macro
    def release():
        """Let the next kernel in: this one has its data on the chip."""
        if layout.overlap:
            T.pdl_trigger()

    def stops(s):
        """How many groups the block serves, one after the other."""
        return 1

    @T.macro
    def turn_to(s, number):
        """Go on to the block's group of this number: the only one."""

    def there(s):
        """Whether the thread has columns at all: some threads do not, nor does a last group."""
        inside = T.cast(s.turn, "int64") * width + s.column < s.pitch
        if not lanes:
            return True
        return T.And(s.own < rows, inside) if idle else inside

    def holds(s, k):
        """Whether the thread's item *k* exists."""
        mine = k * step + s.own < s.limit
        return T.And(mine, there(s)) if lanes else mine

    def count(s):
        """How many items the thread has."""
        some = T.max(0, T.ceildiv(s.limit - s.own, step))
        return T.if_then_else(there(s), some, 0) if lanes else some

    def sample(s, number):
        """The first access of a sample."""
        if access == 16:
            # A product of 32 bits each: a sample of that many accesses exceeds any memory.
            return T.cast(number, "int64") * T.cast(s.sample_pitch[0], "int64")
        return T.cast(number, "int64") * s.pitch

    @T.macro
    def settle_place(s):
        """Keep in variables what every item's place follows from.

        As expressions they would be simplified anew wherever they stand, which takes TileLang most
        of the time that it compiles for.
        """
        s.sample_pitch[0] = T.cast(s.pitch, "int32")
        s.span[0] = 0
        s.span[1] = s.items
        if s.shares is not None:
            s.span[1] = T.truncdiv(s.items + s.shares - 1, s.shares)
            if not lanes:
                s.span[1] = (s.span[1] + 7) // 8 * 8
            s.span[0] = s.part * s.span[1]
            s.span[1] = T.min(s.span[1], s.items - s.span[0])
        # How often every thread of the block reads a flight of items, where nothing is staged.
        s.span[2] = T.max(s.span[1], 0) // (step * flight)

    @T.macro
    def locate(s, k):
        """Find the access that is the thread's item *k*."""
        # Kept in variables of 32 bits: as parts of the index the divisions would be of 64.
        s.item[0] = s.first + k * step + s.own
        if lanes:
            s.access[0] = sample(s, s.item[0]) + T.cast(s.turn, "int64") * width + s.column
        else:
            s.item[1] = T.truncdiv(s.item[0], plane)
            s.item[2] = s.item[0] - s.item[1] * plane
            s.access[0] = sample(s, s.item[1]) + s.item[2]
            s.access[0] += T.cast(s.turn, "int64") * (group * plane)

    def slot(s, k):
        """Where the block stages the thread's item *k*."""
        return (k * rows + s.own) * lanes + s.column if lanes else k * threads + s.own

    @T.macro
    def bring(s, stream, k):
        if copies:
            T.call_extern(
                "handle",
                f"tileops::copy_async<{access}>",
                T.address_of(s.stage[stream, slot(s, k), 0]),
                T.address_of(s.inputs[stream][s.access[0], 0]),
            )
        else:
            for i in T.vectorized(V):
                s.stage[stream, slot(s, k), i] = s.inputs[stream][s.access[0], i]

    @T.macro
    def meet():
        """Wait until every block of the cluster runs: only then may its memory be written."""
        if blocks > 1:
            T.cluster_wait()

    @T.macro
    def fetch(s):
        """Start every read of what is staged, item by item."""
        if staged:
            for some in T.unroll(batches):
                for one in each_of_batch():
                    if holds(s, some * batch + one):
                        locate(s, some * batch + one)
                        for stream in tuple(range(streams)):
                            bring(s, stream, some * batch + one)
                if copies:
                    T.call_extern("handle", "tileops::commit_copies")

    @T.macro
    def arrive(pending):
        """Wait until all but the last *pending* of the thread's copies are there."""
        if copies:
            T.call_extern("handle", "tileops::await_copies", pending)

    @T.macro
    def look(s, k, u):
        """Read the thread's item *k* of every stream, packed, into place *u* of a flight."""
        if not staged:
            locate(s, k)
        for stream in tuple(range(streams)):
            for i in T.vectorized(V):
                s.packed[stream, u, i] = (
                    s.stage[stream, slot(s, k), i] if staged else s.inputs[stream][s.access[0], i]
                )

    @T.macro
    def unpack(s, stream, u, into):
        for i in T.vectorized(V):
            into[i] = T.cast(s.packed[stream, u, i], f32)

    @T.macro
    def sweep_trips(s, visit, first):
        if there(s):
            for trip in T.serial(s.trips):
                s.item[3] = (trip if first else s.trips - 1 - trip) * flight
                for u in tuple(range(flight)):
                    look(s, s.item[3] + u, u)
                for u in tuple(range(flight)):
                    visit(s, s.item[3] + u, u)

    @T.macro
    def sweep_rest(s, visit):
        for u in tuple(range(flight)):
            if holds(s, s.trips * flight + u):
                look(s, s.trips * flight + u, u)
        for u in tuple(range(flight)):
            if holds(s, s.trips * flight + u):
                visit(s, s.trips * flight + u, u)

    @T.macro
    def sweep(s, visit, first):
        """Call ``visit(s, k, u)`` for every item; where *first*, the data may be on its way.

        *u* is a number that says where `look` has put the item, and 0 for the first of all. What
        is read again is read backwards: the cache holds the end.
        """
        if staged and first:
            for some in T.unroll(batches):
                arrive(batches - 1 - some)
                for one in each_of_batch():
                    if holds(s, some * batch + one):
                        look(s, some * batch + one, 0)
                        visit(s, some * batch + one, 0)
        elif staged:
            for k in each():
                if holds(s, k):
                    look(s, k, 0)
                    visit(s, k, 0)
        elif first:
            sweep_trips(s, visit, first)
            sweep_rest(s, visit)
        else:
            sweep_rest(s, visit)
            sweep_trips(s, visit, first)

    @T.macro
    def write(s, result, k, value):
        """Round an item to the data's dtype and store it."""
        for i in T.vectorized(V):
            s.result[i] = T.cast(value[i], dtype)
        locate(s, k)
        if wide:
            T.call_extern(
                "handle",
                f"tileops::store_whole<{access}>",
                T.address_of(s.outputs[result][s.access[0], 0]),
                T.address_of(s.result[0]),
            )
        else:
            for i in T.vectorized(V):
                s.outputs[result][s.access[0], i] = s.result[i]

    def unit_of(i):
        """The unit of element *i* of an access."""
        return i // unit if A > 1 else 0

    def channel_of(s, a):
        """The channel of unit *a* of the thread's accesses, counted within the group."""
        if not lanes:
            return 0
        return (s.column * V + a * unit) // spatial

    return SimpleNamespace(**locals())
