"""Joining results files: everything is kept, and what cannot be one result is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from harness.cli import app
from harness.merge import DifferentRunsError, RepeatedWorkloadError, merged
from harness.page import page
from harness.record import Ceilings, HostRow, Settings
from harness.store import read, write
from samples import results, row
from typer.testing import CliRunner

NORM, GEMM = Path("norm.json"), Path("gemm.json")
PRODUCT = row("square", 50.0, op="GemmFwdOp", family="gemm")
FAST = Ceilings(copy_tbs=4.2, read_tbs=4.3, gemm_tflops=800.0)


def settings(**facts):
    """The settings of the samples, but for some."""
    return msgspec.structs.replace(results().settings, **facts)


def test_everything_is_kept():
    """Rows, host times and peers of both; the earlier start; each run's ceilings with its ops."""
    hosts = [HostRow(op=op, workload="w", us={"op": us}) for op, us in (("A", 4.0), ("B", 5.0))]
    one = merged(
        {
            NORM: results(row("w"), hosts=(hosts[0],), unfinished=("GemmFwdOp/square", "A/late")),
            GEMM: results(
                PRODUCT,
                hosts=(hosts[1],),
                created="2026-01-01T00:00:00+00:00",
                settings=settings(peers=("compile", "torch")),
                ceilings=FAST,
                unfinished=("A/late",),
            ),
        }
    )
    assert one.rows == (row("w"), PRODUCT)
    assert one.hosts == tuple(hosts)
    assert one.settings.peers == ("torch", "compile")
    assert one.created == "2026-01-01T00:00:00+00:00"
    # What one run did not reach and another one timed is finished.
    assert one.unfinished == ("A/late",)
    assert [(part.ops, part.ceilings) for part in one.parts] == [
        (("LayerNormFwdOp",), results().ceilings),
        (("GemmFwdOp",), FAST),
    ]


def test_joined_files_join_again():
    """The parts of a joined file stay parts."""
    two = merged({NORM: results(row("w")), GEMM: results(PRODUCT)})
    three = merged({Path("two.json"): two, Path("c.json"): results(row("x", op="C"))})
    assert [part.ops for part in three.parts] == [("LayerNormFwdOp",), ("GemmFwdOp",), ("C",)]


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        pytest.param("schemas", {"schema": "tileops.benchmark/1.0"}, id="schema"),
        pytest.param("commits", {"commit": "f00"}, id="commit"),
        pytest.param("commits", {"commit": None}, id="no-commit"),
        pytest.param(
            "boards",
            {"board": msgspec.structs.replace(results().board, name="NVIDIA H100")},
            id="board",
        ),
        pytest.param("versions", {"versions": {"torch": "2.11.0"}}, id="versions"),
        pytest.param(
            "settings",
            {"settings": Settings(quick=True, seed=0, repetitions=5, cold_bytes=1, peers=())},
            id="settings",
        ),
    ],
)
def test_runs_under_other_conditions_are_refused(what, facts):
    """The error names both files and what differs."""
    with pytest.raises(DifferentRunsError, match=rf"norm.json and gemm.json: their {what}") as got:
        merged({NORM: results(row("w")), GEMM: results(PRODUCT, **facts)})
    assert got.value.what == what
    assert got.value.paths == (NORM, GEMM)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        pytest.param(
            {
                "board": msgspec.structs.replace(
                    results().board, name="NVIDIA H100", memory_bytes=2**36
                )
            },
            "their boards differ, name NVIDIA H200 and name NVIDIA H100;",
            id="board",
        ),
        pytest.param(
            {"versions": {"torch": "2.11.0", "triton": "3.5"}},
            "their versions differ, tilelang 0.1.15, triton none and tilelang none, triton 3.5;",
            id="versions",
        ),
        pytest.param(
            {"settings": settings(seed=7, peers=("other",))},
            "their settings differ, seed 0 and seed 7;",
            id="settings",
        ),
        pytest.param(
            {"commit": None},
            "their commits differ, 0123456789abcdef and none;",
            id="commit",
        ),
    ],
)
def test_only_what_differs_is_said(facts, said):
    """The members that differ have the values of the files; the others are left out."""
    with pytest.raises(DifferentRunsError) as got:
        merged({NORM: results(row("w")), GEMM: results(PRODUCT, **facts)})
    assert said in str(got.value)


