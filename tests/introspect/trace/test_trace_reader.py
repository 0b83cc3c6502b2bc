"""Reading recordings that are whole, cut off, damaged, or of another version."""

import json
import os

import msgspec
import pytest

from tileops.introspect.trace import (
    SCHEMA,
    CallRecord,
    Header,
    TraceError,
    read_recording,
    recorded_files,
)
from tileops.introspect.trace._file import TraceFile
from tileops.introspect.trace._record import Loser

HEADER = msgspec.json.encode(Header(SCHEMA, 7, ["train.py"], "0.1.0", "2.13.0")) + b"\n"
RECORD = msgspec.json.encode(CallRecord(op="XFwdOp", module="m", calls=3)) + b"\n"


def record(**stated):
    return msgspec.json.encode(CallRecord(op="XFwdOp", module="m", **stated)) + b"\n"


def calls_in(path):
    return [(one.record.op, one.calls, one.pid) for one in read_recording(path).calls]


def test_files_of_all_processes_are_merged(tmp_path):
    """Under one name lie the file itself and one file per process, in the order of the numbers."""
    for pid in (10, 9):
        header = msgspec.json.encode(Header(SCHEMA, pid, [], "", "")) + b"\n"
        (tmp_path / f"t.{pid}.jsonl").write_bytes(header + RECORD)
    for name in ("other.9.jsonl", "t.x.jsonl", "t.9.json", "ta9.jsonl", "t.9.jsonl.bak"):
        (tmp_path / name).write_bytes(b"not read")
    assert calls_in(tmp_path / "t.jsonl") == [("XFwdOp", 3, 9), ("XFwdOp", 3, 10)]


@pytest.mark.parametrize(
    ("given", "file"),
    [
        pytest.param("t.jsonl", "t.7.jsonl", id="plain"),
        pytest.param("t", "t.7.jsonl", id="no-suffix"),
        pytest.param("t.log", "t.7.log", id="other-suffix"),
        pytest.param("t[1].jsonl", "t[1].7.jsonl", id="pattern-characters"),
        pytest.param("a.b.jsonl", "a.b.7.jsonl", id="dots"),
        pytest.param("t.jsonl", "t.7.3.jsonl", id="third-file-of-one-number"),
        pytest.param("t.7.jsonl", "t.7.jsonl", id="one-process-alone"),
    ],
)
def test_names(tmp_path, given, file):
    """A recording is found by the name it was given, whatever the name."""
    (tmp_path / file).write_bytes(HEADER)
    assert recorded_files(tmp_path / given) == [tmp_path / file]


@pytest.mark.parametrize("kept", range(1, len(RECORD)))
def test_a_last_line_cut_off_anywhere_is_left_out(tmp_path, kept):
    """What stands before it is read, and the file is named as truncated."""
    (tmp_path / "t.7.jsonl").write_bytes(HEADER + RECORD + RECORD[:kept])
    recording = read_recording(tmp_path / "t.jsonl")
    assert [one.calls for one in recording.calls] == [3]
    assert recording.truncated == ("t.7.jsonl",)


def test_a_process_that_wrote_nothing_hides_no_other(tmp_path):
    """An empty file and half a header are left out beside a whole file."""
    (tmp_path / "t.5.jsonl").write_bytes(b"")
    (tmp_path / "t.6.jsonl").write_bytes(HEADER[:20])
    (tmp_path / "t.7.jsonl").write_bytes(HEADER + RECORD)
    recording = read_recording(tmp_path / "t.jsonl")
    assert [header.pid for header in recording.headers] == [7]
    assert recording.truncated == ("t.5.jsonl", "t.6.jsonl")


