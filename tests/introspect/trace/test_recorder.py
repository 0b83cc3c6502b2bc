"""What is recorded of calls in one process, and how they are counted."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import tileops
from introspect.trace.conftest import calls_of, lines_of
from ops.noting import in_threads, noting, op_with
from scale_family import General, Narrow
from tileops.introspect.trace import Recorder, TraceError
from tileops.kernels.norm.call_spec import LayerNormFwdInterface

OP = "NotingFwdOp"


def rows(count=2, n=8, dtype=torch.float32):
    return torch.ones(count, n, dtype=dtype)


def test_one_record_per_kind_of_call(folder):
    """Calls that repeat, and further batch sizes, add to the counter of one record."""
    kernel, _ = noting()
    with tileops.trace.record(folder / "t.jsonl"):
        op = op_with(only=kernel)
        for count in (2, 2, 3, 2, 5):
            op(rows(count))
        op(rows(dtype=torch.float16))
    first, second = calls_of(folder)
    assert [first["calls"], second["calls"]] == [5, 1]
    assert first["facts"] == {"n": 8, "eps": 1e-05, "dtype": "float32"}
    assert second["facts"]["dtype"] == "float16"


def test_what_a_record_holds(folder):
    """Op, interface, device, decision, losers with stage and reason, and the line of the call."""
    kernel, _ = noting(delay=0.05)
    refusing, noted = noting(name="Refusing")
    noted.serves = False
    kernel.general = True
    with tileops.trace.record(folder / "t.jsonl"):
        op_with(only=kernel, refusing=refusing)(rows())
    (record,) = calls_of(folder)
    assert record["op"] == OP
    assert record["interface"] == "layer_norm"
    assert record["request"] == "LayerNormCall"
    assert (record["outcome"], record["selected"], record["general"]) == ("selected", "only", True)
    assert record["device"] == "cpu"
    assert set(record["device_facts"]) == {"arch", "sm_count", "smem_budget"}
    assert record["losers"] == [
        {
            "key": "refusing",
            "stage": "refused",
            "reason": "serves nothing now",
            "general": False,
            "preferred": True,
        }
    ]
    assert record["seconds"] >= 0.05
    assert record["target"] is record["error"] is None
    file, _, line = record["place"].rpartition(":")
    assert Path(file).name == "test_recorder.py"
    source = Path(file).read_text().splitlines()
    assert source[int(line) - 1].strip().startswith("op_with(only=kernel")


def test_a_loser_that_would_not_have_served_is_no_first_choice(folder):
    """A refusing key counts as preferred only over what it outranks."""
    high, _ = noting(name="High")
    low, noted = noting(name="Low")
    noted.serves = False
    with tileops.trace.record(folder / "t.jsonl"):
        op_with(high=high, low=low)(rows())
    (record,) = calls_of(folder)
    assert [(one["key"], one["preferred"]) for one in record["losers"]] == [("low", False)]


def test_lines_of_the_program_are_told_apart(folder):
    """The first call of each line that makes an op's kind of call has a record."""
    kernel, _ = noting()
    with tileops.trace.record(folder / "t.jsonl"):
        op_with(only=kernel)(rows())
        op_with(only=kernel)(rows())
    first, second = (record["place"].rpartition(":")[2] for record in calls_of(folder))
    assert int(second) == int(first) + 1


def test_calls_that_fail_are_counted(folder):
    """A call that nothing serves is a record with its error, counted every time."""
    kernel, noted = noting()
    noted.serves = False
    with tileops.trace.record(folder / "t.jsonl"):
        op = op_with(only=kernel)
        for _ in range(3):
            with pytest.raises(ValueError):
                op(rows())
    (record,) = calls_of(folder)
    assert record["calls"] == 3
    assert record["outcome"] == "unserved"
    assert record["error"].startswith(f"UnservedCallError: {OP}: no implementation serves")


def test_builds_that_fail_are_counted(folder):
    """The record of a failed build keeps the decision; the call that then works has its own."""
    kernel, noted = noting()
    noted.fails = 1
    with tileops.trace.record(folder / "t.jsonl"):
        op = op_with(only=kernel)
        for _ in range(2):
            try:
                op(rows())
            except OSError:
                continue
    failed, served = calls_of(folder)
    assert failed["error"] == "OSError: the compiler failed"
    assert (failed["selected"], failed["calls"]) == ("only", 1)
    assert (served["error"], served["calls"]) == (None, 1)


