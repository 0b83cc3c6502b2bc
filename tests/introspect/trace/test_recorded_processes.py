"""Recordings of programs: several processes, threads, kills, and the environment variable."""

import os
import signal
import time

import pytest

from introspect.trace.conftest import calls_of, finished, lines_of
from tileops.introspect.trace import read_recording

CALLING = """
def call(n, times):
    op = LayerNormFwdOp(n)
    for _ in range(times):
        op(torch.ones(2, n))
"""


def counts(folder):
    """Return the number of calls by width, over all processes."""
    found = {}
    for one in read_recording(folder / "t.jsonl").calls:
        n = one.record.facts["n"]
        found[n] = found.get(n, 0) + one.calls
    return found


def test_the_environment_variable_records_a_program(program, folder):
    """A program that knows nothing of it is recorded, down to its last call."""
    process = program(CALLING + "call(8, 7)\n", "--epochs", "1")
    finished(process)
    ((header, record),) = lines_of(folder).values()
    assert (folder / f"t.{process.pid}.jsonl").exists()
    assert header["schema"] == "tileops.trace/1.0"
    assert header["argv"][1:] == ["--epochs", "1"]
    assert header["pid"] == process.pid
    assert record["place"] == "program.py:7"
    assert record["calls"] == 7
    assert record["imports"] == ["tileops_acme"]


def test_nothing_is_recorded_without_it(program, folder):
    """An empty variable is none."""
    finished(program(CALLING + "call(8, 1)\n", TILEOPS_TRACE=""))
    assert list(folder.iterdir()) == []


def test_an_unwritable_recording_stops_the_program(program, folder):
    """The first op says what cannot be written."""
    (folder / "file").write_text("")
    _, err = finished(program(CALLING + "call(8, 1)\n", TILEOPS_TRACE=str(folder / "file/t")), 1)
    assert "TraceError" in err
    assert "cannot be written" in err


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(program, folder, method):
    """Every process writes a file of its own; a forked one counts what it calls itself."""
    code = f"""
import multiprocessing
{CALLING}
if __name__ == "__main__":
    call(8, 5)
    op = LayerNormFwdOp(8)
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=call, args=(16 + i, 10 + i)) for i in range(2)]
    for child in children: child.start()
    for child in children: child.join()
    call(8, 1)
"""
    finished(program(code))
    assert counts(folder) == {8: 6, 16: 10, 17: 11}
    recording = read_recording(folder / "t.jsonl")
    assert len({header.pid for header in recording.headers}) == len(recording.headers) == 3


def test_a_fork_inherits_no_counter(program, folder):
    """A plan made before the fork counts for the parent there and for the child here."""
    code = """
import os
op = LayerNormFwdOp(8)
x = torch.ones(2, 8)
for _ in range(5): op(x)
child = os.fork()
for _ in range(20 if child == 0 else 2): op(x)
if child: os.waitpid(child, 0)
"""
    process = program(code)
    finished(process)
    recorded = {one.pid: one.calls for one in read_recording(folder / "t.jsonl").calls}
    assert sorted(recorded.values()) == [7, 20]
    assert recorded[process.pid] == 7


def test_a_fork_that_calls_nothing_writes_nothing(program, folder):
    """Workers that never call an op leave no file."""
    code = """
import os
LayerNormFwdOp(8)(torch.ones(2, 8))
child = os.fork()
if child: os.waitpid(child, 0)
"""
    finished(program(code))
    assert len(list(folder.iterdir())) == 1


def test_forks_while_threads_call(program, folder):
    """Forking in the middle of recording neither hangs nor spoils a file."""
    code = """
import os, threading
x = torch.ones(2, 8)
done = threading.Event()
LayerNormFwdOp(8)(x)
def work():
    n = 0
    while not done.is_set():
        n += 1
        LayerNormFwdOp(8 + n % 40)(torch.ones(1, 8 + n % 40))
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads: one.start()
for _ in range(15):
    child = os.fork()
    if not child:
        LayerNormFwdOp(200)(torch.ones(1, 200))
        from tileops.introspect.trace import _recorder
        for one in list(_recorder._recorders): one.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
for one in threads: one.join()
"""
    finished(program(code))
    recording = read_recording(folder / "t.jsonl")
    assert recording.truncated == ()
    assert counts(folder)[200] == 15


