"""``tileops doctor`` as a command: its text, its JSON, its schema and its exit codes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import jsonschema
import pytest

GOOD = """
from tileops.backend import *

def build(*specs, **params):
    return None

register_kernel_builder("LayerNormFwdOp", "named", build)
register_detector("claiming", lambda device: device.type == "cpu")
register_detector("waiting", lambda device: device.type == "xpu")
register_device_facts("cpu", lambda device: DeviceFacts(sm_count=77))
"""

BAD = """
from tileops.backend import register_detector

def connect():
    raise OSError("no driver")

register_detector("half", lambda device: True)
connect()
"""


@pytest.fixture(scope="module")
def doctor(tmp_path_factory):
    """Run the command in a process where the given backends are installed."""

    def run(*options, **backends):
        folder = tmp_path_factory.mktemp("site")
        for name, source in backends.items():
            (folder / f"doctor_{name}.py").write_text(source)
            info = folder / f"doctor_{name}-2.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: doctor-{name}\nVersion: 2.5\n"
            )
            (info / "entry_points.txt").write_text(f"[tileops.backends]\n{name} = doctor_{name}\n")
        paths = [str(folder), *filter(None, sys.path)]
        done = subprocess.run(
            [sys.executable, "-m", "tileops", "doctor", *options],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TILELANG_CACHE_DIR": "none"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done, folder

    return run


@pytest.fixture(scope="module")
def schema(doctor):
    """The schema that the command prints."""
    done, _ = doctor("--schema")
    assert done.returncode == 0
    made = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(made)
    return made


@pytest.fixture(scope="module")
def healthy(doctor):
    """The JSON report of an installation with one backend that loads."""
    done, _ = doctor("--format", "json", good=GOOD)
    assert done.returncode == 0
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def unhealthy(doctor):
    """The JSON report with a backend that fails beside it, and the folder they lie in."""
    done, folder = doctor("--format", "json", good=GOOD, bad=BAD)
    assert done.returncode == 1
    return json.loads(done.stdout), folder


@pytest.mark.parametrize("which", ["healthy", "unhealthy"])
def test_reports_match_the_schema(schema, healthy, unhealthy, which):
    """Both reports validate, and name the schema they follow."""
    report = healthy if which == "healthy" else unhealthy[0]
    jsonschema.validate(report, schema)
    assert report["schema"] == schema["$id"] == "tileops.doctor/1.0"
    assert report["healthy"] is (which == "healthy")


@pytest.mark.parametrize("member", ["schema", "healthy", "targets", "loaded", "failures"])
def test_the_schema_requires_what_it_describes(schema, healthy, member):
    """A report that lacks a member does not validate."""
    less = {name: value for name, value in healthy.items() if name != member}
    with pytest.raises(jsonschema.ValidationError, match=member):
        jsonschema.validate(less, schema)


def test_versions(healthy):
    """Those of the interpreter and of the distributions that matter, None where absent."""
    assert healthy["python"] == platform.python_version()
    assert healthy["packages"]["torch"].startswith("2.")
    assert {"tileops", "tilelang", "z3-solver"} <= healthy["packages"].keys()


def test_every_target_is_listed(healthy):
    """Also one without a detector, which only its name selects, and one that claims nothing."""
    owner = ["doctor-good 2.5"]
    assert healthy["targets"] == [
        {"target": "claiming", "registered_by": owner, "ops": [], "claims": ["cpu"]}
        | {"problem": None},
        {"target": "named", "registered_by": owner, "ops": ["LayerNormFwdOp"], "claims": None}
        | {"problem": None},
        {"target": "waiting", "registered_by": owner, "ops": [], "claims": []} | {"problem": None},
    ]


def test_what_a_backend_registered(healthy):
    """Entry points that loaded, and who registered what."""
    assert healthy["loaded"] == [
        {"name": "good", "value": "doctor_good", "distribution": "doctor-good 2.5"}
    ]
    assert healthy["failures"] == []
    assert healthy["backends"] == [
        {
            "registered_by": "doctor-good 2.5",
            "kernels": [],
            "builders": ["LayerNormFwdOp: named"],
            "detectors": ["claiming", "waiting"],
            "device_facts": ["cpu"],
        }
    ]
    (cpu, *_) = healthy["devices"]
    assert (cpu["device"], cpu["facts"]["sm_count"], cpu["problem"]) == ("cpu", 77, None)


def test_a_failing_entry_point_has_its_traceback(unhealthy):
    """With error and source line, and files named from the root they are imported from."""
    report, folder = unhealthy
    (failure,) = report["failures"]
    assert (failure["name"], failure["value"]) == ("bad", "doctor_bad")
    assert failure["distribution"] == "doctor-bad 2.5"
    assert failure["error"] == "OSError('no driver')"
    assert 'File "doctor_bad.py", line 8, in <module>' in failure["traceback"]
    assert failure["traceback"].endswith("OSError: no driver\n")
    assert str(folder) not in failure["traceback"]
    assert [one["target"] for one in report["targets"]] == ["claiming", "named", "waiting"]


def test_text(doctor):
    """The same answer for people: one fact a line, and the traceback of what failed."""
    done, folder = doctor(good=GOOD, bad=BAD)
    assert done.returncode == 1
    lines = [line.strip() for line in done.stdout.splitlines()]
    words = [" ".join(line.split()) for line in lines]
    assert f"python {platform.python_version()}, {platform.system()} {platform.machine()}" in words
    assert "good loaded doctor_good (doctor-good 2.5)" in words
    assert "bad failed to load (doctor-bad 2.5): OSError('no driver')" in words
    assert "OSError: no driver" in words
    assert "named serves LayerNormFwdOp; selected by name" in words
    assert "claiming serves no op; claims cpu" in words
    assert "waiting serves no op; claims no device of this machine" in words
    assert "default none: the detectors choose" in words
    assert any(line.startswith("none 0 files, 0.0 MiB") for line in words)
    assert str(folder) not in done.stdout
    assert "\x1b" not in done.stdout


def test_text_without_backends(doctor):
    """A bare installation is healthy and says that nothing is installed."""
    done, _ = doctor()
    assert done.returncode == 0
    assert "no installed package has an entry point in tileops.backends" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--format", "yaml"], id="format"),
        pytest.param(["LayerNormFwdOp"], id="argument"),
        pytest.param(["--formt", "json"], id="option"),
    ],
)
def test_usage(options):
    """What cannot be asked is exit 2, on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "tileops", "doctor", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "rror" in done.stderr