def test_empty_calls_are_counted(folder):
    """A call that writes no element makes no request, and is counted all the same."""
    kernel, _ = noting()
    with tileops.trace.record(folder / "t.jsonl"):
        op = op_with(only=kernel)
        for _ in range(3):
            op(rows(0))
    (record,) = calls_of(folder)
    assert (record["empty"], record["calls"], record["interface"]) == (True, 3, None)


def test_calls_of_a_target_are_counted(folder):
    """A call that a target serves names it, and asks no interface."""
    kernel, _ = noting()
    op_type = type(op_with(only=kernel))
    op_type.registry = type(op_type.registry)(known_ops=lambda: {OP}, entry_points=tuple)
    op_type.registry.register_kernel_builder(
        OP, "acme", lambda *specs, **params: lambda x, weight, bias: x * 1
    )
    with tileops.trace.record(folder / "t.jsonl"):
        op = op_type(8, target="acme")
        for _ in range(3):
            op(rows())
    (record,) = calls_of(folder)
    assert (record["target"], record["calls"], record["interface"]) == ("acme", 3, None)


def test_ops_made_for_one_call(folder):
    """Ops that are dropped leave their counts behind, in one record."""
    kernel, _ = noting()
    recorder = Recorder(folder / "t.jsonl")
    recorder.start()
    op_type = type(op_with(only=kernel))
    for _ in range(500):
        op_type(8)(rows())
    recorder.stop()
    (record,) = calls_of(folder)
    assert record["calls"] == 500


def test_an_op_of_several_requests(folder):
    """Each request is a record, numbered by its position; all are counted with the call."""
    wide, _ = noting()
    interfaces = {"first": LayerNormFwdInterface, "second": LayerNormFwdInterface}
    op = op_with(interfaces, wide=wide)

    class TwoFwdOp(type(op)):
        def requests(self, *inputs):
            ((_, call),) = super().requests(*inputs)
            return (("first", call), ("second", call))

        def bind(self, kernels, *inputs):
            return super().bind(kernels[:1], *inputs)

    with tileops.trace.record(folder / "t.jsonl"):
        op = TwoFwdOp(8)
        op(rows())
        op(rows())
    records = calls_of(folder)
    assert [(one["interface"], one["position"], one["calls"]) for one in records] == [
        ("first", 0, 2),
        ("second", 1, 2),
    ]


def test_a_request_that_cannot_be_stated(folder):
    """An op whose own requests raise fails with its error, and is recorded without a decision."""
    kernel, _ = noting()

    class BrokenFwdOp(type(op_with(only=kernel))):
        def requests(self, *inputs):
            raise ArithmeticError("no such width")

    with (
        tileops.trace.record(folder / "t.jsonl"),
        pytest.raises(ArithmeticError, match="no such width"),
    ):
        BrokenFwdOp(8)(rows())
    (record,) = calls_of(folder)
    assert (record["error"], record["outcome"]) == ("ArithmeticError: no such width", None)


def test_nothing_is_recorded_afterwards(folder):
    """The end of the block ends the recording, for ops that were called inside too."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    with tileops.trace.record(folder / "t.jsonl"):
        op(rows())
    op(rows())
    op_with(only=kernel)(rows(3))
    assert [one["calls"] for one in calls_of(folder)] == [1]


def test_recordings_overlap(folder):
    """Two recordings at once each count what happens during them."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    op(rows())
    with tileops.trace.record(folder / "outer.jsonl"):
        op(rows())
        with tileops.trace.record(folder / "inner.jsonl"):
            op(rows())
        op(rows())
    counts = {
        name.partition(".")[0]: sum(one["calls"] for one in lines[1:])
        for name, lines in lines_of(folder).items()
    }
    assert counts == {"outer": 3, "inner": 1}


def test_threads_lose_no_call(folder):
    """Calls of eight threads on one op and on their own are all counted."""
    kernel, _ = noting()
    with tileops.trace.record(folder / "t.jsonl"):
        shared = op_with(only=kernel)

        def act():
            own = type(shared)(8)
            for _ in range(200):
                shared(rows())
                own(rows())

        _, errors = in_threads(8, act)
    assert errors == []
    assert sum(one["calls"] for one in calls_of(folder)) == 8 * 2 * 200


