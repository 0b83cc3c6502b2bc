"""The command line of the harness: run, list, merge, page, schema, and ``--compare OLD NEW``."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import msgspec
import torch
import typer

from harness.board import board_of, commit_of, versions
from harness.case import Case, UnknownOpError, cases_of, chosen_ops, smallest_of
from harness.ceilings import measure_ceilings
from harness.compare import compare
from harness.console import RunConsole, print_comparison
from harness.docs_page import DOCS, ROOT, committed_results, stale_files, write_page
from harness.host_run import run_hosts
from harness.machine import CudaMachine
from harness.merge import DifferentRunsError, RepeatedWorkloadError, merged
from harness.plots import MissingMatplotlibError
from harness.precompile import precompile, tasks_of, unready
from harness.record import Ceilings, Results, Settings, json_schema
from harness.session import Plan, run
from harness.store import ResultsFileError, UnwrittenResultsError, prepare, read, write
from harness.timing import FULL, QUICK, Effort

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

Names = Annotated[
    list[str] | None, typer.Argument(help="Ops or families; every op when there are none.")
]
Only = Annotated[str, typer.Option(help="Pattern of 'workload' or 'op/workload'.")]
Sweep = Annotated[bool, typer.Option(help="Add the points of the families' sweeps.")]

HOST_CALLS = 40
"""Calls between two readings of the host's clock: so few that a core hardly changes its speed
meanwhile, and that the queue of the device, which holds a thousand launches, takes them all."""

PRECOMPILE_SHARE = 0.5
"""Of the budget, what compilation ahead of timing may take."""


ERRORS = (
    DifferentRunsError,
    MissingMatplotlibError,
    RepeatedWorkloadError,
    ResultsFileError,
    UnknownOpError,
    UnwrittenResultsError,
)
"""What a question can be at fault for."""


def main() -> None:
    """Run the command line; an error of the question is exit code 2, and a sentence."""
    try:
        app()
    except ERRORS as error:
        typer.echo(f"error: {error.args[0]}", err=True)
        raise SystemExit(2) from error


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    runs: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="OLD NEW", help="Compare two results files."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, help="Relative change that --compare takes for noise.")
    ] = 0.05,
) -> None:
    """Benchmark the public ops next to their peers.

    --compare exits with 1 when a workload became slower, failed or is gone.
    """
    if runs is None:
        return
    if context.invoked_subcommand is not None:
        raise typer.BadParameter("--compare stands alone, without a command")
    if not math.isfinite(threshold):
        raise typer.BadParameter(f"--threshold takes a finite number, got {threshold}")
    comparison = compare(read(runs[0]), read(runs[1]), threshold)
    print_comparison(comparison)
    raise typer.Exit(1 if comparison.worse else 0)


@app.command("list")
def list_cases(names: Names = None, only: Only = "*", sweep: Sweep = False) -> None:
    """List the cases with their traffic and operations; needs no GPU."""
    for case in cases_of(chosen_ops(names or []), "cuda", only, sweep):
        megabytes, gigaflops = case.cost.bytes / 1e6, case.cost.flops / 1e9
        typer.echo(f"{case.name}  {megabytes:.3f} MB  {gigaflops:.3f} GFLOP")


@app.command("run")
def run_cases(
    names: Names = None,
    out: Annotated[Path, typer.Option(help="The results file.")] = Path("results.json"),
    only: Only = "*",
    sweep: Sweep = False,
    quick: Annotated[bool, typer.Option(help="Fewer and shorter samples.")] = False,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Seconds, compilation and all; the rest is unfinished.")
    ] = 3600.0,
    peers: Annotated[
        str, typer.Option(help="Comma-separated patterns of peers; '' runs none.")
    ] = "*",
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes that compile ahead; 0 compiles as it runs.")
    ] = 12,
    seed: int = 0,
    commit: Annotated[str | None, typer.Option(help="The commit, where git is not.")] = None,
    hosts_only: Annotated[
        bool,
        typer.Option(
            "--hosts-only",
            help="Measure host times and nothing else, on a quiet machine; merge prefers them.",
        ),
    ] = False,
) -> None:
    """Time the ops on this machine's GPU and write the results as they come."""
    began = time.monotonic()
    if not torch.cuda.is_available():
        typer.echo("error: this machine has no CUDA device to time on", err=True)
        raise typer.Exit(2)
    device = torch.device("cuda", torch.cuda.current_device())
    cases = cases_of(chosen_ops(names or []), device, only, sweep)
    if not cases:
        typer.echo(f"error: no workload matches {only!r}; see the command list", err=True)
        raise typer.Exit(2)
    prepare(out)
    cases = smallest_of(cases) if hosts_only else cases
    wanted = _peers_of(cases, peers)
    slow = _slow(cases, wanted)
    quickly = tuple(name for name in wanted if name not in slow)
    wanted, later = (quickly, ()) if hosts_only else (wanted, slow)
    missing: frozenset[tuple[str, str]] = frozenset()
    if jobs:
        missing = _compile_ahead(cases, wanted, str(device), jobs, budget * PRECOMPILE_SHARE)
    results = _start(device, quick, seed, wanted, commit, hosts_only)
    effort = QUICK if quick else FULL
    plan = Plan(cases, effort, HOST_CALLS, out, began + budget, quickly, later, missing)
    with RunConsole(len(cases) * (2 if later else 1), rows=not hosts_only) as console:
        results = (run_hosts if hosts_only else run)(plan, CudaMachine(device), results, console)
    done = [row.status == "timed" for row in results.rows]
    done = [bool(host.us) for host in results.hosts] if hosts_only else done
    _name_unfinished(results)
    typer.echo(
        f"{sum(done)} timed, {len(done) - sum(done)} failed, {len(results.unfinished)} "
        f"unfinished, {time.monotonic() - began:.0f} s; written to {out}"
    )
    raise typer.Exit(0 if sum(done) == len(cases) else 1)


