"""How the parts of a row come together: warps in a block, blocks in a cluster, clusters at the end.

Every part is a maximum, a sum and an output that is not yet divided by the sum. A block adds up
its warps' parts in shared memory. The blocks of a cluster send each other slices of theirs, so
that each block holds one slice of every row. What clusters hold goes to memory, and for every
slice the block that comes last, as a ticket says, adds it up.
"""

import math
from types import SimpleNamespace

from tileops.kernels.attention.gqa.tiling import ROWS, part_places, slice_items

__all__ = ["SEND", "merge"]

# TileLang has no store into another block's shared memory that takes registers.
SEND = r"""
namespace tileops {
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void send(const void* slot, int block, float a, float b, float c,
                                     float d) {
  unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(slot)), theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"(block));
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};"
               :: "r"(theirs), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}
#endif
}
"""

# Parts that a thread reads before it adds the first of them up: they come in together.
_TOGETHER = 16


def merge(T, form, tiling, W):
    """Return the macros that merge what warps have summed.

    Args:
        T: ``tilelang.language``.
        form: The `GQAForm`.
        tiling: The `DecodeTiling`.
        W: The program's `warp_tiles`.
    """
    f32 = "float32"
    D, C, warps, threads = form.dim, tiling.cluster, tiling.warps, tiling.threads
    rows = min(form.group, ROWS)
    quads = D // 4
    items = rows * quads
    share_items = slice_items(rows, D, C)
    outs_at, warp_sums_at, received_at, received_sums_at, _ = part_places(rows, D, tiling)
    turns = math.ceil(items / threads)
    slice_turns = math.ceil(share_items / threads)
    sums_at = rows * D

    def outs(warp, row, at):
        """Where a block's floats hold output *at* of a row, as one of its warps summed it."""
        return outs_at + (warp * rows + row) * (D + 4) + at

    def sums(warp, row):
        """Where they hold the warp's maximum of a row, and its sum next to it."""
        return warp_sums_at + (warp * rows + row) * 4

    def received(block, at):
        """Where they hold the four outputs of the block's item *at* that another one sent."""
        return received_at + (block * share_items + at) * 4

    def received_sums(block, row):
        """Where they hold that one's maximum of a row, and its sum next to it."""
        return received_sums_at + (block * rows + row) * 4

    def place(w, rank, cluster, clusters, pair, head, count):
        """Set up the variables of a block that merges *count* rows from query *head* on."""
        m = SimpleNamespace(w=w, rank=rank, cluster=cluster, clusters=clusters, pair=pair)
        m.head, m.count = head, count
        m.floats = w.floats
        m.last = T.alloc_shared((1,), "int32")
        m.out = T.alloc_local((4,), f32)
        m.peak = T.alloc_local((1,), f32)
        m.total = T.alloc_local((1,), f32)
        m.next = T.alloc_local((1,), f32)
        m.share = T.alloc_local((1,), f32)
        m.peaks = T.alloc_local((_TOGETHER,), f32)
        m.totals = T.alloc_local((_TOGETHER,), f32)
        m.outs = T.alloc_local((_TOGETHER * 4,), f32)
        m.packed = T.alloc_local((4,), form.out_dtype)
        return m

    @T.macro
    def begin():
        if tiling.overlap or C > 1:
            # TileLang launches clusters before their predecessor has ended, asked or not.
            T.pdl_sync()
        if tiling.overlap:
            # Every block runs by now, so the next kernel's take only what is left.
            T.pdl_trigger()

    @T.macro
    def leave(m):
        """Put the warp's part where the block finds it; the staged tiles are done with."""
        w = m.w
        T.sync_threads()
        for r in T.unroll(2):
            row = w.row + r * 8
            if row < rows:
                for i in T.unroll(W.columns * 2):
                    at = W.element(i // 2 * 4 + i % 2, w.column)
                    if W.width == D or at < D:
                        m.floats[outs(w.warp, row, at)] = w.out[i // 2 * 4 + r * 2 + i % 2]
                if w.column == 0:
                    m.floats[sums(w.warp, row)] = w.peak[r]
                    m.floats[sums(w.warp, row) + 1] = w.total[r]
        T.sync_threads()

    @T.macro
    def add_up(m, count, part):
        """Add *count* parts of one row up, as *part* reads them."""
        together = min(count, _TOGETHER) if isinstance(count, int) else _TOGETHER
        m.peak[0] = -T.infinity(f32)
        m.total[0] = 0.0
        for e in T.unroll(4):
            m.out[e] = 0.0
        for batch in T.serial(T.ceildiv(count, together)):
            for i in T.unroll(together):
                m.peaks[i] = -T.infinity(f32)
                m.totals[i] = 0.0
                for e in T.unroll(4):
                    m.outs[i * 4 + e] = 0.0
                if batch * together + i < count:
                    m.peaks[i] = part.peak(batch * together + i)
                    m.totals[i] = part.total(batch * together + i)
                    for e in T.vectorized(4):
                        m.outs[i * 4 + e] = part.out(batch * together + i, e)
            m.next[0] = m.peak[0]
            for i in T.unroll(together):
                m.next[0] = T.max(m.next[0], m.peaks[i])
            m.share[0] = T.exp2(m.peak[0] - W.finite(m.next[0]))
            m.peak[0] = m.next[0]
            m.total[0] *= m.share[0]
            for e in T.unroll(4):
                m.out[e] *= m.share[0]
            for i in T.unroll(together):
                m.share[0] = T.exp2(m.peaks[i] - W.finite(m.next[0]))
                m.total[0] += m.totals[i] * m.share[0]
                for e in T.unroll(4):
                    m.out[e] += m.outs[i * 4 + e] * m.share[0]

    def of_warps(m, item):
        """Read what the warps left of an item."""
        row, first = item // quads, item % quads * 4
        return SimpleNamespace(
            peak=lambda i: m.floats[sums(i, row)],
            total=lambda i: m.floats[sums(i, row) + 1],
            out=lambda i, e: m.floats[outs(i, row, first) + e],
        )

    def of_blocks(m, at):
        """Read what the blocks of the cluster sent of the block's item *at*."""
        row = (m.rank * share_items + at) // quads
        return SimpleNamespace(
            peak=lambda i: m.floats[received_sums(i, row)],
            total=lambda i: m.floats[received_sums(i, row) + 1],
            out=lambda i, e: m.floats[received(i, at) + e],
        )

    def of_clusters(m, parts, item):
        """Read what the clusters handed in of an item."""
        first, at = m.pair * m.clusters, sums_at + (m.rank * rows + item // quads) * 4
        return SimpleNamespace(
            peak=lambda i: parts[first + i, at],
            total=lambda i: parts[first + i, at + 1],
            out=lambda i, e: parts[first + i, item * 4 + e],
        )

    @T.macro
    def exchange(m):
        """Send every block its slice of this one's rows."""
        # All blocks run and none has use for its staged tiles any more.
        T.cluster_sync()
        for turn in T.unroll(turns):
            item = turn * threads + m.w.thread
            if item < items:
                add_up(m, warps, of_warps(m, item))
                to = item // share_items
                T.call_extern(
                    "handle",
                    "tileops::send",
                    T.address_of(m.floats[received(m.rank, item % share_items)]),
                    to,
                    m.out[0],
                    m.out[1],
                    m.out[2],
                    m.out[3],
                )
                if item % quads == 0:
                    for block in T.serial(C):
                        T.call_extern(
                            "handle",
                            "tileops::send",
                            T.address_of(m.floats[received_sums(m.rank, item // quads)]),
                            block,
                            m.peak[0],
                            m.total[0],
                            T.float32(0),
                            T.float32(0),
                        )
        T.cluster_sync()

    @T.macro
    def add_own(m, at):
        """Add up the block's item *at*: over its warps, or over what the cluster sent."""
        if C > 1:
            add_up(m, C, of_blocks(m, at))
        else:
            add_up(m, warps, of_warps(m, at))

    @T.macro
    def write(m, o, item, factor):
        """Divide by the sum, round and store one item of the output."""
        row = item // quads
        if row < m.count:
            for e in T.unroll(4):
                m.packed[e] = T.cast(m.out[e] / m.total[0] * factor, form.out_dtype)
            for e in T.vectorized(4):
                o[m.w.batch, 0, m.head + row, item % quads * 4 + e] = m.packed[e]

    def exists(m, at):
        """Whether the block has an item *at*."""
        whole = items % share_items == 0
        inside = at < share_items
        return inside if whole else T.And(inside, m.rank * share_items + at < items)

    @T.macro
    def hand_in(m, parts):
        """Write the block's slice of the cluster's part to memory."""
        record = m.pair * m.clusters + m.cluster
        for turn in T.unroll(slice_turns):
            at = turn * threads + m.w.thread
            if exists(m, at):
                add_own(m, at)
                item = m.rank * share_items + at
                for e in T.vectorized(4):
                    parts[record, item * 4 + e] = m.out[e]
                if T.Or(item % quads == 0, at == 0):
                    parts[record, sums_at + (m.rank * rows + item // quads) * 4] = m.peak[0]
                    parts[record, sums_at + (m.rank * rows + item // quads) * 4 + 1] = m.total[0]

    @T.macro
    def add_clusters(m, o, parts, factor):
        """Add up the block's slice over all clusters, and write it."""
        for turn in T.unroll(slice_turns):
            at = turn * threads + m.w.thread
            if exists(m, at):
                item = m.rank * share_items + at
                add_up(m, m.clusters, of_clusters(m, parts, item))
                write(m, o, item, factor)

    @T.macro
    def finish(m, o, parts, tickets, factor):
        """Merge the block's rows into the output, *factor* times."""
        leave(m)
        if C > 1:
            exchange(m)
        if m.clusters == 1:
            for turn in T.unroll(slice_turns):
                at = turn * threads + m.w.thread
                if exists(m, at):
                    add_own(m, at)
                    write(m, o, m.rank * share_items + at, factor)
        else:
            hand_in(m, parts)
            T.sync_threads()
            if m.w.thread == 0:
                m.last[0] = T.atomic_add(
                    tickets[m.pair * C + m.rank], 1, memory_order="acq_rel", return_prev=True
                )
            T.sync_threads()
            if m.last[0] == m.clusters - 1:
                add_clusters(m, o, parts, factor)
                if m.w.thread == 0:
                    # The next launch on this stream counts from zero again.
                    tickets[m.pair * C + m.rank] = 0

    return SimpleNamespace(**locals())