def test_later_minor_versions_are_read(tmp_path):
    """Members and kinds of lines that this version does not know are skipped."""
    header = json.loads(HEADER) | {"schema": "tileops.trace/1.9", "host": "a"}
    record = json.loads(RECORD) | {"power": 3.5}
    lines = [header, {"kind": "power", "watts": 3}, record]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert calls_in(tmp_path / "t.jsonl") == [("XFwdOp", 3, 7)]


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        pytest.param(b"", "ended before it recorded anything", id="empty"),
        pytest.param(HEADER[:-1], "ended before it recorded anything", id="half-a-header"),
        pytest.param(b"\x00\xff\n", "it does not begin with a line of JSON", id="binary"),
        pytest.param(b"[1]\n", "it does not begin with a line of JSON", id="other-json"),
        pytest.param(b'{"a":1}\n', "is no recording: line 1", id="other-object"),
        pytest.param(RECORD, "it has no header", id="no-header"),
        pytest.param(HEADER + b"{}x\n" + RECORD, "is no recording: line 2", id="damaged"),
        pytest.param(
            HEADER.replace(b"trace/1", b"trace/2"), "has the form tileops.trace/2.0", id="major"
        ),
        pytest.param(
            HEADER + RECORD.replace(b'"calls":3', b'"calls":"x"'), "line 2: Expected", id="type"
        ),
        pytest.param(
            HEADER + RECORD.replace(b'"calls":3', b'"calls":3,"calls":4'),
            "line 2: states 'calls' twice in one object",
            id="twice",
        ),
        *(
            pytest.param(
                HEADER + RECORD + record(**stated),
                f"line 3: {fragment}",
                id=name,
            )
            for name, stated, fragment in (
                ("count", {"calls": -1}, "calls must be 0 or more, got -1"),
                ("time", {"seconds": -0.5}, r"seconds must be 0 or more, got -0\.5"),
                ("place", {"position": -2}, "position must be 0 or more, got -2"),
                ("outcome", {"outcome": "zzz"}, "outcome must be one of selected, ambiguous, "),
                ("no-key", {"outcome": "selected"}, "outcome is 'selected', and the selected key"),
                ("key", {"outcome": "unserved", "selected": "a"}, "outcome is 'unserved', and the"),
                ("no-outcome", {"selected": "a"}, "outcome is None, and the selected key 'a'"),
                (
                    "stage",
                    {"outcome": "unserved", "losers": [Loser("fast", "zzz", None)]},
                    "the stage of fast must be one of device, arch, raised, refused, ",
                ),
            )
        ),
    ],
)
def test_what_is_no_recording(tmp_path, content, fragment):
    """The error names the file, in its folder, and what is wrong with it, by its line."""
    (tmp_path / "t.7.jsonl").write_bytes(content)
    with pytest.raises(TraceError, match=fragment) as caught:
        read_recording(tmp_path / "t.jsonl")
    assert str(caught.value).startswith(f"{tmp_path}{os.sep}t.")


def test_no_recording_at_all(tmp_path):
    """A name without a file says what was looked for."""
    with pytest.raises(TraceError, match=r"there is no recording; t\.PID\.jsonl was looked for"):
        read_recording(tmp_path / "t.jsonl")
    with pytest.raises(TraceError, match="there is no recording"):
        read_recording(tmp_path / "nowhere" / "t.jsonl")


def test_a_folder_is_no_recording(tmp_path):
    """A folder that is named like a file cannot be read."""
    (tmp_path / "t.7.jsonl").mkdir()
    with pytest.raises(TraceError, match="it is no regular file"):
        read_recording(tmp_path / "t.jsonl")


def test_a_pipe_is_no_recording(tmp_path):
    """Nobody waits for what might be written into it."""
    os.mkfifo(tmp_path / "t.7.jsonl")
    with pytest.raises(TraceError, match="it is no regular file"):
        read_recording(tmp_path / "t.jsonl")


def test_a_record_that_was_never_counted_is_read(tmp_path):
    """A process that is killed before it first writes its counts leaves records of no call."""
    file = TraceFile(tmp_path / "t.jsonl")
    file.add(CallRecord(op="XFwdOp", module="m"))
    file.close()
    assert [calls for _, calls, _ in calls_in(tmp_path / "t.jsonl")] == [0]
