"""How the programs of gated linear attention are cut: values picked from facts, without TileLang.

Nothing here changes a result. No register spills, and a block's shared memory fits. Decoding,
and chunks of keys and values of 64, 128 and 256 on Hopper, are cut as an H200 was fastest.
"""

from dataclasses import dataclass

__all__ = ["ChunkTiles", "DecodeTiles", "Partitions", "chunk_tiles", "decode_tiles", "partitions"]


WORTH_PIECES = 8
"""Chunks of a part from which a second piece saves more than its state's way through memory."""


@dataclass(frozen=True, slots=True)
class DecodeTiles:
    """How one step reads and writes states.

    Attributes:
        width: Values of a state's row that a block owns.
        vectors: 16-byte accesses of a thread, all in flight at once.
        threads: Threads of a block.
    """

    width: int
    vectors: int
    threads: int


@dataclass(frozen=True, slots=True)
class ChunkTiles:
    """How a sequence is walked chunk by chunk.

    Attributes:
        chunk: Steps of a chunk, a power of two.
        run: Steps of a chunk that one thread walks, a power of two.
        width: Values that a block owns.
        threads: Threads of a block.
        resident: Blocks that walk chunks and share a multiprocessor.
        summing: Blocks that sum up chunks and share a multiprocessor; *resident* or twice that.
    """

    chunk: int
    run: int
    width: int
    threads: int
    resident: int = 1
    summing: int = 1

    @property
    def levels(self) -> int:
        """How often a chunk is halved."""
        return self.chunk.bit_length() - 1

    @property
    def local_levels(self) -> int:
        """How often a run is halved."""
        return self.run.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Partitions:
    """How a long sequence is cut.

    Attributes:
        count: Parts, each but the last of *span* chunks; at least one.
        span: Chunks of a part.
        pieces: Equal pieces of a part that are summed up side by side.
    """

    count: int
    span: int
    pieces: int = 1

    @property
    def states(self) -> int:
        """Pieces up to the last part's first, each of which begins with a state."""
        return (self.count - 1) * self.pieces + 1


def decode_tiles(dim_k: int, dim_v: int, sequences: int, sm_count: int) -> DecodeTiles:
    """Pick how one step of *sequences* states is spread over a device.

    A block owns up to 128 values, less where there would be fewer than two blocks for every
    multiprocessor; a row of 32 values still is a whole 128-byte line.
    """
    width = min(dim_v, 128)
    while width > 32 and sequences * (dim_v // width) < 2 * sm_count:
        width //= 2
    accesses = dim_k * width // 4
    # Sixteen reads in flight hide the memory where there are many blocks; more threads end sooner
    # where there is one block for each multiprocessor.
    vectors = 16 if accesses >= 4096 else 8
    return DecodeTiles(width, vectors, accesses // vectors)


def chunk_tiles(dim_k: int, dim_v: int, arch: int) -> ChunkTiles:
    """Pick how the chunks of a sequence are walked.

    A warp owns sixteen values of the state. The shared memory of a chunk grows with its steps,
    the width of a key and the number of halvings: 64 steps of 128-wide keys fit Hopper alone.
    Where keys and values are 64 wide, four blocks of short chunks share a multiprocessor of it.
    """
    if arch >= 90 and dim_k == 64 and dim_v <= 64:
        return ChunkTiles(chunk=32, run=8, width=64, threads=128, resident=4, summing=8)
    # A chunk of 32-wide keys has a run of two columns for each of 128 threads, not of 256.
    width = 128 if arch >= 90 and dim_v > 64 and dim_k > 32 else 64
    threads = 2 * width
    chunk = 64 if dim_k <= (128 if arch >= 90 else 32) else 32
    # Longer runs are halved within a thread, as long as every thread has one. Where 128 threads
    # hold a short chunk of wide keys, registers are short too.
    long = dim_k * (chunk // 16) // 2 >= threads and (chunk == 64 or threads == 256)
    # Two blocks that sum up fit the registers of one that walks, but not where keys are wider.
    summing = 2 if arch >= 90 and dim_k == 128 else 1
    return ChunkTiles(chunk, 16 if long else 8, width, threads, summing=summing)


def partitions(chunks: int, blocks: int, sm_count: int, tiles: ChunkTiles) -> Partitions:
    """Cut a sequence of *chunks* chunks, of which *blocks* blocks walk one part each.

    As many parts as keep every multiprocessor busy once. Where parts are long and twice as many
    blocks can sum up as walk, each is summed up in two pieces.
    """
    wanted = max(1, min(chunks, sm_count * tiles.resident // max(blocks, 1)))
    span = -(-chunks // wanted) if chunks else 0
    pieces = tiles.summing // tiles.resident if wanted > 1 and span >= WORTH_PIECES else 1
    span = -(-span // pieces) * pieces
    return Partitions(max(1, -(-chunks // span)) if span else 1, span, pieces)
