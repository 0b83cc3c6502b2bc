"""What the programs of the row norms share: bringing rows in, their statistics, writing rows out.

A thread's vectors of a row lie one turn of all lanes apart, so that a warp's accesses are
contiguous. A thread reads back only what it brought in itself, without a barrier; partial
statistics are all that threads exchange, through one barrier of the block or of the cluster.

The functions here build the program while TileLang traces it: a macro becomes code, a plain
function returns an expression or a loop, and ``s`` names what `place` made for the thread.
"""

from types import SimpleNamespace

from tileops.kernels.norm.programs.copies import COPIES
from tileops.kernels.stores import STORES

__all__ = ["row_blocks"]

# Vectors of rows and factors that fit a thread's registers beside its arithmetic, at 16 bytes each.
_HELD = 12

# Vectors of a thread whose copies are awaited one by one: `await_copies` counts to eight.
_AWAITED_SINGLY = 8


# Rows that may start before any other has brought the factors into the L2 cache: about one for
# every multiprocessor of the largest board.
_FIRST_ROWS = 160


def row_blocks(T, n, dtype, layout, tensors):
    """Return the building blocks of a program over rows of *n* elements.

    Args:
        T: ``tilelang.language``.
        n: Elements of a row.
        dtype: TileLang's name of the rows' dtype.
        layout: The `RowLayout`.
        tensors: What the program reads, a `RowTensors`.
    """
    summed, applied, factors = tensors.summed, tensors.applied, tensors.factors
    streams = tensors.streams
    f32 = "float32"
    V, lanes, rows, blocks = layout.vector, layout.lanes, layout.rows, layout.cluster
    access = V * (4 if dtype == f32 else 2)
    vectors = n // V
    stride = lanes * blocks
    full, tail = divmod(vectors, stride)
    per = full + (tail > 0)
    width = min(lanes, 32)
    warps = max(lanes // 32, 1) * blocks
    slots = -(-warps // 32)
    registers, shared = layout.hold == "registers", layout.hold == "shared"
    copies = shared and access >= 4  # cp.async moves 4, 8 or 16 bytes.
    singly = copies and per <= _AWAITED_SINGLY
    early = registers and per * (streams + factors) <= _HELD
    # Where a row may lie past the last, the compiler takes a thread's first store to pieces; rows
    # in shared memory have stores in flight beside it, and lose by an instruction that stays put.
    whole = registers and rows > 1 and access >= 8 and (per > 1 or tail > 0)
    source = (COPIES if copies or blocks > 1 else "") + (STORES if whole else "")
    cluster = {"cluster_dims": blocks} if blocks > 1 else {}
    first_rows = _FIRST_ROWS

    def grid(count):
        return T.cast(T.ceildiv(count, rows) * blocks, "int32")

    def each(unroll=layout.unroll):
        """Walk the thread's vectors; ask `holds` of each."""
        return T.unroll(per) if registers or per <= unroll else T.unroll(per, unroll_factor=unroll)

    def swaps(count):
        return T.unroll(count.bit_length() - 1)

    def holds(s, k):
        """Whether the thread's vector *k* exists."""
        return T.Or(k < full, k * stride + s.lane < vectors) if tail else True

    def at(s, k):
        """The first element of the thread's vector *k* in its row."""
        return (k * stride + s.lane) * V

    def slot(s, k):
        """The first element of the thread's vector *k* where the block stages it."""
        return (k * lanes + s.own) * V

    def place(block, count, sources, results, weights=()):
        """Find the thread's row and lane, and set its variables up.

        *sources* and *results* are addresses of *count* rows, *weights* tensors of one row.
        """
        s = SimpleNamespace(count=count, weights=weights)
        s.inputs = [T.make_tensor_from_addr(address, (count, n), dtype) for address in sources]
        s.outputs = [T.make_tensor_from_addr(address, (count, n), dtype) for address in results]
        s.thread = T.get_thread_binding()
        s.own = s.thread % lanes
        s.group = s.thread // lanes
        s.lane = s.own + T.block_rank_in_cluster() * lanes if blocks > 1 else s.own
        s.row = T.cast(block // blocks, "int64") * rows + s.group
        # Rows past the last read the last one again, which keeps barriers and loads unconditional.
        s.source = T.min(s.row, count - 1) if rows > 1 else s.row
        s.held = T.alloc_local((streams, per * V if registers else 1), dtype)
        s.stage = T.alloc_shared((streams, rows, per * lanes * V if shared else 1), dtype)
        s.factors = T.alloc_local((max(factors, 1), per * V if early else V), dtype)
        s.partials = T.alloc_shared((rows, warps, 4), f32)
        s.partial = T.alloc_local((slots, 4), f32)
        s.packed = T.alloc_local((V,), dtype)
        s.x = T.alloc_local((V,), f32)
        s.other = T.alloc_local((V,), f32)
        s.mean = T.alloc_local((1,), f32)
        s.rest = T.alloc_local((1,), f32)
        s.squares = T.alloc_local((1,), f32)
        s.off = T.alloc_local((1,), f32)
        s.share = T.alloc_local((slots,), f32)
        return s

    @T.macro
    def begin():
        T.annotate_min_blocks_per_sm(layout.resident)
        if copies or whole or blocks > 1:
            T.import_source(source)
        # TileLang launches clusters before their predecessor has ended, asked or not.
        if layout.overlap or blocks > 1:
            T.pdl_sync()
        if blocks > 1:
            T.cluster_arrive_relaxed()

    @T.macro
    def release():
        """Let the next kernel in: this one has all of its rows on the chip."""
        if layout.overlap:
            T.pdl_trigger()

    @T.macro
    def bring(s, source, stream, k):
        if copies:
            T.call_extern(
                "handle",
                f"tileops::copy_async<{access}>",
                T.address_of(s.stage[stream, s.group, slot(s, k)]),
                T.address_of(source[s.source, at(s, k)]),
            )
        elif shared:
            for i in T.vectorized(V):
                s.stage[stream, s.group, slot(s, k) + i] = source[s.source, at(s, k) + i]
        elif registers:
            for i in T.vectorized(V):
                s.held[stream, k * V + i] = source[s.source, at(s, k) + i]

    @T.macro
    def commit(wanted):
        if copies and wanted:
            T.call_extern("handle", "tileops::commit_copies")

    @T.macro
    def fetch(s):
        """Start every read of rows: what the statistics need first, vector by vector."""
        for k in each():
            if holds(s, k):
                for stream in tuple(range(summed)):
                    bring(s, s.inputs[stream], stream, k)
            commit(singly)
        commit(not singly)
        for stream in tuple(range(summed, streams)):
            for k in each():
                if holds(s, k):
                    bring(s, s.inputs[stream], stream, k)
        commit(applied > 0)
        if early:
            for which in tuple(range(factors)):
                for k in T.unroll(per):
                    if holds(s, k):
                        for i in T.vectorized(V):
                            s.factors[which, k * V + i] = s.weights[which][at(s, k) + i]
        elif copies and factors:  # noqa: SIM102 - settled while the program is built, the next is not
            # The first rows find the factors in memory, in the last pass, when nothing hides the
            # wait; later rows find them in the cache, and asking again would cost them a slot.
            if s.row < first_rows:
                for which in tuple(range(factors)):
                    for k in each():
                        if holds(s, k):
                            T.call_extern(
                                "handle",
                                "tileops::prefetch",
                                T.address_of(s.weights[which][at(s, k)]),
                            )

    @T.macro
    def arrive(pending):
        """Wait until all but the last *pending* of the thread's copies are there."""
        if copies:
            T.call_extern("handle", "tileops::await_copies", pending)

    @T.macro
    def read(s, source, stream, k, into):
        """Read the thread's vector *k* of a stream, from *source* where nothing holds it."""
        if registers:
            for i in T.vectorized(V):
                into[i] = T.cast(s.held[stream, k * V + i], f32)
        else:
            if shared:
                for i in T.vectorized(V):
                    s.packed[i] = s.stage[stream, s.group, slot(s, k) + i]
            else:
                for i in T.vectorized(V):
                    s.packed[i] = source[s.source, at(s, k) + i]
            for i in T.vectorized(V):
                into[i] = T.cast(s.packed[i], f32)

    @T.macro
    def factor(s, which, k, into):
        """Read the part of a weight that belongs to the thread's vector *k*."""
        if early:
            for i in T.vectorized(V):
                into[i] = T.cast(s.factors[which, k * V + i], f32)
        else:
            for i in T.vectorized(V):
                s.factors[which, i] = s.weights[which][at(s, k) + i]
            for i in T.vectorized(V):
                into[i] = T.cast(s.factors[which, i], f32)

    @T.macro
    def write(s, result, k, value):
        """Round a vector to the rows' dtype and store it."""
        for i in T.vectorized(V):
            s.packed[i] = T.cast(value[i], dtype)
        if rows == 1 or s.row < s.count:
            if whole:
                T.call_extern(
                    "handle",
                    f"tileops::store_whole<{access}>",
                    T.address_of(result[s.row, at(s, k)]),
                    T.address_of(s.packed[0]),
                )
            else:
                for i in T.vectorized(V):
                    result[s.row, at(s, k) + i] = s.packed[i]

    @T.macro
    def keep(s, stream, k):
        """Replace the thread's vector *k* of a stream by the packed one."""
        if registers:
            for i in T.vectorized(V):
                s.held[stream, k * V + i] = s.packed[i]
        elif shared:
            for i in T.vectorized(V):
                s.stage[stream, s.group, slot(s, k) + i] = s.packed[i]

    @T.macro
    def load(s, k):
        read(s, s.inputs[0], 0, k, s.x)

    @T.macro
    def load_sum(s, k):
        """Add two streams, and round, write out and keep the sum, which then is the row."""
        read(s, s.inputs[0], 0, k, s.x)
        read(s, s.inputs[1], 1, k, s.other)
        for i in T.unroll(V):
            s.x[i] += s.other[i]
        write(s, s.outputs[1], k, s.x)
        keep(s, 0, k)
        for i in T.vectorized(V):
            s.x[i] = T.cast(s.packed[i], f32)

    @T.macro
    def settle(s):
        """Before the last pass: no use of what the first one read, which would fill registers."""
        arrive(0)
        if layout.overlap:
            # The next kernel may come in: this one's rows are on the chip.
            T.pdl_trigger()
        if not registers:
            T.sync_warp()

    return SimpleNamespace(**locals())