def test_a_killed_program_leaves_its_recording(program, folder):
    """After SIGKILL the file holds every record, and counters half a second old at most."""
    code = (
        CALLING
        + "call(8, 1000)\nprint('called', flush=True)\ncall(16, 1)\nwhile True: call(8, 1)\n"
    )
    process = program(code)
    assert process.stdout.readline() == "called\n"
    time.sleep(1.2)
    process.kill()
    finished(process, -signal.SIGKILL)
    recording = read_recording(folder / "t.jsonl")
    assert recording.truncated == ()
    first = next(one for one in recording.calls if one.record.place == "program.py:7")
    assert first.calls > 1000
    assert {one.record.facts["n"] for one in recording.calls} == {8, 16}


def test_killed_at_any_moment(program, folder):
    """A program that records new kinds without pause can be killed at any of them."""
    code = """
n = 0
while True:
    n = n % 256 + 1
    LayerNormFwdOp(n, 1.0 / (n * n + 1))(torch.ones(2, n))
"""
    processes = [program(code) for _ in range(2)]
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    for one in processes:
        one.kill()
        finished(one, -signal.SIGKILL)
    recording = read_recording(folder / "t.jsonl")
    assert {header.pid for header in recording.headers} == {one.pid for one in processes}


def test_processes_with_one_number(program, folder):
    """A process whose file another machine or container has written takes a further name."""
    code = (
        "import os\nopen(os.environ['TILEOPS_TRACE'].replace('.jsonl', f'.{os.getpid()}.jsonl'),"
        " 'w').write('theirs')\n" + CALLING + "call(8, 3)\n"
    )
    process = program(code)
    finished(process)
    theirs = folder / f"t.{process.pid}.jsonl"
    assert theirs.read_text() == "theirs"
    theirs.unlink()
    assert [one.name for one in folder.iterdir()] == [f"t.{process.pid}.2.jsonl"]
    assert counts(folder) == {8: 3}


def test_a_program_that_changes_its_directory(program, folder, tmp_path):
    """A relative name means the directory at the start, in programs started later too."""
    code = f"""
import os, subprocess, sys
{CALLING}
call(8, 1)
os.mkdir("below")
os.chdir("below")
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "../program.py", "again"], check=False)
"""
    finished(program(code, TILEOPS_TRACE="recorded/t.jsonl"))
    assert len(list(folder.iterdir())) == 2


def test_a_full_disk_ends_the_recording_alone(program, folder):
    """When nothing more can be written the program goes on, warned once."""
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
{CALLING}
for n in range(1, 100): call(n, 2)
print("went on")
"""
    out, err = finished(program(code))
    assert out == "went on\n"
    assert err.count("tileops stopped recording") == 1
    records = read_recording(folder / "t.jsonl").calls
    assert 1 <= len(records) < 99


def test_the_last_counts_of_a_program_that_fails(program, folder):
    """An uncaught exception loses no call."""
    finished(program(CALLING + "call(8, 3)\nraise SystemExit(3)\n"), 3)
    assert [one["calls"] for one in calls_of(folder)] == [3]


def test_a_compiled_function_is_recorded(program, folder):
    """Under torch.compile a call counts as it does outside."""
    code = """
import warnings
op = LayerNormFwdOp(8)
double = torch.compile(lambda x: op(x) * 2, backend="eager")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for _ in range(6): double(torch.ones(2, 8))
"""
    finished(program(code))
    assert sum(one["calls"] for one in calls_of(folder)) == 6


def test_ten_thousand_kinds(program, folder):
    """Memory, file and time stay in proportion, and flushing does not take over."""
    code = """
import resource, time
def call(n, eps): LayerNormFwdOp(n, eps)(torch.ones(1, n))
call(1, 1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
for k in range(10_000): call(1 + k % 200, 1e-6 * (1 + k // 200))
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    out, _ = finished(program(code))
    seconds, kilobytes = map(float, out.split())
    records = calls_of(folder)
    assert len(records) == 10_001
    assert {one["calls"] for one in records} == {1}
    assert sum(os.path.getsize(file) for file in folder.iterdir()) < 20e6
    assert kilobytes < 60_000
    assert seconds < 60
