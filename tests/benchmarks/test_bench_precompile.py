"""What is compiled ahead, in which order, and what is known of what is not."""

from __future__ import annotations

import os
import time

import pytest
from harness.case import Case, cases_of, chosen_ops
from harness.peers import family_of, slow_peers
from harness.precompile import SHARES, Compiled, Task, precompile, tasks_of, unready

from tileops import manifest
from tileops.manifest import TypedShape, Workload

ENTRY = manifest.load()["LayerNormFwdOp"]


def case(n, rows, name):
    """Return a case of LayerNormFwdOp on the CPU."""
    inputs = {
        "input": TypedShape("float32", (rows, n)),
        "weight": TypedShape("float32", (n,)),
        "bias": TypedShape("float32", (n,)),
    }
    return Case.of(
        ENTRY, Workload(name=name, params={"normalized_shape": (n,)}, inputs=inputs), "cpu"
    )


CASES = (case(64, 5, "a"), case(64, 3, "b"), case(65, 3, "c"))


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        pytest.param((), [("b", ""), ("c", "")], id="ours-once-a-call-spec"),
        pytest.param(
            ("torch", "compile"),
            [("b", ""), ("c", ""), ("a", "compile"), ("b", "compile"), ("c", "compile")],
            id="then-the-peer-every-case",
        ),
    ],
)
def test_programs_compile_once_per_call_spec(peers, expected):
    """Two numbers of rows are one program of ours, for the smaller, and two of torch.compile."""
    tasks = tasks_of(CASES, peers, "cpu")
    assert [(one.workload, one.peer) for one in tasks] == expected
    assert tasks[0].serves == ("LayerNormFwdOp/a", "LayerNormFwdOp/b")


def test_a_tuned_peer_compiles_in_shares():
    """Lengths are compiled alike, the smallest of them; other heads, and a state, are not."""
    cases = cases_of(chosen_ops(["GLAFwdOp"]), "cuda", "*heads-16-128*")
    tasks = tasks_of(cases, ("fla-chunk", "fla-recurrent"), "cuda")
    tuned = [one for one in tasks if one.peer]
    assert list(tasks[-len(tuned) :]) == tuned
    assert {one.peer for one in tuned} == {"fla-chunk"}
    smallest = ["prefill-2048-heads-16-128", "continued-1000-heads-16-128-f16"]
    expected = [(name, share) for name in smallest for share in range(SHARES)]
    assert [(one.workload, one.share) for one in tuned] == expected
    assert len(tuned[0].serves) == 5
    assert not any(one.peer for one in tasks_of(cases, (), "cuda"))


def test_a_case_whose_peer_is_not_compiled_is_known():
    """All shares count, for every case that they serve; an error counts as compiled."""
    ours = Task("O", "a", False, "cpu", serves=("O/a",))
    shares = [Task("O", "a", False, "cpu", "fla", ("O/a", "O/b"), share) for share in (0, 1)]
    compiled = Task("O", "a", False, "cpu", "compile", ("O/a",))
    tasks = (ours, compiled, *shares)
    done = [Compiled(compiled, 1.0, "an error"), Compiled(shares[0], 1.0)]
    assert unready(tasks, done) == {("O/a", "fla"), ("O/b", "fla")}
    assert unready(tasks, [*done, Compiled(shares[1], 1.0)]) == frozenset()


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """Keep what a test says of Triton's cache from the others."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def test_the_cache_of_triton_has_one_place(monkeypatch, tmp_path):
    """It is Triton's own default where nothing else is said, whatever torch.compile would set."""
    monkeypatch.delenv("TRITON_CACHE_DIR")
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    precompile(tasks_of(CASES[:1], (), "cpu"), 1, 0.0)
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / ".triton" / "cache")


def test_workers_say_what_does_not_compile():
    """No kernel of ours runs on a CPU; the error comes back with the task that met it."""
    cases = cases_of(chosen_ops(["LayerNormFwdOp"]), "cpu", "hidden-4096-*")
    tasks = tasks_of(cases, (), "cpu")
    done = precompile(tasks, 1, 120.0)
    assert [one.task for one in done] == list(tasks)
    for one in done:
        assert one.problem.startswith("OpNotAvailableError: LayerNormFwdOp")
        assert one.seconds > 0


def test_the_deadline_ends_the_workers():
    """What is unfinished is not waited for."""
    started = time.monotonic()
    assert precompile(tasks_of(CASES, (), "cpu"), 1, 0.0) == ()
    assert time.monotonic() - started < 10
    assert precompile((), 1, 0.0) == ()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        pytest.param("LayerNormFwdOp", ("compile",), id="compiled"),
        pytest.param("GLAFwdOp", ("fla-chunk",), id="tuned"),
        pytest.param("GQADenseFwdOp", (), id="none"),
    ],
)
def test_peers_that_take_long_to_compile(op, expected):
    """They are the peer of torch.compile and those that Triton tunes."""
    assert slow_peers(family_of(manifest.load()[op].family), op) == expected
