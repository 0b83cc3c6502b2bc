"""How blocks walk the channels of a tensor (n, c, *spatial): values picked without TileLang.

A block owns a group of neighbouring channels, or a part of one, and walks it as `channel_planes`
says.

The constants were chosen by arithmetic and by what was measured for the row norms; all that is
worth tuning stands here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tileops.device import DeviceFacts
from tileops.kernels.norm.programs.channel_planes import UNITS_OF_PAIRS, Planes, chunk

__all__ = [
    "BESIDE",
    "ENOUGH_BLOCKS",
    "LARGEST_CLUSTER",
    "LEAST_BESIDE",
    "LEAST_SPLIT",
    "LEAST_TOGETHER",
    "MOST_SPLIT_CHANNELS",
    "MOST_TOGETHER",
    "PARTS",
    "SHORT_SLICE",
    "SLICE",
    "ChannelLayout",
    "in_cluster",
    "on_chip",
    "parts",
    "passing",
]

BESIDE = 24 << 10
"""Bytes of a block's shared memory that statistics and the last turn take beside the data."""

# At this size the row norms reached 0.85 of a copy, at half of it 0.84 and at twice 0.67.
SLICE = 64 << 10
"""Bytes that a block of a cluster stages of a channel, unless sixteen blocks are too few."""

SHORT_SLICE = 6400
"""Elements of a channel of short planes up to which one block takes it with its neighbours."""

# With 256 blocks, whole channels of 200 KB took 0.90 of the time of clusters of four, groups of
# planes of 7 x 7 took 0.87.
ENOUGH_BLOCKS = 256
"""Blocks from which on none shares what it can hold alone."""

LEAST_TOGETHER = 4 * ENOUGH_BLOCKS
"""Channels from which on four a block leave enough of them."""

MOST_TOGETHER = 512
"""Samples of which sixteen blocks hold four channels, whatever the planes that go together."""

LEAST_BESIDE = 64
"""Channels of short planes from which on the clusters that hold them fill the device."""

LARGEST_CLUSTER = 16
"""Blocks of a cluster at most."""
_FIRST_CLUSTER_ARCH = 90

LEAST_SPLIT = 16384
"""Elements of a channel from which on parts of it are worth a second launch."""

MOST_SPLIT_CHANNELS = 512
"""Channels up to which a block each would leave multiprocessors without work."""

PARTS = 128
"""Parts of a channel at most: what the lanes of a warp merge in four turns."""

# Threads of a block that walk planes, also by sevens as the planes of most networks divide, and
# the accesses that each of them has at least.
_PLANE_THREADS, _LEAST_EACH = (512, 448, 256, 224, 128), 3

# Bytes of a channel up to which more threads a block pay, however few blocks run side by side:
# 32 planes of 14 x 14 took 0.90 of the time that 128 threads take, and 0.76 backward.
_SHORT_CHANNEL = 32 << 10

# Bytes of data that blocks of a multiprocessor keep on the chip: more threads a block shorten its
# turns, until too few blocks are left for one to load while another writes.
_ENOUGH = 160 << 10

# Threads that walk columns side by side: each keeps the statistics of up to eight channels.
_COLUMN_THREADS = 256
_LONE_COLUMN_THREADS = 416

# Threads of a block of columns unless no more fit: fewer would keep more on the chip, but more of
# them idle. 256 of them served pairs of 14 x 14 better than a block for each channel did.
_LEAST_COLUMN_THREADS = 192

# Threads of a multiprocessor whose registers hold a program of one and of two streams without
# spilling: 48 and 64 registers each; 64 where nothing is staged; 80 and 128 where a thread keeps
# the statistics of several units of an access.
_RESIDENT_THREADS, _RESIDENT_COLUMN_THREADS = {1: 1280, 2: 1024}, {1: 768, 2: 512}
_RESIDENT_PASSING = 1024

# Staged bytes of a block up to which the next kernel may start before this one ends.
_STAGED_EARLY = 48 << 10

# Accesses of a thread in flight where nothing is staged, and accesses of one part of a channel.
_IN_FLIGHT = 4
_PART_ACCESSES = 2048

# Blocks for every multiprocessor that clusters of few channels make, as far as slices of 16 KiB
# allow. 64 channels of 200 KB took 0.89 of the time that half as many blocks take.
_FEW_EACH = 4

# Blocks for every multiprocessor that parts of channels should make.
_BLOCKS_EACH = 16

