"""What the chunked programs share: the gates of a chunk, and the products that they weigh.

A score of step i with an earlier step j is weighed by the gates after j up to i. No quotient of
decays is ever formed: a chunk is halved again and again, and i and j part company at one halving.
There i lies in the later half, j in the earlier one, and the weight is the decay from the
beginning of the later half to i, times the decay from j to the end of the earlier half. Both are
products of gates, so at most one, and overflow nowhere, whatever the gates. At every halving each
step is in one half only, so one tile holds them all: the later halves' queries and the earlier
halves' keys.

The functions here build the program while TileLang traces it, and ``s`` names a block's tiles.
"""

from types import SimpleNamespace

from tileops.kernels.linear_attention.programs.chunk_source import chunk_source

__all__ = ["gate_levels"]

LOG2E = 1.4426950408889634


def gate_levels(T, dim_k, dtype, scale, tiles, hopper):
    """Return the building blocks of a program over chunks of keys of *dim_k* elements.

    Args:
        T: ``tilelang.language``.
        dim_k: Elements of a key.
        dtype: TileLang's name of the data's dtype.
        scale: What queries are multiplied by.
        tiles: The `ChunkTiles`.
        hopper: Whether tensor cores read shared memory on their own.
    """
    C, R, threads = tiles.chunk, tiles.run, tiles.threads
    levels, local = tiles.levels, tiles.local_levels
    f32 = "float32"
    pairs = dim_k // 2
    runs = C // R
    units = pairs * runs // threads  # Runs of two columns that a thread walks one after the other.
    lines = dim_k // 8
    lanes = min(32, pairs)  # Lanes of a warp that share a run.
    groups = pairs // lanes
    warps = threads // 32
    blocks = C // 16  # Blocks of sixteen steps, which four halvings part.
    pairs_of_blocks = [(i, j) for i in range(blocks) for j in range(i)]
    # bfloat16 has 8 bits: what is added to the state is rounded twice, the rest after the first.
    exact = dtype == "bfloat16"

    def place(sequence, heads, seq_len):
        """Say where a block is among rows of every step and head."""
        at = SimpleNamespace(sequence=sequence, heads=heads, seq_len=seq_len)
        at.origin = T.alloc_local((1,), "int64")
        at.end = T.alloc_local((1,), "int32")
        return at

    @T.macro
    def begin(at, end):
        """Find the row of the block's first step, once: it takes a division."""
        T.import_source(chunk_source(dtype))
        at.end[0] = T.min(end, at.seq_len)
        batch = T.cast(at.sequence // at.heads, "int64")
        at.origin[0] = batch * at.seq_len * at.heads + at.sequence % at.heads

    def row(at, step):
        """The row of a step; past the last one, of the last."""
        return at.origin[0] + T.cast(T.min(step, at.seq_len - 1), "int64") * at.heads

    def tiles_(width):
        """Allocate what carries the state: keys, gates, and values of *width* elements."""
        s = SimpleNamespace()
        s.keys = T.alloc_shared((C, dim_k), dtype)
        s.logs = T.alloc_shared((C, dim_k), dtype)
        s.values = T.alloc_shared((C, width), dtype)
        s.writing = [T.alloc_shared((C, dim_k), dtype) for _ in range(2 if exact else 1)]
        s.totals = T.alloc_shared((runs, dim_k), f32)
        s.gates = T.alloc_local((units, R, 2), f32)
        s.far = T.alloc_local((2,), f32)
        s.pair = T.alloc_local((2,), dtype)
        s.k = T.alloc_local((R, 2), f32)
        return s

    def score_tiles(s):
        """Allocate what reads the state and the chunk itself: queries, halvings, scores."""
        s.queries = T.alloc_shared((C, dim_k), dtype)
        # Eight elements more put the rows that a warp reads at once into different banks.
        s.level = T.alloc_shared((levels * C, dim_k + 8), dtype)
        s.reading = T.alloc_shared((C, dim_k), dtype)
        s.scores = T.alloc_shared((C, C), dtype)
        s.diagonal = T.alloc_shared((groups, C), f32)
        s.q = T.alloc_local((R, 2), f32)
        s.t = T.alloc_local((R, 2), f32)
        s.own = T.alloc_local((R,), f32)
        s.swap = T.alloc_local((2,), f32)
        s.found = T.alloc_local((8,), f32)

    def copy(to, source, there):
        """Start a copy of 16 bytes, or of zeros. No macro: its arguments would be read first."""
        return T.call_extern(
            "handle", "tileops::copy_or_zero", T.address_of(to), T.address_of(source), there
        )

    def read_pair(to, source):
        """Read two elements as float32. No macro, as for `copy`."""
        return T.call_extern("handle", "tileops::read_pair", T.address_of(to), T.address_of(source))

    @T.macro
    def commit():
        T.call_extern("handle", "tileops::commit_copies")

    @T.macro
    def publish():
        """Let every thread, and the tensor cores, see what this one wrote to shared memory."""
        if hopper:
            T.fence_proxy_async()
        T.sync_threads()

    @T.macro
    def arrive():
        """Wait for the thread's copies but the last group, then for every thread."""
        T.call_extern("handle", "tileops::await_all_but_one")
        publish()

    @T.macro
    def arrive_all():
        """Wait for all of the thread's copies, then for every thread."""
        T.call_extern("handle", "tileops::await_copies")
        publish()

    @T.macro
    def finish():
        """Wait for the copies that were started for a chunk that never came."""
        T.call_extern("handle", "tileops::await_copies")

    def multiply(a, b, result, **options):
        """Multiply; on Hopper the result is there once it is settled."""
        return T.gemm(a, b, result, annotations={"wg_wait": -1}, **options)

    def held(fragment):
        """The registers of a thread that hold its share of a fragment."""
        elements = fragment.shape[0] * fragment.shape[1]
        return elements * (2 if fragment.dtype == dtype else 4) // 4 // threads

    @T.macro
    def settle(results, later=0):
        """Wait for products, but not for the *later* ones that were started after them."""
        if hopper:
            T.wait_wgmma(later)
            for one in results:
                T.warpgroup_fence_operand(one, num_regs=held(one))

    @T.macro
    def fetch(to, source, at, first):
        """Start the copies of a chunk; steps past the end are zeros, whose gates are one."""
        for n in T.unroll(C * lines // threads):
            where = T.get_thread_binding() + n * threads
            step = where // lines
            column = where % lines * 8
            copy(
                to[step, column],
                source[row(at, first + step), column],
                first + step < at.end[0],
            )

    @T.macro
    def fetch_values(s, source, at, first, value, dim_v):
        """Start the copies of a chunk's values from one on; those past the last are zeros."""
        width = s.values.shape[1]
        for n in T.unroll(C * (width // 8) // threads):
            where = T.get_thread_binding() + n * threads
            step = where // (width // 8)
            column = where % (width // 8) * 8
            copy(
                s.values[step, column],
                source[row(at, first + step), T.min(value + column, dim_v - 8)],
                T.And(first + step < at.seq_len, value + column < dim_v),
            )

    @T.macro
    def decay(s):
        """Turn logarithms into gates, and multiply those of every run."""
        for u in T.unroll(units):
            where = T.get_thread_binding() + u * threads
            run = where // pairs
            column = where % pairs * 2
            s.far[0] = 1.0
            s.far[1] = 1.0
            for r in T.unroll(R):
                read_pair(s.gates[u, r, 0], s.logs[run * R + r, column])
                for i in T.unroll(2):
                    s.gates[u, r, i] = T.call_extern(
                        f32, "tileops::power_of_two", s.gates[u, r, i] * LOG2E
                    )
                    s.far[i] *= s.gates[u, r, i]
            for i in T.vectorized(2):
                s.totals[run, column + i] = s.far[i]

    # How lanes add up every step's product with itself: first they swap halves of the steps, so
    # that each is left with few of them.
    swaps = [(R >> n, lanes >> n) for n in range(1, local + 1)]
    sums = [lanes >> n for n in range(local + 1, lanes.bit_length())]
    share = lanes // R

    @T.macro
    def add_own(s, run, pair):
        """Add up each step's product with itself over the lanes that share a run."""
        for left, offset in tuple(swaps):
            for r in tuple(range(left)):
                s.swap[0] = T.if_then_else((pair & offset) != 0, s.own[r + left], s.own[r])
                s.swap[1] = T.if_then_else((pair & offset) != 0, s.own[r], s.own[r + left])
                s.own[r] = s.swap[0] + T.shfl_xor(s.swap[1], offset)
        for offset in tuple(sums):
            s.own[0] += T.shfl_xor(s.own[0], offset)
        if pair % share == 0:
            s.diagonal[pair // lanes, run * R + pair % lanes // share] = s.own[0]

    @T.macro
    def begin_run(s, u, run, column):
        """Read a run of two columns: the queries scaled, each decayed by its own gate."""
        for r in tuple(range(R)):
            read_pair(s.q[r, 0], s.queries[run * R + r, column])
            read_pair(s.k[r, 0], s.keys[run * R + r, column])
            for i in tuple(range(2)):
                s.q[r, i] *= scale
                s.t[r, i] = s.gates[u, r, i]
            s.own[r] = s.q[r, 0] * s.k[r, 0] + s.q[r, 1] * s.k[r, 1]
            for i in tuple(range(2)):
                s.q[r, i] *= s.t[r, i]

    @T.macro
    def put(s, tile, row, column, a, b):
        s.pair[0] = T.cast(a, dtype)
        s.pair[1] = T.cast(b, dtype)
        for i in T.vectorized(2):
            tile[row, column + i] = s.pair[i]

    @T.macro
    def halve_run(s, level, run, column):
        """Write a halving within runs, then let each half reach over its neighbour."""
        for r in tuple(range(R)):
            if (r >> level) & 1:
                put(s, s.level, level * C + run * R + r, column, s.q[r, 0], s.q[r, 1])
            else:
                put(s, s.level, level * C + run * R + r, column, s.k[r, 0], s.k[r, 1])
        for r in tuple(range(R)):
            for i in tuple(range(2)):
                if (r >> level) & 1:
                    s.q[r, i] *= s.t[(r >> level) - 1, i]
                else:
                    s.k[r, i] *= s.t[(r >> level) + 1, i]
        for m in tuple(range(R >> (level + 1))):
            for i in tuple(range(2)):
                s.t[m, i] = s.t[2 * m, i] * s.t[2 * m + 1, i]

    @T.macro
    def halve_runs(s, level, run, column):
        """Write a halving between runs, then let each half reach over its neighbour."""
        m = level - local
        beside = ((run >> m) ^ 1) << m
        for i in tuple(range(2)):
            s.far[i] = s.totals[beside, column + i]
        for n in tuple(range(1, 1 << m)):
            for i in tuple(range(2)):
                s.far[i] *= s.totals[beside + n, column + i]
        # A warp has one run where keys are wide, and takes one way.
        if (run >> m) & 1 == 1:
            for r in tuple(range(R)):
                put(s, s.level, level * C + run * R + r, column, s.q[r, 0], s.q[r, 1])
                for i in tuple(range(2)):
                    s.q[r, i] *= s.far[i]
        else:
            for r in tuple(range(R)):
                put(s, s.level, level * C + run * R + r, column, s.k[r, 0], s.k[r, 1])
                for i in tuple(range(2)):
                    s.k[r, i] *= s.far[i]

    def put_writing(s, row, column, r):
        """Write the keys as they reach the end of the chunk."""
        if not exact:
            return put(s, s.writing[0], row, column, s.k[r, 0], s.k[r, 1])
        near, rest = (T.address_of(tile[row, column]) for tile in s.writing)
        return T.call_extern("handle", "tileops::put_exactly", near, rest, s.k[r, 0], s.k[r, 1])

    @T.macro
    def fade(s):
        """Turn the gates of the first run into what the chunk leaves of the state."""
        for u in T.unroll(-(-dim_k // threads)):
            column = T.get_thread_binding() + u * threads
            if column < dim_k:
                s.far[0] = s.totals[0, column]
                for n in tuple(range(1, runs)):
                    s.far[0] *= s.totals[n, column]
                s.totals[0, column] = s.far[0]

    @T.macro
    def spread(s):
        """Write every halving's tile, the queries that read the state, the keys that enter it."""
        for u in T.unroll(units):
            where = T.get_thread_binding() + u * threads
            run = where // pairs
            pair = where % pairs
            column = pair * 2
            begin_run(s, u, run, column)
            add_own(s, run, pair)
            for level in tuple(range(local)):
                halve_run(s, level, run, column)
            for level in tuple(range(local, levels)):
                halve_runs(s, level, run, column)
            for r in tuple(range(R)):
                put(s, s.reading, run * R + r, column, s.q[r, 0], s.q[r, 1])
                put_writing(s, run * R + r, column, r)
        publish()
        fade(s)

    @T.macro
    def gather(s):
        """Write the keys that enter the state alone."""
        for u in T.unroll(units):
            where = T.get_thread_binding() + u * threads
            run = where // pairs
            column = where % pairs * 2
            for i in tuple(range(2)):
                s.far[i] = 1.0
            for n in tuple(range(1, runs)):
                for i in tuple(range(2)):
                    s.far[i] *= T.if_then_else(run < n, s.totals[n, column + i], 1.0)
            for r in tuple(reversed(range(R))):
                read_pair(s.k[r, 0], s.keys[run * R + r, column])
                for i in tuple(range(2)):
                    s.k[r, i] *= s.far[i]
                    s.far[i] *= s.gates[u, r, i]
                put_writing(s, run * R + r, column, r)
        publish()
        fade(s)

    def own(s, i):
        """The score of step i with itself."""
        score = s.diagonal[0, i]
        for n in range(1, groups):
            score = score + s.diagonal[n, i]
        return score

    @T.macro
    def clear_scores(s):
        """No step has a score with a later one, and no other is left out by `score`."""
        for i, j in T.Parallel(C, C):
            s.scores[i, j] = T.cast(0.0, dtype)

    def rows_of(s, row):
        """Where the calling lane begins to read sixteen rows of halvings."""
        lane = T.get_thread_binding() % 32
        return T.address_of(s.level[row + lane % 16, lane // 16 * 8])

    def place_in_block(n):
        """Which step with which step is the lane's n-th score of a block."""
        lane = T.get_thread_binding() % 32
        return lane // 4 + n // 2 % 2 * 8, lane % 4 * 2 + n % 2 + n // 4 * 8

    @T.macro
    def score_within(s, block, level):
        """Score the steps of a block that a halving parts."""
        T.call_extern(
            "handle",
            f"tileops::multiply_rows<{dim_k // 16}>",
            T.address_of(s.found[0]),
            rows_of(s, level * C + block * 16),
        )
        for n in tuple(range(8)):
            i, j = place_in_block(n)
            if T.And((i >> level) == (j >> level) + 1, (i >> level) % 2 == 1):
                s.scores[block * 16 + i, block * 16 + j] = T.cast(s.found[n], dtype)

    @T.macro
    def score_between(s, later, earlier, level):
        """Score the steps of a block with those of an earlier one; one halving parts them all."""
        T.call_extern(
            "handle",
            f"tileops::multiply_rows<{dim_k // 16}>",
            T.address_of(s.found[0]),
            rows_of(s, level * C + later * 16),
            rows_of(s, level * C + earlier * 16),
        )
        for n in tuple(range(8)):
            i, j = place_in_block(n)
            s.scores[later * 16 + i, earlier * 16 + j] = T.cast(s.found[n], dtype)

    @T.macro
    def score(s):
        """Multiply the queries and keys that each halving parts; a warp has a block at a time."""
        thread = T.get_thread_binding()
        warp = thread // 32
        for n in T.unroll(4 * blocks // warps):
            score_within(s, (warp + n * warps) // 4, (warp + n * warps) % 4)
        for n in tuple(range(len(pairs_of_blocks))):
            i, j = pairs_of_blocks[n]
            if warp == n % warps:
                score_between(s, i, j, 3 + (i ^ j).bit_length())
        if thread < C:
            s.scores[thread, thread] = T.cast(own(s, thread), dtype)

    @T.macro
    def absorb(s, state):
        """Let the state, which stands on its side, fade, and add the chunk's keys and values."""
        for i, j in T.Parallel(s.values.shape[1], dim_k):
            state[i, j] = state[i, j] * s.totals[0, j]
        for one in tuple(s.writing):
            multiply(s.values, one, state, transpose_A=True, policy=T.GemmWarpPolicy.FullRow)

    return SimpleNamespace(**{**locals(), "tiles": tiles_})
