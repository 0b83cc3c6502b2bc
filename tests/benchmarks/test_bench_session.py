"""A run on a counted machine, with the template backend's kernel on the CPU."""

from __future__ import annotations

import pytest
import torch
from counted import CountedMachine
from harness.case import Case
from harness.contest import COPY, OURS, Contest
from harness.host_run import run_hosts
from harness.inputs import input_sets
from harness.peers import Family
from harness.session import Plan, run
from harness.store import read
from harness.subject import PlanError, Subject, bare_launches
from harness.timing import Effort
from samples import results

from tileops import manifest
from tileops.manifest import TypedShape, Workload

ENTRY = manifest.load()["LayerNormFwdOp"]
EFFORT = Effort(repetitions=3, seconds=1e-4, most=4)
PEERS = ("torch", "liger")


def case(n, rows=3, name=None):
    """Return a case of LayerNormFwdOp on the CPU."""
    inputs = {
        "input": TypedShape("float32", (rows, n)),
        "weight": TypedShape("float32", (n,)),
        "bias": TypedShape("float32", (n,)),
    }
    params = {"normalized_shape": (n,)}
    workload = Workload(name=name or f"n-{n}", params=params, inputs=inputs)
    return Case.of(ENTRY, workload, "cpu")


class Told:
    """Keeps what it was told."""

    def __init__(self):
        self.started, self.rows, self.hosts = [], [], []

    def starts(self, name):
        """Keep the name."""
        self.started.append(name)

    def has(self, row):
        """Keep the row."""
        self.rows.append(row)

    def has_host(self, row):
        """Keep the host times."""
        self.hosts.append(row)


def plan(path, *cases, **facts):
    """Return a plan of few calls."""
    known = {"effort": EFFORT, "host_calls": 3, "path": path, "peers": PEERS}
    return Plan(cases=cases, **(known | facts))


@pytest.mark.usefixtures("acme")
def test_a_case_is_timed_with_its_key_and_its_peers(tmp_path):
    """The row holds the key that the public op selects, the roofline fraction and the peers."""
    told, path = Told(), tmp_path / "results.json"
    done = run(plan(path, case(256)), CountedMachine(cost=2e-6), results(), told)
    (row,) = done.rows
    assert row.status == "timed", row.detail
    assert row.keys == {"layer_norm": "acme_layer_norm_short_rows"}
    assert row.timing.median_us == pytest.approx(2.0)
    assert row.bytes == 4 * (2 * 3 * 256 + 2 * 256)
    assert row.roofline_us == pytest.approx(row.bytes / 4e6, abs=1e-4)
    assert row.fraction == pytest.approx(row.roofline_us / 2.0, rel=1e-2)
    torch_row, liger_row = row.peers
    assert (torch_row.status, torch_row.speedup) == ("timed", pytest.approx(1.0))
    assert torch_row.error < 1e-6
    assert (liger_row.name, liger_row.status) == ("liger", "absent")
    assert read(path) == done
    assert told.rows == [row]


@pytest.mark.usefixtures("acme")
def test_host_times_come_with_the_smallest_workload(tmp_path):
    """One row an op: the op, the allocation of its output, and its peers."""
    told = Told()
    cases = (case(256), case(64), case(128))
    done = run(plan(tmp_path / "r.json", *cases), CountedMachine(), results(), told)
    (host,) = done.hosts
    assert host.workload == "n-64"
    assert set(host.us) == {"op", "empty_like", "torch"}
    assert all(us > 0 for us in host.us.values())
    assert (host.launches, host.outputs) == (0, 1)
    assert host.over is None
    assert host.new_size > host.us["op"]
    assert told.hosts == [host]


@pytest.mark.usefixtures("acme")
def test_a_run_of_host_times_alone(tmp_path):
    """It has those of the smallest workload of an op, a reason where it failed, and no rows."""
    told, path = Told(), tmp_path / "r.json"
    ceilings = {"ceilings": None}
    done = run_hosts(plan(path, case(256), case(64)), CountedMachine(), results(**ceilings), told)
    (host,) = done.hosts
    assert (host.workload, host.detail) == ("n-64", "")
    assert set(host.us) == {"op", "empty_like", "torch"}
    assert host.new_size > 0
    assert (done.rows, done.unfinished, told.started) == ((), (), ["LayerNormFwdOp/n-64"])
    assert told.hosts == [host]
    assert read(path) == done
    failed = run_hosts(plan(path, case(257)), CountedMachine(), results(**ceilings), told)
    assert failed.hosts[0].us == {}
    assert "got 257" in failed.hosts[0].detail


