"""How a row norm's blocks walk its rows: a value picked from facts, without TileLang.

The choices were measured on an H200 in bfloat16 with cold caches, layer normalization unless a
comment says otherwise. Figures are shares of the bandwidth of a copy of the same size, 268 MB of
traffic unless said otherwise.
"""

from dataclasses import dataclass

__all__ = ["RowLayout", "RowTensors", "row_layout"]

# Threads that a multiprocessor holds, and bytes of shared memory that it shares out among blocks
# (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
_SM_THREADS = {80: 2048, 86: 1536, 89: 1536, 90: 2048}
_SM_SHARED = {80: 164 << 10, 86: 100 << 10, 89: 100 << 10, 90: 228 << 10}
_BLOCK_RESERVE = 1 << 10
_PARTIALS = 4 << 10

_ACCESS = 16
_FIRST_CLUSTER_ARCH = 90
_LARGEST_CLUSTER = 16

# What a block stages of a row that several blocks share. At n = 65536, 0.85; blocks of half the
# slice reach 0.84 at best, blocks of twice the slice 0.67. A row of exactly this size is better
# off in one block: n = 32768 has 0.90, and 0.85 in two.
_CLUSTER_SLICE = 64 << 10

_STAGED_EARLY = 48 << 10


@dataclass(frozen=True, slots=True)
class RowTensors:
    """How many tensors a row norm reads, by the way it reads them.

    Attributes:
        summed: Read row by row for the statistics.
        applied: Read row by row for the result alone.
        factors: Of one row, which scale or shift every row.
    """

    summed: int = 1
    applied: int = 0
    factors: int = 0

    @property
    def streams(self) -> int:
        """Tensors that are read row by row."""
        return self.summed + self.applied


@dataclass(frozen=True, slots=True)
class RowLayout:
    """How blocks walk rows of one width.

    Attributes:
        vector: Elements of one memory access; it divides the row.
        lanes: Threads of one block that share a row; a power of two.
        rows: Rows of one block.
        cluster: Blocks that share a row.
        hold: Where a row waits between its one read and its write: "registers", "shared" (staged
            by asynchronous copies), or "nowhere" (the row is read a second time).
        resident: Blocks that a multiprocessor should hold; it bounds the registers of a thread.
        unroll: Vectors of a thread in flight in the last pass, where the row is not in registers.
        overlap: Whether the next kernel of the stream may start before this one ends.
    """

    vector: int
    lanes: int
    rows: int
    cluster: int
    hold: str
    resident: int
    unroll: int
    overlap: bool

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return self.lanes * self.rows


_TWO_FACTORS = RowTensors(factors=2)


