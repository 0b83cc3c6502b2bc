"""Recording what a running program selects, and reading such recordings.

A recording holds one record per specialisation, not per call, and the number of its calls.
"""

from tileops.errors import TraceError
from tileops.introspect.trace._file import check_writable
from tileops.introspect.trace._reader import (
    RecordedCall,
    Recording,
    read_recording,
    recorded_files,
)
from tileops.introspect.trace._record import SCHEMA, CallRecord, Header, Loser
from tileops.introspect.trace._recorder import Recorder, record, start
from tileops.introspect.trace._replay import Change, Replay, replay
from tileops.introspect.trace._summary import (
    ErrorRow,
    KeyRow,
    OpSummary,
    RefusalRow,
    summarise,
)

__all__ = [
    "SCHEMA",
    "CallRecord",
    "Change",
    "ErrorRow",
    "Header",
    "KeyRow",
    "Loser",
    "OpSummary",
    "RecordedCall",
    "Recorder",
    "Recording",
    "RefusalRow",
    "Replay",
    "TraceError",
    "check_writable",
    "read_recording",
    "record",
    "recorded_files",
    "replay",
    "start",
    "summarise",
]