@pytest.mark.usefixtures("acme")
def test_a_run_of_host_times_alone_ends_in_time(tmp_path):
    """What the deadline leaves is named."""
    done = run_hosts(
        plan(tmp_path / "r.json", case(64), deadline=1.0),
        CountedMachine(), results(ceilings=None), Told(), now=lambda: 2.0,
    )  # fmt: skip
    assert done.hosts == ()
    assert done.unfinished == ("LayerNormFwdOp/n-64",)


@pytest.mark.usefixtures("acme")
def test_later_peers_come_after_every_case(tmp_path):
    """Each is timed beside our op once more; its times complete the row and the host times."""
    told = Told()
    cases = (case(8), case(16))
    asked = plan(tmp_path / "r.json", *cases, peers=("liger",), later=("torch", "no-such"))
    done = run(asked, CountedMachine(), results(), told)
    names = ["LayerNormFwdOp/n-8", "LayerNormFwdOp/n-16"]
    assert told.started == [*names, *names]
    early = [[(one.name, one.status) for one in row.peers] for row in told.rows[:2]]
    assert early == [[("liger", "absent"), ("torch", "unfinished")]] * 2
    assert told.rows[2:] == list(done.rows)
    for row in done.rows:
        liger, late = row.peers
        assert (liger.status, late.status) == ("absent", "timed")
        assert late.speedup == pytest.approx(1.0)
    (host,) = done.hosts
    assert set(host.us) == {"op", "empty_like", "torch"}
    assert read(asked.path) == done


@pytest.mark.usefixtures("acme")
def test_the_budget_takes_later_peers_first(tmp_path):
    """Every case has its time, and the peers that were not reached are named with the reason."""
    asked = plan(
        tmp_path / "r.json", case(8), case(16), case(32),
        peers=(), later=("torch",), deadline=8.0,
        unready=frozenset({("LayerNormFwdOp/n-8", "torch")}),
    )  # fmt: skip
    hours = iter([0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 7.0, 7.0])
    done = run(asked, CountedMachine(), results(), Told(), now=lambda: next(hours))
    assert [row.status for row in done.rows] == ["timed"] * 3
    assert done.unfinished == ()
    late = [row.peers[0] for row in done.rows]
    assert [one.status for one in late] == ["unfinished", "timed", "unfinished"]
    assert late[0].detail == "it was not compiled ahead in time"
    assert late[2].detail == "the time did not reach it"
    assert read(asked.path) == done


@pytest.mark.usefixtures("acme")
def test_a_later_peer_that_cannot_run_is_reported(tmp_path):
    """What stopped it is in its row; our op keeps its time."""

    class Machine(CountedMachine):
        def free_bytes(self):
            self.asked = getattr(self, "asked", 0) + 1
            return self.free if self.asked == 1 else 1000

    asked = plan(tmp_path / "r.json", case(8), peers=(), later=("torch",))
    (row,) = run(asked, Machine(), results(), Told()).rows
    assert row.status == "timed"
    assert row.peers[0].status == "failed"
    assert "NotEnoughMemoryError" in row.peers[0].detail


@pytest.mark.usefixtures("acme")
def test_a_case_that_no_kernel_serves_is_reported_and_the_next_is_run(tmp_path):
    """Beyond the template's longest row there is no kernel on a CPU."""
    path, machine = tmp_path / "r.json", CountedMachine()
    done = run(plan(path, case(257), case(8)), machine, results(), Told())
    refused, timed = done.rows
    assert refused.status == "failed"
    assert "got 257" in refused.detail
    assert refused.timing is None
    assert timed.status == "timed"
    assert machine.tidied == 2


@pytest.mark.usefixtures("acme")
def test_the_budget_leaves_the_rest_unfinished_and_the_file_complete(tmp_path):
    """The second case would start later than the deadline allows; it is named."""
    path = tmp_path / "r.json"
    hours = iter([0.0, 10.0, 10.0, 20.0])
    done = run(
        plan(path, case(8), case(16), deadline=12.0),
        CountedMachine(), results(), Told(), now=lambda: next(hours),
    )  # fmt: skip
    assert [row.workload for row in done.rows] == ["n-8"]
    assert done.unfinished == ("LayerNormFwdOp/n-16",)
    assert read(path) == done


@pytest.mark.usefixtures("acme")
def test_a_run_that_is_stopped_leaves_what_it_had(tmp_path):
    """After each case the file holds it, and names what is still to come."""
    path = tmp_path / "r.json"

    class Stopped(Told):
        def starts(self, name):
            super().starts(name)
            if len(self.started) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan(path, case(8), case(16)), CountedMachine(), results(), Stopped())
    left = read(path)
    assert [row.workload for row in left.rows] == ["n-8"]
    assert left.unfinished == ("LayerNormFwdOp/n-16",)


