"""The command at the end of an error shows the same outcome when it is pasted into a shell."""

from __future__ import annotations

import json
import sys
from importlib import import_module

import pytest

from tileops import LayerNormFwdOp
from tileops.errors import (
    AmbiguousDispatchError,
    DefectiveRefusalError,
    OpNotAvailableError,
    SelectionError,
    UnservedCallError,
)
from tileops.kernels.norm.call_spec import LayerNormCall, LayerNormFwdInterface

HEAD = "Reproduce it with: "


def failure(op, interface, call):
    """Return the error of a call that selects nothing."""
    with pytest.raises(SelectionError) as raised:
        op.key_for(interface, call)
    return raised.value


def pasted(shell, error):
    """Run the command on the error's last line; return the only group of its answer."""
    last = str(error).splitlines()[-1]
    assert last.startswith(f"{HEAD}tileops explain ")
    result = shell(f"{last.removeprefix(HEAD)} --format json")
    assert result.code == 1, result.err
    (interface,) = json.loads(result.out)["interfaces"]
    (group,) = interface["groups"]
    assert {name for name, fact in interface["facts"].items() if fact["default"]} == set()
    return group


def verdicts(group):
    """Return key, stage and reason of every verdict in a document."""
    return [(one["key"], one["stage"], one["reason"]) for one in group["verdicts"]]


def expected(error):
    """Return the same of the selection that an error carries."""
    return [(one.key, one.stage.value, one.reason) for one in error.selection.verdicts]


@pytest.mark.parametrize(
    ("call", "kind", "outcome"),
    [
        pytest.param(
            LayerNormCall(n=256, eps=1e-6, device="cpu"),
            OpNotAvailableError,
            "no_device",
            id="row-6",
        ),
        pytest.param(
            LayerNormCall(n=257, arch=100, sm_count=7, smem_budget=9),
            UnservedCallError,
            "unserved",
            id="row-7",
        ),
    ],
)
def test_an_in_tree_failure_is_reproduced(shell, call, kind, outcome):
    """Every fact is stated, so another process comes to the same verdicts."""
    error = failure(LayerNormFwdOp((256,)), "layer_norm", call)

    group = pasted(shell, error)

    assert type(error) is kind
    assert group["outcome"] == outcome
    assert verdicts(group) == expected(error)


@pytest.mark.usefixtures("no_gpu")
def test_a_machine_without_accelerator_is_reproduced(shell):
    """Row 6 for want of a device names it, so that another machine's GPU does not answer."""
    error = failure(LayerNormFwdOp((256,)), "layer_norm", LayerNormCall(n=256))

    assert type(error) is OpNotAvailableError
    assert pasted(shell, error)["outcome"] == "no_device"


@pytest.mark.parametrize(
    ("interface", "spec", "facts", "kind", "outcome"),
    [
        pytest.param(
            "split", "SplitCall", {"parts": 5}, AmbiguousDispatchError, "ambiguous", id="row-8"
        ),
        pytest.param("blend", "BlendCall", {}, DefectiveRefusalError, "defective", id="defect"),
    ],
)
@pytest.mark.usefixtures("cli")
def test_a_failure_of_another_package_is_reproduced(shell, interface, spec, facts, kind, outcome):
    """The command imports the module that defines the op."""
    acme = import_module("acme_blend")
    call = getattr(acme, spec)(n=666, arch=90, **facts)

    error = failure(acme.BlendFwdOp(), interface, call)
    group = pasted(shell, error)

    assert type(error) is kind
    assert "--import acme_blend" in str(error)
    assert group["outcome"] == outcome
    assert verdicts(group) == expected(error)


@pytest.mark.usefixtures("cli")
def test_a_registered_rival_is_reproduced(shell):
    """Row 8 in an in-tree op: the command imports the module that registered the rival."""
    import_module("acme_rival")
    error = failure(LayerNormFwdOp((8,)), "layer_norm", LayerNormCall(n=8, arch=90))

    group = pasted(shell, error)

    assert "--import acme_rival" in str(error)
    assert verdicts(group) == [("layer_norm", "tied", None), ("acme_rival", "tied", None)]


def test_classes_that_no_process_can_import_are_not_promised(shell):
    """A class inside a function is out of reach of a shell, and the error says so."""

    class LocalKernel(LayerNormFwdOp.kernel_types["layer_norm"]):
        def forward(self, x, weight, bias):
            return x

    class LocalOp(LayerNormFwdOp):
        kernel_types = {"local": LocalKernel}
        interfaces = {"layer_norm": LayerNormFwdInterface}

    error = failure(LocalOp((8,)), "layer_norm", LayerNormCall(n=8, arch=100))

    last = str(error).splitlines()[-1]
    assert last.startswith("This cannot be reproduced from a shell")
    assert "tileops explain" not in last


def test_classes_of_a_script_are_not_promised(shell, tmp_path):
    """The same for a class of the script that runs."""
    (tmp_path / "script.py").write_text(
        "from acme_blend import BlendFwdOp, SplitCall\n"
        "class ScriptOp(BlendFwdOp): pass\n"
        "ScriptOp().key_for('split', SplitCall(n=9, parts=9, arch=90))\n"
    )

    result = shell(f"PYTHONPATH=$PYTHONPATH:. {sys.executable} {tmp_path / 'script.py'}")

    assert result.code == 1
    assert "dispatch is ambiguous" in result.err
    assert result.err.splitlines()[-1].startswith("This cannot be reproduced from a shell")