_SM_SHARED = {80: 164 << 10, 86: 100 << 10, 89: 100 << 10, 90: 228 << 10}
_SM_THREADS = {80: 2048, 86: 1536, 89: 1536, 90: 2048}
_BLOCK_RESERVE = 1 << 10
_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class ChannelLayout:
    """How blocks walk channels of one plane size; the number of samples varies.

    Attributes:
        vector: Elements of one access.
        group: Channels of a block.
        lanes: Accesses of a group in one sample walked by columns; 0 where planes are walked.
        threads: Threads of one block.
        rows: Samples that a block walks at a time by columns; 1 where planes are walked.
        cluster: Blocks that share a group.
        per: Items of a thread that its block stages at most; 0 where nothing is staged.
        resident: Blocks that a multiprocessor should hold; it bounds the registers of a thread.
        in_flight: Items of a thread that are read at a time where nothing is staged.
        overlap: Whether the next kernel of the stream may start before this one ends.
    """

    vector: int
    group: int
    lanes: int
    threads: int
    rows: int
    cluster: int
    per: int
    resident: int
    in_flight: int
    overlap: bool

    @property
    def step(self) -> int:
        """Items that lie between two of a thread's."""
        return self.rows if self.lanes else self.threads

    @property
    def capacity(self) -> int:
        """Items that a block stages at most."""
        return self.per * self.step

    @property
    def staged(self) -> int:
        """Accesses that a block stages at most, of one stream."""
        return self.per * (self.rows * self.lanes if self.lanes else self.threads)


def on_chip(planes: Planes, facts: DeviceFacts, cluster: int = 1) -> ChannelLayout | None:
    """Lay out channels that are read once and wait on the chip; None where they do not fit.

    Args:
        planes: The channels.
        facts: Those of the device.
        cluster: Blocks that share a group.
    """
    items = chunk(planes.items, cluster, planes.by_columns)
    size = items * planes.vector * planes.itemsize * planes.streams
    short = cluster == 1 and not planes.by_columns and size <= _SHORT_CHANNEL
    best, most = None, 0
    for group, threads, rows in _shapes(planes, items, _sms(facts)):
        few = planes.by_columns and threads < _LEAST_COLUMN_THREADS
        if best and (short or few or most >= _ENOUGH):
            break
        layout = _staged(planes, facts, group, threads, rows, cluster)
        kept = _kept(layout, planes, facts) if layout else 0
        if kept > most:
            best, most = layout, kept
        if layout and _blocks(layout, planes) <= layout.resident * _sms(facts):
            # All of the data is kept: no other shape keeps more.
            break
    return best


