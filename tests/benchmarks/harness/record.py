"""The results of a run as frozen records, and the versioned schema they are written by.

A minor version adds members, and readers ignore members they do not know; a major version
changes them.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

__all__ = [
    "READ",
    "SCHEMA",
    "Board",
    "Ceilings",
    "HostRow",
    "Part",
    "PeerRow",
    "Results",
    "Row",
    "Settings",
    "Timing",
    "json_schema",
]

SCHEMA = "tileops.benchmark/2.0"

READ = ("tileops.benchmark/1", "tileops.benchmark/2")
"""The schemas that are read, by what stands before the minor version.

Files of the first hold medians as host times, every one of them has ceilings.
"""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The device time of one call, in microseconds.

    Attributes:
        median_us: The median of the samples.
        low_us: Their first decile.
        high_us: Their ninth decile.
        samples: How many samples there are.
        launches: Calls in the longer of the two graphs that each sample compares.
    """

    median_us: float
    low_us: float
    high_us: float
    samples: int
    launches: int

    @classmethod
    def of(cls, seconds: Sequence[float], launches: int) -> Timing:
        """Summarise samples given in seconds."""
        ordered = sorted(1e6 * one for one in seconds)
        tenth = (len(ordered) - 1) // 10
        return cls(
            median_us=round(statistics.median(ordered), 4),
            low_us=round(ordered[tenth], 4),
            high_us=round(ordered[-1 - tenth], 4),
            samples=len(ordered),
            launches=launches,
        )

    @property
    def spread(self) -> float:
        """The distance of the deciles as a fraction of the median."""
        return (self.high_us - self.low_us) / self.median_us


class PeerRow(msgspec.Struct, frozen=True, kw_only=True):
    """What another implementation did with the same inputs in the same run.

    Attributes:
        name: The peer.
        status: Whether it was timed, is not installed, failed, computed something else, or was not
            reached in time.
        detail: Why it was not timed.
        error: The relative distance of its result from ours.
        timing: Its device time.
        speedup: Its time over ours: above one, ours is faster.
    """

    name: str
    status: Literal["timed", "absent", "failed", "disagrees", "unfinished"]
    detail: str = ""
    error: float | None = None
    timing: Timing | None = None
    speedup: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of one op.

    Attributes:
        op: The op.
        family: Its family.
        workload: The workload's name.
        source: Whether the manifest or a family's sweep names it.
        about: Where such a call occurs.
        params: The constructor's arguments, as text.
        inputs: The tensors given, like ``bf16[8192, 4096]``.
        status: Whether it was timed.
        detail: Why it was not.
        keys: The selected key by interface.
        flops: Operations that the call cannot avoid.
        bytes: Bytes that it must read and write.
        sets: How many sets of inputs the launches rotate over.
        timing: The device time of one call.
        bound: The ceiling that bounds the call.
        roofline_us: The time at that ceiling.
        fraction: ``roofline_us`` over the median.
        copy: The device time of an elementwise kernel that reads and writes as many bytes in all:
            what the board gives a call of this size, launch included.
        of_copy: The median of that copy over the op's.
        peers: The other implementations.
    """

    op: str
    family: str
    workload: str
    source: Literal["manifest", "sweep"]
    about: str = ""
    params: dict[str, str]
    inputs: dict[str, str]
    status: Literal["timed", "failed"]
    detail: str = ""
    keys: dict[str, str] = {}
    flops: int
    bytes: int
    sets: int = 0
    timing: Timing | None = None
    bound: Literal["copy", "read", "compute"] | None = None
    roofline_us: float | None = None
    fraction: float | None = None
    copy: Timing | None = None
    of_copy: float | None = None
    peers: tuple[PeerRow, ...] = ()

    @property
    def best_peer(self) -> PeerRow | None:
        """The fastest peer, or None when none was timed."""
        timed = [one for one in self.peers if one.speedup is not None]
        return min(timed, key=lambda one: one.speedup or 0.0, default=None)


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """Host time of one eager call of a small workload, in microseconds.

    Attributes:
        op: The op.
        workload: The workload: the op's smallest.
        us: What was called: ``op``, ``bare`` (its compiled functions, one after another on ready
            buffers), ``empty_like`` (allocating the outputs), all three from one round of readings;
            and the peers, each the median of many. The core was at its fastest.
        over: What the op takes beyond ``bare`` and ``empty_like``.
        new_size: A call of a size that is new to the op and runs programs that are built: the least
            of several means of a few.
        launches: How many compiled functions a call runs; 0 where that is unknown.
        outputs: How many tensors it returns.
        detail: Why nothing was measured.
    """

    op: str
    workload: str
    us: dict[str, float]
    over: float | None = None
    new_size: float | None = None
    launches: int = 0
    outputs: int = 1
    detail: str = ""


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """What the board gives large calls of torch, measured in the same run.

    Attributes:
        copy_tbs: Bytes read and written by a copy, TB/s.
        read_tbs: Bytes read by a reduction, TB/s.
        gemm_tflops: Operations of a bfloat16 matrix product, TFLOP/s.
    """

    copy_tbs: float
    read_tbs: float
    gemm_tflops: float


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU that ran."""

    name: str
    arch: int
    sm_count: int
    memory_bytes: int
    l2_bytes: int
    driver: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was asked for.

    Attributes:
        quick: Whether samples were few and short.
        seed: Of the inputs.
        repetitions: Samples of each contestant.
        cold_bytes: What is read before a replay.
        peers: The other implementations.
        hosts_only: Whether host times were measured and nothing else.
    """

    quick: bool
    seed: int
    repetitions: int
    cold_bytes: int
    peers: tuple[str, ...]
    hosts_only: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs that a results file was joined from; their boards are of one kind.

    Attributes:
        created: When it started, ISO 8601 in UTC.
        ops: The ops that it timed.
        ceilings: The ceilings that it measured, and that its rows are held to; None where it
            measured host times and nothing else.
        hosts: The ops whose host times it measured; where two did, those of a part without
            ceilings are kept.
    """

    created: str
    ops: tuple[str, ...]
    ceilings: Ceilings | None = None
    hosts: tuple[str, ...] = ()


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        schema: The schema's name and version.
        created: When it started, ISO 8601 in UTC.
        commit: The commit that ran, or None.
        settings: How it was asked for.
        board: The GPU.
        versions: Versions by distribution.
        ceilings: The board's ceilings; None where there are host times and nothing else.
        rows: The workloads that were reached.
        hosts: Host times.
        unfinished: The workloads that the time did not reach, as ``op/workload``.
        parts: The runs that were joined, none where this is one run.
    """

    schema: str = SCHEMA
    created: str
    commit: str | None
    settings: Settings
    board: Board
    versions: dict[str, str]
    ceilings: Ceilings | None = None
    rows: tuple[Row, ...] = ()
    hosts: tuple[HostRow, ...] = ()
    unfinished: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a results file."""
    schema = msgspec.json.schema(Results)
    return {"$id": SCHEMA, "title": "The results of a benchmark run", **schema}
