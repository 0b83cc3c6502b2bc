"""The report of what tests tried, and the threshold that fails a run."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tileops
import tileops.testing._assertion
import tileops.testing._collector

pytest_plugins = ["pytester"]

TOY = Path(__file__).with_name("toy.py")
ROOT = Path(__file__).parents[2]
PLUGIN = "tileops.testing.plugin"

BOTH_SIDES = """
    from toy import ToyCall, ToyFwdOp
    from tileops.testing import assert_selects

    def test_widths():
        assert_selects(ToyFwdOp, "toy", ToyCall(device="cpu", n=256), "short")
        assert ToyFwdOp().key_for("toy", ToyCall(device="cpu", n=257)) == "general"
"""

MASK = """
    from toy import ToyCall, ToyFwdOp

    def test_mask():
        for causal in (False, True):
            ToyFwdOp().explain("toy", ToyCall(device="cpu", n=9, causal=causal))
"""

ONE_SIDE = """
    from toy import ToyCall, ToyFwdOp

    def test_widths():
        assert ToyFwdOp().key_for("toy", ToyCall(device="cpu", n=255)) == "short"
        assert ToyFwdOp().key_for("toy", ToyCall(device="cpu", n=257)) == "general"
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """Run the tests of a project that has the toy op."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    shutil.copy(TOY, pytester.path)
    pytester.syspathinsert()

    def run(*options, **modules):
        pytester.makepyfile(**{f"test_{name}": text for name, text in modules.items()})
        return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *options)

    return run


TOYS = ("--tileops-coverage-op", "toy:ToyFwdOp")


def test_everything_is_tried(project):
    """With both sides of every boundary the report is full, and a threshold of 100 holds."""
    result = project(*TOYS, "--tileops-coverage-fail-under", "100", widths=BOTH_SIDES, mask=MASK)
    assert result.ret == 0
    result.stdout.re_match_lines(
        [
            r"=+ tileops selection coverage =+",
            r"interface +calls +conditions +pairs",
            r"ToyFwdOp\.toy +4 +2/\d +2/2",
            r"boundary pairs tested on both sides: 2 of 2 \(100\.0 %\)",
        ]
    )


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        pytest.param(("--tileops-coverage",), 0, id="report-alone"),
        pytest.param(("--tileops-coverage-fail-under", "50"), 0, id="just-enough"),
        pytest.param(("--tileops-coverage-fail-under", "50.1"), 1, id="too-little"),
    ],
)
def test_a_side_is_missing(project, threshold, code):
    """A boundary with one side tested is named with a call of each side; a threshold may fail."""
    result = project(*TOYS, *threshold, widths=ONE_SIDE, mask=MASK)
    assert result.ret == code
    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines(
        [
            r"ToyFwdOp\.toy: not tested: short to general by n: "
            r"--n 256 --no-causal --device cpu.*, then n 257",
            r"boundary pairs tested on both sides: 1 of 2 \(50\.0 %\)",
        ]
    )
    failed = "FAIL: 50.0 % of the boundary pairs are tested on both sides, 50.1 % are required"
    assert (failed in result.stdout.str()) is bool(code)


def test_conditions_seen_one_way(project):
    """A condition that no call failed, or none met, is named with its key and line."""
    result = project(*TOYS, "--tileops-coverage", widths=BOTH_SIDES)
    result.stdout.re_match_lines(
        [r"ToyFwdOp\.toy: never failed: .*causal.* \(short at toy\.py:\d+\)"]
    )
    assert "never met" not in result.stdout.str()
    assert "n <= 256" not in result.stdout.str()


def test_no_report_unless_asked(project):
    """Without the options nothing is noted and nothing written."""
    result = project(*TOYS, widths=ONE_SIDE)
    assert result.ret == 0
    assert "selection coverage" not in result.stdout.str()
    result.stdout.fnmatch_lines(["--tileops-coverage-op reports nothing without *"])


def test_a_report_needs_no_remark(project):
    """Ops named for a report that is asked for are not remarked on."""
    result = project(*TOYS, "--tileops-coverage", widths=ONE_SIDE)
    assert "reports nothing" not in result.stdout.str()


@pytest.mark.parametrize("threshold", ["-0.1", "100.1", "nan", "inf"])
def test_a_threshold_that_is_no_percentage(project, threshold):
    """It is wrong usage; the ends, 0 and 100, are percentages."""
    option = f"--tileops-coverage-fail-under={threshold}"
    result = project(*TOYS, option, widths=ONE_SIDE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --tileops-coverage-fail-under takes a percentage, 0 to *"])


def test_untested_ops_count(project):
    """An op that no test asks about misses every boundary."""
    result = project(*TOYS, "--tileops-coverage-fail-under", "1", other="def test_it(): pass\n")
    assert result.ret == 1
    result.stdout.re_match_lines([r"ToyFwdOp\.toy +0 +0/\d +0/2"])


def test_failing_tests_stay_failing(project):
    """Full coverage does not make a failed run pass, and errors of usage keep their code."""
    text = BOTH_SIDES + "        assert False\n"
    result = project(*TOYS, "--tileops-coverage-fail-under", "0", widths=text)
    assert result.ret == 1


ALTERED = """
    from toy import General, Short, ToyCall, ToyFwdOp

    class Altered(ToyFwdOp):
        kernel_types = {"general": General, "other": Short}

    Altered.__name__ = "ToyFwdOp"

    def test_widths():
        for n in (256, 257):
            Altered().key_for("toy", ToyCall(device="cpu", n=n))