def passing(planes: Planes, facts: DeviceFacts) -> ChannelLayout:
    """Lay out channels, or parts of them, that are read for the statistics and again after."""
    if not planes.by_columns:
        threads = min(256, _warps(planes.items) * 32)
        return _layout(planes, facts, planes.group, threads, 1, 1, 0)
    group, lanes = _columns(planes, planes.items, _sms(facts))
    rows = max(1, min(_COLUMN_THREADS // lanes, planes.items))
    return _layout(planes, facts, group, _column_threads(rows * lanes, group), rows, 1, 0)


def parts(planes: Planes, layout: ChannelLayout, facts: DeviceFacts, most: int) -> int:
    """How many blocks share a group that none stages: enough to fill the device, at most *most*.

    Args:
        planes: The channels, with as many samples as the call has.
        layout: From `passing`.
        facts: Those of the device.
        most: Parts that the workspace has room for.
    """
    groups = -(-planes.channels // layout.group)
    wanted = -(-_sms(facts) * _BLOCKS_EACH // groups)
    accesses = planes.items * max(layout.lanes, 1)
    return max(1, min(wanted, -(-accesses // _PART_ACCESSES), most, planes.items))


def in_cluster(planes: Planes, facts: DeviceFacts) -> ChannelLayout | None:
    """Lay out channels that clusters hold, each block a slice; None where they do not fit.

    Where channels are few, more blocks share each, to fill the device.
    """
    size = planes.samples * planes.spatial * planes.itemsize * planes.streams * planes.group
    by_size = -(-size // SLICE)
    groups = -(-planes.channels // planes.group)
    by_count = min(_FEW_EACH * _sms(facts) // groups, -(-size // (SLICE // 4)))
    wanted = max(by_size, by_count, 2)
    blocks = min(_power(wanted), LARGEST_CLUSTER)
    while (layout := on_chip(planes, facts, blocks)) is None and blocks < LARGEST_CLUSTER:
        blocks *= 2
    return layout


def _shapes(planes: Planes, items: int, sms: int) -> Iterator[tuple[int, int, int]]:
    """Yield channels, threads and rows of a block that may stage *items*, most threads first."""
    if not planes.by_columns:
        fitting = [one for one in _PLANE_THREADS if items >= one * _LEAST_EACH]
        for threads in fitting or [min(_warps(items) * 32, _PLANE_THREADS[-1])]:
            yield planes.group, threads, 1
        return
    group, lanes = _columns(planes, items, sms)
    # Few samples fill a power of two of rows, or every number of them had a program of its own.
    for rows in range(max(1, min(_LONE_COLUMN_THREADS // lanes, _power(items))), 0, -1):
        yield group, _column_threads(rows * lanes, group), rows


def _columns(planes: Planes, items: int, sms: int) -> tuple[int, int]:
    """Return channels of a block and their accesses: more channels where few fill no block."""
    group = planes.group
    lanes = group * planes.spatial // planes.vector
    rows = max(1, min(items, _COLUMN_THREADS // lanes))
    # Twice the channels, as long as threads idle and blocks are many.
    while rows * lanes * 2 <= _COLUMN_THREADS and planes.channels >= group * 4 * sms:
        group, lanes = group * 2, lanes * 2
        rows = max(1, min(items, _COLUMN_THREADS // lanes))
    return group, lanes


def _column_threads(walking: int, group: int) -> int:
    """Threads of a block: those that walk, and a warp for each of a few channels to merge."""
    return max(_warps(walking), min(group, _COLUMN_THREADS // 32)) * 32


def _staged(
    planes: Planes, facts: DeviceFacts, group: int, threads: int, rows: int, cluster: int
) -> ChannelLayout | None:
    """Lay out a block that stages its items; None where they do not fit.

    Items of a thread are rounded up, so that neighbouring batch sizes share a program, but not so
    far that a multiprocessor holds a block less.
    """
    items = chunk(planes.items, cluster, planes.by_columns)
    step = rows if planes.by_columns else threads
    exact = -(-items // step)
    quarter = max(1, 1 << max(0, exact.bit_length() - 3))
    beside = _shared_beside(planes, group, threads, rows, cluster)
    item = step * _accesses(planes, group) * planes.vector * planes.itemsize * planes.streams
    fits = resident = 0
    for per in range(exact, -(-exact // quarter) * quarter + 1):
        size = per * item + beside
        if size > (facts.smem_budget or 0):
            break
        held = _resident(planes, facts, threads, size, staged=True)
        if held < resident:
            break
        fits, resident = per, held
    return _layout(planes, facts, group, threads, rows, cluster, fits) if fits else None


def _kept(layout: ChannelLayout, planes: Planes, facts: DeviceFacts) -> int:
    """Bytes of data that the blocks of a multiprocessor keep on the chip."""
    items = chunk(planes.items, layout.cluster, planes.by_columns)
    accesses = items * max(layout.lanes, 1) * planes.streams
    beside = min(layout.resident, -(-_blocks(layout, planes) // _sms(facts)))
    return beside * accesses * planes.vector * planes.itemsize


def _blocks(layout: ChannelLayout, planes: Planes) -> int:
    """Blocks that the channels take."""
    return -(-planes.channels // layout.group) * layout.cluster


def _accesses(planes: Planes, group: int) -> int:
    """Accesses of an item: those of a group in one sample, or one of a plane."""
    return group * planes.spatial // planes.vector if planes.by_columns else 1


def _shared_beside(planes: Planes, group: int, threads: int, rows: int, cluster: int) -> int:
    """Bytes of shared memory of a block beside its data: the board of its statistics."""
    if planes.by_columns:
        entries = 2 * rows * _accesses(planes, group) * planes.units
    else:
        entries = 3 * threads // 32
    given = 4 * cluster * group if cluster > 1 else 0
    return 4 * (entries + given + 3 * group) + _ALIGNMENT


def _resident(planes: Planes, facts: DeviceFacts, threads: int, shared: int, staged: bool) -> int:
    """Blocks of so many threads and bytes of shared memory that a multiprocessor should hold."""
    arch = facts.arch or 0
    several = planes.units > UNITS_OF_PAIRS
    most = (_RESIDENT_COLUMN_THREADS if several else _RESIDENT_THREADS)[planes.streams]
    if not staged:
        most = min(most, _RESIDENT_PASSING)
    by_shared = _SM_SHARED[arch] // (shared + _BLOCK_RESERVE)
    return max(1, min(most // threads, by_shared, _SM_THREADS[arch] // threads, 16))


def _layout(
    planes: Planes,
    facts: DeviceFacts,
    group: int,
    threads: int,
    rows: int,
    cluster: int,
    per: int,
) -> ChannelLayout:
    lanes = _accesses(planes, group) if planes.by_columns else 0
    staged = per * (rows * lanes if lanes else threads)
    data = staged * planes.vector * planes.itemsize * planes.streams
    shared = data + _shared_beside(planes, group, threads, rows, cluster)
    return ChannelLayout(
        vector=planes.vector,
        group=group,
        lanes=lanes,
        threads=threads,
        rows=rows,
        cluster=cluster,
        per=per,
        resident=_resident(planes, facts, threads, shared, staged=per > 0),
        in_flight=_IN_FLIGHT if planes.streams == 1 else _IN_FLIGHT // 2,
        overlap=(facts.arch or 0) >= _FIRST_CLUSTER_ARCH and data <= _STAGED_EARLY,
    )


def _sms(facts: DeviceFacts) -> int:
    return facts.sm_count or 1


def _power(least: int) -> int:
    """Return the power of two from *least* on."""
    return 1 << (least - 1).bit_length()


def _warps(threads: int) -> int:
    return min(-(-threads // 32), 16)