def test_recording_begins_and_ends_while_threads_call(folder):
    """No call fails and none is recorded twice, whenever recordings start."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    done = threading.Event()
    made = [0] * 4

    def call(place):
        while not done.is_set():
            op(rows(1 + made[place] % 5))
            made[place] += 1

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        with tileops.trace.record(folder / f"{number}.jsonl"):
            before = sum(made)
            while sum(made) < before + 40:
                pass
    done.set()
    for thread in threads:
        thread.join()
    recorded = [sum(one["calls"] for one in lines[1:]) for lines in lines_of(folder).values()]
    assert len(recorded) == 20
    assert min(recorded) >= 40 - len(threads)
    assert sum(recorded) <= sum(made) + len(threads)


def test_further_kinds_are_collapsed(folder):
    """Beyond the limit there is one record per outcome, which still counts every call."""
    kernel, _ = noting()
    recorder = Recorder(folder / "t.jsonl", limit=10)
    recorder.start()
    op_type = type(op_with(only=kernel))
    for n in range(1, 41):
        op_type(n)(rows(n=n))
    recorder.stop()
    *whole, rest = calls_of(folder)
    assert [one["calls"] for one in whole] == [1] * 10
    assert not any(one["collapsed"] for one in whole)
    assert (rest["collapsed"], rest["calls"], rest["facts"]) == (True, 30, {})
    assert (rest["op"], rest["selected"]) == (OP, "only")


def test_an_unwritable_place(tmp_path):
    """A recording that cannot be written does not begin."""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(TraceError, match="cannot be written"),
        tileops.trace.record(tmp_path / "file" / "t.jsonl"),
    ):
        raise AssertionError("the block must not run")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("", "'': path must name a file, and is empty", id="empty"),
        pytest.param("dd", "dd: path must name a file, and this is a folder", id="folder"),
        pytest.param(Path(), ".: path must name a file, and this is a folder", id="at-hand"),
        pytest.param(5, "5: path must be a str or a path, got int", id="number"),
        pytest.param(None, "None: path must be a str or a path, got NoneType", id="none"),
        pytest.param(b"t", "b't': path must be a str or a path, got bytes", id="bytes"),
        pytest.param("a\0b", r"'a\x00b': path must name a file, and no name holds a", id="null"),
    ],
)
def test_a_path_that_names_no_file(tmp_path, monkeypatch, path, problem):
    """The error names the parameter, and nothing is recorded."""
    (tmp_path / "dd").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TraceError) as caught, tileops.trace.record(path):
        raise AssertionError("the block must not run")
    assert str(caught.value).startswith(problem)
    assert [one.name for one in tmp_path.iterdir()] == ["dd"]


def test_the_version_recorded_is_that_of_the_code(folder):
    """It is known of a source tree as well, which no installed distribution stands for."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    (stated,) = re.findall(r'^version = "(.*)"$', project.read_text(), flags=re.M)
    code = "import tileops\nwith tileops.trace.record('t.jsonl'): pass"
    source = str(Path(tileops.__file__).parents[1])
    shown = "from importlib import metadata as m\nm.distributions = lambda **_: ()\n"
    hidden = "m.Distribution.discover = classmethod(lambda *_, **__: iter(()))\n"
    subprocess.run(
        [sys.executable, "-c", shown + hidden + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        check=True,
    )
    ((header,),) = lines_of(folder).values()
    assert header["tileops"] == stated


def test_an_observer_that_fails_fails_no_call():
    """What an observer raises is warned of; the call and the other observers go on."""
    from tileops.ops._observers import subscribe

    def failing(_event):
        raise LookupError("no such thing")

    told = []
    kernel, _ = noting()
    ends = [subscribe(failing), subscribe(lambda event: told.append(event.op))]
    try:
        with pytest.warns(RuntimeWarning, match="no such thing"):
            result = op_with(only=kernel)(rows())
    finally:
        for end in ends:
            end()
    assert result.shape == (2, 8)
    assert told == [OP]


def test_other_families(folder):
    """Facts of every kind are recorded, and a general key is marked."""
    from scale_family import op_of

    call = Narrow.request(device="cpu", n=512, extra=(1, torch.float16))
    selection = op_of(general=General, narrow=Narrow)().explain("scale", call)
    from tileops.introspect.trace._decisions import records_of
    from tileops.ops._observers import Specialisation

    (record,) = records_of(Specialisation("ScaleFwdOp", "m", None, (selection,), 0.0), "f.py:1")
    assert record.facts == {"n": 512, "dtype": "float16", "extra": [1, "float16"]}
    assert (record.selected, record.general) == ("general", True)
