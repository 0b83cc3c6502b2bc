"""Recording what a running program selects, and reading such recordings.

A recording holds one record per specialisation, not per call, and the number of its calls.
"""

from tileops.introspect.trace._reader import Recording, TraceError, read_recording
from tileops.introspect.trace._record import SCHEMA, CallRecord, Header, Loser
from tileops.introspect.trace._recorder import Recorder, record, start
from tileops.introspect.trace._replay import Change, Replay, replay
from tileops.introspect.trace._summary import KeyRow, OpSummary, RefusalRow, summarise

__all__ = [
    "SCHEMA",
    "CallRecord",
    "Change",
    "Header",
    "KeyRow",
    "Loser",
    "OpSummary",
    "Recorder",
    "Recording",
    "RefusalRow",
    "Replay",
    "TraceError",
    "read_recording",
    "record",
    "replay",
    "start",
    "summarise",
]