def test_a_case_beyond_the_memory_is_reported(tmp_path):
    """It is not tried."""
    machine = CountedMachine(free=1000)
    (row,) = run(plan(tmp_path / "r.json", case(8)), machine, results(), Told()).rows
    assert row.status == "failed"
    assert "NotEnoughMemoryError" in row.detail


@pytest.mark.usefixtures("acme")
def test_a_later_call_off_the_plan_is_an_error():
    """The timed calls run by the plan of the first call, or not at all."""
    one = case(64)
    sets = input_sets(one, 2, seed=0)
    with torch.no_grad():
        subject = Subject.of(one, sets)
        torch.testing.assert_close(subject.function(*sets[0]), subject.result)
        subject.function(*sets[1])
        with pytest.raises(PlanError, match=r"n-64.*plan of the first"):
            subject.function(torch.randn(4, 64), *sets[0][1:])


@pytest.mark.usefixtures("acme")
def test_a_target_that_serves_the_op_is_an_error(monkeypatch):
    """What a target runs is not what selection says."""
    one = case(64)
    op = type(one.new_op())
    monkeypatch.setattr(Case, "new_op", lambda self: op((64,), target="acme"))
    with torch.no_grad(), pytest.raises(PlanError, match="target 'acme'"):
        Subject.of(one, input_sets(one, 1, seed=0))


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("builder", "status"),
    [
        pytest.param(lambda p, i: lambda x, w, b: x, "disagrees", id="other-values"),
        pytest.param(lambda p, i: lambda x, w, b: x.no_such(), "failed", id="raises"),
        pytest.param(lambda p, i: __import__("no_such_library"), "absent", id="not-installed"),
    ],
)
def test_a_peer_is_timed_only_when_it_agrees(builder, status):
    """Every other peer says why, and our op is timed beside nothing but the copy."""
    one = case(64)
    family = Family(others={"LayerNormFwdOp": {"peer": builder}})
    with torch.no_grad():
        contest = Contest.of(one, input_sets(one, 1, seed=0), family)
    (row,) = contest.rows
    assert row.status == status
    assert row.detail
    assert list(contest.launches()) == [OURS, COPY]


class Launched:
    """A kernel that holds what it compiled in attributes of these names, and keeps its calls."""

    def __init__(self, *names):
        self.launched, self.sizes, self.kind = [], {"size": 2}, int
        vars(self).update({name: self.compiled(name) for name in names})

    def compiled(self, name):
        """Return a compiled function that keeps what it was called with."""
        return lambda *arguments: self.launched.append((name, *arguments))


def test_the_bare_function_is_called_with_what_the_kernel_passes():
    """Ready buffers: the arguments of one run, used again; the kernel is left as it was."""
    kernel = Launched("_launch")
    before = kernel._launch
    (bare,) = bare_launches([kernel], lambda: kernel._launch(3, "buffer"))
    bare()
    assert kernel.launched == [("_launch", 3, "buffer")] * 2
    assert kernel._launch is before
    assert bare_launches([object()], lambda: None) == ()


def test_every_launch_of_a_call_is_bare():
    """A call of several compiled functions is all of them, in order, and a loop each time."""
    kernel = Launched("_summarise", "_launch")

    def call():
        kernel._summarise(1)
        kernel._launch(2)
        kernel._launch(3)

    bare = bare_launches([kernel], call)
    kernel.launched.clear()
    for launch in bare:
        launch()
    assert kernel.launched == [("_summarise", 1), ("_launch", 2), ("_launch", 3)]


def test_the_bare_function_is_found_among_several():
    """A kernel that compiled one for every size binds the one of its call."""
    kernel = Launched()
    kernel._launches = {size: kernel.compiled(size) for size in (1, 2)}
    before = kernel._launches
    (bare,) = bare_launches([kernel], lambda: kernel._launches[2]("x"))
    bare()
    assert kernel.launched == [(2, "x")] * 2
    assert kernel._launches is before


def test_the_bare_function_of_a_program_is_found():
    """A kernel may leave binding to a program that holds what is compiled."""

    class Program(Launched):
        def bind(self, x):
            return self._launch

    kernel = Launched()
    kernel._program = Program("_launch")
    (bare,) = bare_launches([kernel], lambda: kernel._program.bind(3)(3))
    bare()
    assert kernel._program.launched == [("_launch", 3)] * 2
