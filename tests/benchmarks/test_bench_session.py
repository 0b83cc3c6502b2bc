"""A run on a counted machine, with the template backend's kernel on the CPU."""

from __future__ import annotations

import pytest
import torch
from counted import CountedMachine
from harness.case import Case, cases_of, chosen_ops
from harness.contest import COPY, OURS, Contest
from harness.inputs import input_sets
from harness.peers import Family
from harness.precompile import SHARES, tasks_of
from harness.session import Plan, run
from harness.store import read
from harness.subject import PlanError, Subject, bare_launch
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
    assert told.hosts == [host]


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


def test_the_bare_function_is_called_with_what_the_kernel_passes():
    """Ready buffers: the arguments of one run, used again; the kernel is left as it was."""

    class Kernel:
        def __init__(self):
            self.launched = []
            self._launch = self.launch

        def launch(self, *arguments):
            self.launched.append(arguments)

        def forward(self, x):
            self._launch(x, "buffer")

    kernel = Kernel()
    before = kernel._launch
    bare = bare_launch(kernel, lambda: kernel.forward(3))
    bare()
    assert kernel.launched == [(3, "buffer"), (3, "buffer")]
    assert kernel._launch == before
    assert bare_launch(object(), lambda: None) is None


def test_the_bare_function_is_found_among_several():
    """A kernel that compiled one for every size binds the one of its call."""

    class Kernel:
        def __init__(self):
            self.launched = []
            self._launches = dict.fromkeys((1, 2), self.launch)

        def launch(self, *arguments):
            self.launched.append(arguments)

        def bind(self, size):
            launch = self._launches[size]
            return lambda x: launch(x, size)

    kernel = Kernel()
    before = kernel._launches
    bare = bare_launch(kernel, lambda: kernel.bind(2)(3))
    bare()
    assert kernel.launched == [(3, 2), (3, 2)]
    assert kernel._launches is before

    def twice():
        run = kernel.bind(1)
        run(3), run(4)

    assert bare_launch(kernel, twice) is None


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        pytest.param((), [("a", True), ("c", True)], id="ours-once-a-call-spec"),
        pytest.param(
            ("compile",), [("a", True), ("b", False), ("c", True)], id="the-peer-every-case"
        ),
    ],
)
def test_programs_compile_once_per_call_spec(peers, expected):
    """Two numbers of rows are one program of ours and two of torch.compile."""
    cases = (case(64, 3, "a"), case(64, 5, "b"), case(65, 3, "c"))
    tasks = tasks_of(cases, peers, "cpu")
    assert [(one.workload, one.ours) for one in tasks] == expected


def test_a_tuned_peer_compiles_in_shares():
    """Lengths are compiled alike, the smallest of them; other heads, and a state, are not."""
    cases = cases_of(chosen_ops(["GLAFwdOp"]), "cuda", "*heads-16-128*")
    tasks = tasks_of(cases, ("fla-chunk", "fla-recurrent"), "cuda")
    tuned = [one for one in tasks if one.tuned]
    assert {one.tuned for one in tuned} == {"fla-chunk"}
    assert not any(one.ours or one.peers for one in tuned)
    smallest = ["prefill-2048-heads-16-128", "continued-1000-heads-16-128-f16"]
    expected = [(name, share) for name in smallest for share in range(SHARES)]
    assert [(one.workload, one.share) for one in tuned] == expected
    assert not any(one.tuned for one in tasks_of(cases, (), "cuda"))