@app.command("merge")
def merge_files(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    files: Annotated[
        list[Path], typer.Argument(help="Results of one commit, on boards of one kind.")
    ],
) -> None:
    """Join results files, such as those of runs on several boards of one machine."""
    results = merged({path: read(path) for path in files})
    write(results, out)
    typer.echo(f"{len(results.rows)} workloads of {len(files)} files; written to {out}")


@app.command("page")
def page_of_docs(
    check: Annotated[bool, typer.Option("--check", help="Only say whether it is stale.")] = False,
) -> None:
    """Generate the docs page and its plots from the committed results."""
    results = committed_results()
    if check:
        stale = stale_files(results)
        for path in stale:
            typer.echo(f"stale: {path.relative_to(DOCS.parent)}; run the command page")
        raise typer.Exit(1 if stale else 0)
    if not results:
        typer.echo("error: there are no committed results to make a page of", err=True)
        raise typer.Exit(2)
    for path in write_page(results):
        typer.echo(path.relative_to(DOCS.parent))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of a results file."""
    typer.echo(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2))


def _peers_of(cases: tuple[Case, ...], patterns: str) -> tuple[str, ...]:
    from harness.peers import family_of, peers_of

    known = dict.fromkeys(
        name for case in cases for name in peers_of(family_of(case.entry.family), case.entry.name)
    )
    wanted = [one.strip() for one in patterns.split(",")]
    return tuple(name for name in known if any(fnmatch(name, one) for one in wanted))


def _slow(cases: tuple[Case, ...], peers: tuple[str, ...]) -> tuple[str, ...]:
    from harness.peers import family_of, slow_peers

    slow = {
        name for case in cases for name in slow_peers(family_of(case.entry.family), case.entry.name)
    }
    return tuple(name for name in peers if name in slow)


def _compile_ahead(
    cases: tuple[Case, ...], peers: tuple[str, ...], device: str, jobs: int, seconds: float
) -> frozenset[tuple[str, str]]:
    """Compile ahead, say what came of it, and return the slow peers that are not compiled."""
    began = time.monotonic()
    tasks = tasks_of(cases, peers, device)
    done = precompile(tasks, jobs, seconds)
    for one in done:
        if one.problem:
            typer.echo(f"{one.task.name} did not compile ahead: {one.problem}")
    finished = {one.task for one in done}
    for task in tasks:
        if task not in finished:
            typer.echo(f"{task.name} was not compiled ahead in {seconds:.0f} s")
    slowest = max(done, key=lambda one: one.seconds, default=None)
    typer.echo(
        f"compiled {len(done)} of {len(tasks)} ahead in {time.monotonic() - began:.0f} s"
        + (f"; the longest, {slowest.task.name}, took {slowest.seconds:.0f} s" if slowest else "")
    )
    return unready(tasks, done)


def _name_unfinished(results: Results) -> None:
    """Say which cases, and which peers of the others, the time did not reach."""
    for name in results.unfinished:
        typer.echo(f"unfinished: {name}")
    for row in results.rows:
        for peer in row.peers:
            if peer.status == "unfinished":
                typer.echo(f"unfinished: {row.op}/{row.workload} {peer.name}: {peer.detail}")


def _ceilings(machine: CudaMachine, device: torch.device, effort: Effort, seed: int) -> Ceilings:
    with machine.clock() as clock:
        ceilings = measure_ceilings(clock, device, effort, seed)
    machine.tidy()
    typer.echo(
        f"copy {ceilings.copy_tbs:.2f} TB/s, read {ceilings.read_tbs:.2f} TB/s, "
        f"bf16 matrix product {ceilings.gemm_tflops:.0f} TFLOP/s"
    )
    return ceilings


def _start(
    device: torch.device,
    quick: bool,
    seed: int,
    peers: tuple[str, ...],
    commit: str | None,
    hosts_only: bool,
) -> Results:
    """Return the results of a run that has measured its ceilings, if it needs them."""
    machine = CudaMachine(device)
    effort = QUICK if quick else FULL
    ceilings = None if hosts_only else _ceilings(machine, device, effort, seed)
    return Results(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit or commit_of(ROOT),
        settings=Settings(
            quick=quick,
            seed=seed,
            repetitions=effort.repetitions,
            cold_bytes=machine.cold_bytes,
            peers=peers,
            hosts_only=hosts_only,
        ),
        board=board_of(device),
        versions=versions(),
        ceilings=ceilings,
    )