def test_what_does_not_make_runs_differ():
    """Two boards of a kind may report other amounts of memory, and ops have their own peers."""
    board = msgspec.structs.replace(results().board, memory_bytes=1)
    other = results(PRODUCT, board=board, settings=settings(peers=("liger",)))
    assert len(merged({NORM: results(row("w")), GEMM: other}).rows) == 2


def test_a_workload_with_two_results_is_refused():
    """The same row twice is one; another figure for it is an error that names it."""
    same = merged({NORM: results(row("w")), GEMM: results(row("w"), PRODUCT)})
    assert same.rows == (row("w"), PRODUCT)
    with pytest.raises(RepeatedWorkloadError, match="both hold LayerNormFwdOp/w") as got:
        merged({NORM: results(row("w")), GEMM: results(row("w", 101.0))})
    assert (got.value.name, got.value.paths) == ("LayerNormFwdOp/w", (NORM, GEMM))


def test_two_host_times_of_a_workload_are_refused():
    """They are figures like any other."""
    times = [HostRow(op="A", workload="w", us={"op": us}) for us in (4.0, 5.0)]
    with pytest.raises(RepeatedWorkloadError, match="A/w"):
        merged({NORM: results(hosts=times[:1]), GEMM: results(hosts=times[1:])})


def test_host_times_measured_alone_win():
    """In any order, where they were measured; other ops, and ops that failed, keep theirs."""
    beside = [HostRow(op=op, workload="w", us={"op": 9.0}) for op in ("A", "B", "C")]
    alone = [
        HostRow(op="A", workload="w", us={"op": 5.0}, over=1.0, new_size=30.0),
        HostRow(op="B", workload="w", us={}, detail="no kernel"),
    ]
    timed = results(row("w"), hosts=tuple(beside))
    hosts = results(hosts=tuple(alone), ceilings=None, settings=settings(hosts_only=True))
    for one in (
        merged({NORM: timed, GEMM: hosts}),
        merged({GEMM: hosts, NORM: timed}),
    ):
        assert {host.op: host for host in one.hosts} == {
            "A": alone[0], "B": beside[1], "C": beside[2],
        }  # fmt: skip
        assert one.ceilings == timed.ceilings
        assert not one.settings.hosts_only
        assert {part.hosts for part in one.parts} == {("A", "B", "C"), ("A", "B")}
        assert "copy 4.00" in page([one])


def test_two_runs_of_host_times_alone_are_one():
    """What one measured the other may not have measured too; the file stays one of host times."""
    times = [HostRow(op="A", workload="w", us={"op": us}) for us in (4.0, 5.0)]
    facts = {"ceilings": None, "settings": settings(hosts_only=True)}
    other = HostRow(op="B", workload="w", us={"op": 4.0})
    both = merged({NORM: results(hosts=times[:1], **facts), GEMM: results(hosts=(other,), **facts)})
    assert both.hosts == (times[0], other)
    assert both.settings.hosts_only
    assert both.ceilings is None
    with pytest.raises(RepeatedWorkloadError, match="A/w"):
        merged({NORM: results(hosts=times[:1], **facts), GEMM: results(hosts=times[1:], **facts)})


def test_the_page_states_the_ceilings_of_every_part():
    """A row's roofline is that of the board it ran on."""
    text = page([merged({NORM: results(row("w")), GEMM: results(PRODUCT, ceilings=FAST)})])
    assert "* LayerNormFwdOp: copy 4.00 TB/s, read 4.10 TB/s" in text
    assert "* GemmFwdOp: copy 4.20 TB/s, read 4.30 TB/s, bf16 matrix product 800 TFLOP/s." in text


def test_the_command_joins_files(tmp_path):
    """The first argument is written; refusals are left to `main`, which makes them exit code 2."""
    one, two, out = (tmp_path / name for name in ("a.json", "b.json", "all.json"))
    write(results(row("w")), one)
    write(results(PRODUCT), two)
    done = CliRunner().invoke(app, ["merge", str(out), str(one), str(two)])
    assert done.exit_code == 0
    assert done.stdout == f"2 workloads of 2 files; written to {out}\n"
    assert read(out).rows == (row("w"), PRODUCT)
