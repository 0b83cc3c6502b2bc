"""The default registry in processes of its own: real metadata on the path, and no CUDA asked."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

ACME = """
from tileops.backend import register_detector, register_kernel_builder

print("acme is imported")

register_detector(target="acme", detect=lambda device: device.type == "cpu")

def build(input, weight, bias, *, normalized_shape, eps):
    return lambda input, weight, bias: input + 1

register_kernel_builder(op="LayerNormFwdOp", target="acme", build_kernel=build)
"""

# What a machine without a CUDA driver, or one whose driver must not be touched yet, looks like.
POISON = """
import torch

def poisoned(name):
    def ask(*args, **kwargs):
        raise AssertionError(f"torch.{name} was asked")
    return ask

for name in ("is_available", "init", "_lazy_init", "device_count", "current_device", "device",
             "get_device_properties", "get_device_capability", "get_device_name"):
    setattr(torch.cuda, name, poisoned(f"cuda.{name}"))
for name in ("current_accelerator", "is_available", "device_count", "current_device_index"):
    setattr(torch.accelerator, name, poisoned(f"accelerator.{name}"))
"""


@pytest.fixture
def install(tmp_path):
    """Install a backend into a folder of its own and run code in a process that sees it."""

    def install(source):
        (tmp_path / "tileops_probe_backend.py").write_text(source)
        info = tmp_path / "probe_backend-4.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-backend\nVersion: 4.2\n")
        (info / "entry_points.txt").write_text(
            "[tileops.backends]\nprobe = tileops_probe_backend\n"
        )

    def run(code, *options):
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, *options, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    install.run = run
    return install


def test_a_backend_is_imported_when_the_first_op_is_constructed(install):
    """Importing the package, or its ops, imports no backend."""
    install(ACME)
    done = install.run(
        """
        import torch, tileops.backend
        from tileops import LayerNormFwdOp
        print("imported")
        op = LayerNormFwdOp(4)
        print("constructed")
        print(op(torch.zeros(2, 4)).tolist(), op.serving_target)
        """
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "imported",
        "acme is imported",
        "constructed",
        "[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]] acme",
    ]


def test_a_failing_backend_is_a_warning_and_a_record(install):
    """The library works on, and load_failures has the record with its traceback."""
    install(ACME + "\nimport sys\nsys.exit('licence expired')")
    done = install.run(
        """
        from tileops import LayerNormFwdOp
        from tileops.backend import load_failures, registered_targets
        op = LayerNormFwdOp(4)
        (failure,) = load_failures()
        print(failure.name, failure.value, failure.distribution, repr(failure.error))
        print("sys.exit('licence expired')" in failure.traceback, registered_targets())
        print(op.key_for("layer_norm", op.interfaces["layer_norm"].request(n=4, arch=90)))
        """
    )
    assert done.stdout.splitlines() == [
        "acme is imported",
        "probe tileops_probe_backend probe-backend 4.2 SystemExit('licence expired')",
        "True ()",
        "layer_norm",
    ]
    assert done.stderr.count("RuntimeWarning") == 1
    assert "'probe' (probe-backend 4.2) failed to load" in done.stderr


@pytest.mark.parametrize("ask", ["load_failures()", "registered_targets()"])
def test_asking_what_is_installed_loads_it(install, ask):
    """The two questions load the backends by themselves."""
    install(ACME)
    done = install.run(f"from tileops.backend import *\nprint({ask})")
    assert done.stdout.splitlines() == [
        "acme is imported",
        {"load_failures()": "()", "registered_targets()": "('acme',)"}[ask],
    ]


@pytest.mark.parametrize(
    ("argument", "serving"),
    [
        pytest.param("None", "acme", id="detector"),
        pytest.param("'acme'", "acme", id="argument"),
    ],
)
def test_no_hardware_is_queried_before_a_target_serves(install, argument, serving):
    """A vendor's builder is reached on a machine where every question to CUDA fails."""
    install(ACME)
    done = install.run(
        f"""
        {textwrap.indent(POISON, " " * 8).strip()}
        from tileops import LayerNormFwdOp
        op = LayerNormFwdOp(4, target={argument})
        for rows in (2, 3):
            op(torch.zeros(rows, 4))
        print(op.serving_target, torch.cuda.is_initialized())
        """
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["acme is imported", f"{serving} False"]


def test_an_added_kernel_queries_no_cuda_either(install):
    """Selecting and running an implementation for the CPU asks nothing of CUDA."""
    install(
        """
from tileops.backend import Kernel, register_kernel_type
from tileops.kernels.norm.call_spec import LayerNormFwdInterface

class OnCpu(Kernel, LayerNormFwdInterface):
    devices = frozenset({"cpu"})

    def forward(self, x, weight, bias):
        return x + 1

register_kernel_type("LayerNormFwdOp", "on_cpu", OnCpu)
"""
    )
    done = install.run(
        f"""
        {textwrap.indent(POISON, " " * 8).strip()}
        from tileops import LayerNormFwdOp
        op = LayerNormFwdOp(4)
        print(op(torch.zeros(1, 4)).tolist(), op.serving_target, torch.cuda.is_initialized())
        """
    )
    assert done.stderr == ""
    assert done.stdout == "[[1.0, 1.0, 1.0, 1.0]] builtin False\n"