def row_layout(
    n: int, itemsize: int, arch: int, smem_budget: int, tensors: RowTensors
) -> RowLayout:
    """Pick the layout of rows of *n* elements of *itemsize* bytes.

    Args:
        n: Elements of a row.
        itemsize: Bytes of an element.
        arch: 80, 86, 89 or 90.
        smem_budget: Bytes of shared memory that a block may use.
        tensors: What the program reads.
    """
    vector = _vector(n, itemsize)
    vectors = n // vector
    overlap = arch >= _FIRST_CLUSTER_ARCH
    if tensors == _TWO_FACTORS and 128 < vectors < 192 and vector * itemsize == _ACCESS:
        # Two factors of five or six vectors a lane crowd the registers. n = 1280: 0.95, against
        # 0.93 held there; n = 1152 of 38 MB: 0.91, against 0.84.
        resident = _fit(arch, 128, 2 * 3 * 64 * _ACCESS, 10)
        return RowLayout(vector, 64, 2, 1, "shared", resident, 4, overlap)
    if vectors <= 256:
        return _in_registers(vector, vectors, arch, overlap, tensors)
    room = smem_budget - _PARTIALS
    cluster = _cluster(n * itemsize * tensors.streams, arch, room)
    slice_vectors = -(-vectors // cluster)
    lanes = _lanes(slice_vectors)
    per_lane = -(-slice_vectors // lanes)
    # Whole vectors for every lane: what a block stages.
    staged = per_lane * lanes * vector * itemsize * tensors.streams
    if staged > room:
        # So long a row is read by many blocks, where they can: the cache holds it meanwhile.
        cluster = _LARGEST_CLUSTER if arch >= _FIRST_CLUSTER_ARCH else 1
        return RowLayout(vector, 512, 1, cluster, "nowhere", _fit(arch, 512, 0, 2), 4, overlap)
    # At 512 threads, 40 registers leave room for three blocks, and for two vectors in flight: with
    # four they spilled, and n = 16384 fell from 0.94 to 0.78.
    resident, unroll = {128: (8, 4), 256: (4, 4), 512: (3, 2)}[lanes]
    if lanes == 128 and per_lane <= 3:
        resident, unroll = 12, 3  # n = 2880: 0.98, against 0.96 with 10 blocks.
    # Blocks that stage much and wait for their predecessor keep its last blocks out: at
    # n = 32768 and 67 MB, 0.70 against 0.80.
    overlap = overlap and staged <= _STAGED_EARLY
    resident = _fit(arch, lanes, staged, resident)
    return RowLayout(vector, lanes, 1, cluster, "shared", resident, unroll, overlap)


def _lanes(vectors: int) -> int:
    """Threads that share the vectors of a row that a block stages.

    128 lanes with seven vectors each are too few: n = 7168 has 0.96 and, of a sum, 0.84; with 256
    lanes 0.97 and 0.94. Likewise n = 12288: 0.95 with 256 lanes, 0.96 with 512. At n = 4096, 256
    lanes have two vectors each: 0.99 of 67 MB, against 0.96.
    """
    if vectors <= 700 and vectors != 512:
        return 128
    return 256 if vectors <= 1100 else 512


def _in_registers(
    vector: int, vectors: int, arch: int, overlap: bool, tensors: RowTensors
) -> RowLayout:
    """Lay out a short row: its lanes hold a few vectors each of every tensor it needs."""
    streams = tensors.streams
    needed = streams + tensors.factors
    most = max(1, min(4, 12 // needed))
    if needed <= 2 and vectors <= 16:
        # Root mean square, n = 96: 0.97, against 0.84 with three vectors a lane; n = 128: 1.00,
        # against 0.96 with four.
        most = 2
    if vectors <= 32 * most:
        lanes = min(32, max(4, _power_of_two(-(-vectors // most))))
    elif vectors <= 160 and streams == 1:
        lanes = 32  # Two warps a row would leave a quarter of their lanes idle.
    else:
        lanes = 64 if vectors <= 192 else 128
    per_lane = -(-vectors // lanes)
    live = per_lane * needed
    # Blocks of 128 threads with 40, 48, 56 or 80 registers a thread. More blocks make registers
    # spill, and few bytes of that cost a tenth: n = 2048 falls to 0.88 with 14 blocks.
    resident = 12 if live <= 3 else 10 if live <= 6 else 9 if live <= 9 else 6
    if live > 12:
        resident = 7  # The factors no longer wait in registers.
    elif streams > 2 and live > 6:
        resident = 7 if live <= 9 else 5  # Their addresses take registers too.
    threads = max(lanes, 128)
    resident = _fit(arch, threads, 0, resident)
    return RowLayout(vector, lanes, threads // lanes, 1, "registers", resident, 1, overlap)


def _vector(n: int, itemsize: int) -> int:
    """Elements of the widest access that divides a row."""
    vector = _ACCESS // itemsize
    while n % vector:
        vector //= 2
    return vector


def _cluster(row_bytes: int, arch: int, room: int) -> int:
    """Blocks that share a row: few enough that each has a good slice of it."""
    if arch < _FIRST_CLUSTER_ARCH:
        return 1
    cluster = _power_of_two(-(-row_bytes // _CLUSTER_SLICE))
    if cluster <= _LARGEST_CLUSTER:
        return cluster
    return _LARGEST_CLUSTER if row_bytes <= _LARGEST_CLUSTER * room else 1


def _fit(arch: int, threads: int, shared: int, resident: int) -> int:
    """At most *resident* blocks, as far as a multiprocessor has threads and shared memory."""
    by_shared = _SM_SHARED[arch] // (shared + _PARTIALS // 4 + _BLOCK_RESERVE)
    return max(1, min(resident, _SM_THREADS[arch] // threads, by_shared))


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()
