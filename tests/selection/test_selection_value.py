"""Selection, Verdict and SelectionTable as values: frozen, copied, pickled, reproduced."""

import dataclasses
import pickle
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from declared import PlainCall, candidate, table

from tileops.errors import AmbiguousDispatchError
from tileops.selection import IN_TREE, Candidate, Origin, SelectionTable, select


class Wide:
    """A candidate class that another process can import."""

    devices = frozenset({"cuda"})
    supported_archs = None
    general = False
    preferred_over = frozenset()

    @classmethod
    def refusal(cls, call):
        return None


class Narrow(Wide):
    pass


IN_ACME = Origin(module="acme.kernels")


def importable(origin=IN_ACME, op_origin=IN_TREE):
    """Return the ambiguous selection of two classes of this module."""
    keys = [Candidate("wide", Wide), Candidate("narrow", Narrow, origin)]
    return select(SelectionTable("PlainFwdOp", "plain", keys, op_origin), PlainCall())


@pytest.mark.parametrize(
    ("value", "field"),
    [
        pytest.param(importable(), "outcome", id="selection"),
        pytest.param(importable().verdicts[0], "stage", id="verdict"),
        pytest.param(importable().table, "candidates", id="table"),
        pytest.param(importable().table.candidates[0], "key", id="candidate"),
    ],
)
def test_values_are_frozen(value, field):
    """Readers share one value, so nobody can change it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)


def test_the_closure_cannot_be_changed():
    """The precedence of a table is read-only all the way down."""
    edges = table(candidate("a", over="b"), candidate("b")).precedence.edges
    with pytest.raises(TypeError):
        edges["b"] = {}
    with pytest.raises(TypeError):
        edges["a"]["c"] = None


def test_the_same_question_gives_an_equal_answer():
    """Selecting twice gives equal values."""
    assert importable() == importable()


def test_selection_survives_pickling():
    """A selection travels between processes, its precedence with it."""
    selection = importable()
    copy = pickle.loads(pickle.dumps(selection))
    assert copy == selection
    assert copy.table.precedence == selection.table.precedence


def test_command_states_op_interface_imports_and_every_fact():
    """The command names what to import for classes that are not in the tree, and every fact."""
    words = shlex.split(importable(op_origin=Origin(module="acme.ops")).command())
    assert words[:3] == ["tileops", "explain", "PlainFwdOp"]
    assert words[3:5] == ["--interface", "plain"]
    pairs = list(pairwise(words))
    assert ("--import", "acme.kernels") in pairs
    assert ("--import", "acme.ops") in pairs
    assert ("--n", "256") in pairs
    assert ("--arch", "90") in pairs


def test_command_imports_nothing_for_an_installed_backend():
    """What an entry point registers is there without an --import."""
    command = importable(Origin(distribution="acme 1.2")).command()
    assert "--import" not in command


@pytest.mark.parametrize(
    ("origin", "op_origin"),
    [
        pytest.param(Origin(module="__main__"), Origin(), id="class-of-a-script"),
        pytest.param(Origin(), Origin(module="__main__"), id="op-of-a-script"),
        pytest.param(Origin(), Origin(module="acme.ops", local=True), id="op-inside-a-function"),
    ],
)
def test_what_no_other_process_can_import_is_said(origin, op_origin):
    """There is no command for a script's classes, and the error says so instead."""
    selection = importable(origin, op_origin)
    assert selection.command() is None
    with pytest.raises(AmbiguousDispatchError) as caught:
        selection.winner()
    last = str(caught.value).splitlines()[-1]
    assert "cannot be reproduced" in last
    assert "tileops explain" not in last


def test_class_inside_a_function_has_no_command():
    """A class that a function makes cannot be imported either."""

    class Inside(Wide):
        pass

    made = SelectionTable("PlainFwdOp", "plain", [Candidate("inside", Inside)])
    assert select(made, PlainCall()).command() is None


def test_location_is_relative_to_the_import_root():
    """The place of a class is its file below the import root and the line of its statement."""
    location = Candidate("wide", Wide).location()
    lines = Path(__file__).read_text().splitlines()
    assert location.file == Path(__file__).name
    assert lines[location.line - 1] == "class Wide:"
    assert str(location) == f"{location.file}:{location.line}"


def test_location_inside_a_package():
    """Modules of packages keep their folders; no path of the machine appears."""
    location = Candidate("edge", SelectionTable).location()
    assert location.file == "tileops/selection/_table.py"


def test_location_of_a_class_without_source():
    """A class made at run time has no place."""
    assert Candidate("made", type("Made", (), {"__module__": "nowhere"})).location() is None


def test_engine_needs_no_torch():
    """tileops.selection is standard library only: torch and tilelang stay out of sys.modules."""
    code = (
        "import sys, tileops.selection; "
        "print(sorted({'torch', 'tilelang', 'z3', 'libcst', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