"""


def test_ops_that_tests_alter_do_not_count(project):
    """Calls of an op with other candidates say nothing of the op itself."""
    result = project(*TOYS, "--tileops-coverage", widths=ALTERED)
    result.stdout.re_match_lines([r"ToyFwdOp\.toy +0 +0/\d +0/2"])


def test_in_tree_ops_by_default(project):
    """Every interface of every op of the package is reported."""
    result = project("--tileops-coverage", other="def test_it(): pass\n")
    assert result.ret == 0
    result.stdout.re_match_lines([r"LayerNormFwdOp\.layer_norm +0 "])


@pytest.mark.parametrize("name", ["ToyFwdOp", "toy:GoneFwdOp", "toy:ToyCall"])
def test_an_unknown_op(project, name):
    """A name that is no op is wrong usage."""
    result = project("--tileops-coverage", "--tileops-coverage-op", name, widths=ONE_SIDE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --tileops-coverage-op: there is no op '{name}'*"])


@pytest.mark.parametrize(
    ("module", "cause"),
    [
        pytest.param("toy_gone", "ModuleNotFoundError: *", id="missing"),
        pytest.param("toy_raises", "SystemExit: 5", id="raising"),
        pytest.param(".toy", "TypeError: *", id="relative"),
    ],
)
def test_a_module_that_cannot_be_imported(project, pytester, module, cause):
    """It is wrong usage that names the module, not an internal error."""
    pytester.makepyfile(toy_raises="raise SystemExit(5)")
    name = f"{module}:ToyFwdOp"
    result = project("--tileops-coverage", "--tileops-coverage-op", name, widths=ONE_SIDE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --tileops-coverage-op: cannot import {module}: {cause}"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


CALLED = """
    from toy import ToyCall, ToyFwdOp

    def test_built():
        op = ToyFwdOp()
        op.kernel_for("toy", ToyCall(device="cpu", n=256))
        op.kernel_for("toy", ToyCall(device="cpu", n=257))
"""


def test_kernels_that_are_built_count(project):
    """A call that reaches a kernel tries its selection as well."""
    result = project(*TOYS, "--tileops-coverage", built=CALLED)
    result.stdout.re_match_lines([r"ToyFwdOp\.toy +2 +\d/\d +1/2"])


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="xdist is not installed")
def test_workers_are_merged(project, pytester):
    """Two sides that two processes tested are both tested."""
    lower = BOTH_SIDES.replace("n=257)) ==", "n=2)) !=")
    upper = BOTH_SIDES.replace('n=256), "short"', 'n=300), "general"')
    shutil.copy(TOY, pytester.path)
    pytester.makepyfile(test_lower=lower, test_upper=upper)
    options = ("-p", PLUGIN, "-n", "2", "--dist", "loadfile", *TOYS, "--tileops-coverage")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=pytester.path,
        env=environment(pytester.path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(line.startswith("ToyFwdOp.toy 4 ") and line.endswith(" 1/2") for line in lines)


def environment(*paths):
    source = Path(tileops.__file__).parents[1]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, [source, *paths]))}


def test_other_projects_pay_nothing(tmp_path):
    """Found by its entry point in a project without tileops, the plugin loads itself alone."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    points = declared["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "installed" / "fake_tileops-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-tileops\nVersion: 1\n")
    rows = "".join(f"{name} = {value}\n" for name, value in points.items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{rows}")
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_plain(request):\n"
        f"    assert request.config.pluginmanager.has_plugin({PLUGIN!r})\n"
        "    mine = {name for name in sys.modules if name.partition('.')[0] == 'tileops'}\n"
        f"    assert mine == {{'tileops', 'tileops.testing', {PLUGIN!r}}}\n"
        "    heavy = {'torch', 'z3', 'libcst', 'typer', 'msgspec', 'tilelang'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path / "installed"),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_names_of_the_package():
    """Public names are resolved on first use, and unknown ones are no attribute."""
    code = (
        "import sys, tileops.testing as t\n"
        "assert 'torch' not in sys.modules\n"
        "assert {'assert_selects', 'selection_cases', 'SelectionCase'} <= set(dir(t))\n"
        "assert callable(t.assert_selects)\n"
        "assert not hasattr(t, 'assert_selcts')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())
