"""How the programs of gated linear attention are cut: values picked from facts, without TileLang.

Nothing here changes a result. The sizes were chosen so that no register spills and a block's
shared memory fits; on a board they are settled by measurement.
"""

from dataclasses import dataclass

__all__ = ["ChunkTiles", "DecodeTiles", "Partitions", "chunk_tiles", "decode_tiles", "partitions"]


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
    """

    chunk: int
    run: int
    width: int
    threads: int

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
    """

    count: int
    span: int


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
    """
    # A chunk of 32-wide keys has a run of two columns for each of 128 threads, not of 256.
    width = 128 if arch >= 90 and dim_v > 64 and dim_k > 32 else 64
    threads = 2 * width
    chunk = 64 if dim_k <= (128 if arch >= 90 else 32) else 32
    # Longer runs are halved within a thread, as long as every thread has one. Where a chunk is
    # short its keys are wide, and registers are short too.
    run = 16 if chunk == 64 and dim_k * 2 >= threads else 8
    return ChunkTiles(chunk, run, width, threads)


def partitions(chunks: int, blocks: int, sm_count: int) -> Partitions:
    """Cut a sequence of *chunks* chunks, of which *blocks* blocks walk one part each.

    As many parts as keep every multiprocessor busy once.
    """
    wanted = max(1, min(chunks, sm_count // max(blocks, 1)))
    span = -(-chunks // wanted) if chunks else 0
    return Partitions(max(1, -(-chunks // span)) if span else 1, span)
