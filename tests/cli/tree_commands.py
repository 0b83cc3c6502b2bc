"""Runs command lines with the tileops of other source trees: a job a line in, its results out.

A job is JSON: the folder that tileops is imported from, the working directory and the command
lines; and whether to run, in turn, the explain commands that these print. What every tree needs,
torch above all, is imported once; a forked child serves each job.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import torch  # noqa: F401
import typer  # noqa: F401
import yaml  # noqa: F401
import z3  # noqa: F401


def run(words: list[str]) -> dict[str, Any]:
    """Return what one command line writes, and its exit code."""
    from tileops.cli import main

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            return {"code": ended.code, "out": out.getvalue(), "err": err.getvalue()}
    raise AssertionError("main() ends by exiting")


def serve(job: dict[str, Any]) -> None:
    """Answer a job on stdout."""
    sys.path.insert(0, job["root"])
    os.chdir(job["cwd"])
    if job["index"]:
        from tileops.cli import _index

        path = os.path.join(os.path.dirname(_index.__file__), _index.FILE)
        with open(path, "w", encoding="utf-8") as file:
            file.write(_index.build())
    answers = [run(shlex.split(line)[1:]) for line in job["commands"]]
    printed = {line.strip() for one in answers for line in one["out"].splitlines()}
    pasted = sorted(line for line in printed if line.startswith("tileops explain"))
    replayed = {line: run(shlex.split(line)[1:]) for line in pasted if job["replay"]}
    print(json.dumps({"answers": answers, "replayed": replayed}), flush=True)


if __name__ == "__main__":
    # Sources are edited faster than the time stamps of byte code tell.
    sys.dont_write_bytecode = True
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            serve(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"a job ended with status {status}")
