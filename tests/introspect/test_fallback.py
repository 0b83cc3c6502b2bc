"""Notices of calls that a faster implementation refused."""

import inspect
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch

import tileops
from ops.noting import in_threads, noting, op_with
from scale_family import General, Narrow, ScaleCall, ScaleKernel, op_of
from tileops.errors import DeviceFactsError
from tileops.introspect import suggestion as suggesting
from tileops.introspect.fallback import (
    MOST_REASONS,
    FallbackWarning,
    refused_first_choices,
    start,
    warn_on_fallback,
)
from tileops.introspect.suggestion import suggestion
from tileops.kernels.kernel import Kernel
from tileops.kernels.norm.call_spec import LayerNormFwdInterface

SOURCE = Path(tileops.__file__).parents[1]
ACME = Path(__file__).parents[2] / "docs" / "examples" / "tileops_acme" / "src"


class Short(Kernel, LayerNormFwdInterface):
    devices = frozenset({"cpu"})
    limit = 16

    @classmethod
    def refusal(cls, call):
        return None if call.n <= cls.limit else f"serves n <= 16, got {call.n}"

    def forward(self, x, weight, bias):
        return x * 1


class Anything(Short):
    general = True
    limit = 2**31


class Half(Short):
    """A fast kernel for 16-bit rows, which names the row that it refuses."""

    limit = 2**31

    @classmethod
    def refusal(cls, call):
        if call.dtype.itemsize != 2:
            return f"serves 16-bit rows, got {call.dtype} and n {call.n}"
        return super().refusal(call)


class Never(Short):
    @classmethod
    def refusal(cls, call):
        return "serves no call"


def rows(n=32):
    return torch.ones(2, n)


def make(n=32, **kernels):
    return type(op_with(**kernels))(n)


@pytest.fixture
def notices():
    """Collect the notices while they are wanted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        end = warn_on_fallback()
        yield caught
        end()


def test_the_general_implementation_serves(notices):
    """The notice names what serves, what refused and why, the nearest change and the command."""
    make(half=Half, anything=Anything)(rows())
    (notice,) = notices
    assert notice.category is FallbackWarning
    assert str(notice.message).splitlines() == [
        "tileops: the general 'anything' serves NotingFwdOp.layer_norm "
        "(n 32, eps 1e-05, dtype float32, device cpu)",
        "  half refused: serves 16-bit rows, got torch.float32 and n 32",
        "    nearest call that selects it: dtype float16 instead of float32",
        "  Reproduce it with: tileops explain NotingFwdOp --interface layer_norm "
        "--import ops.noting --import test_fallback --n 32 --eps 1e-05 --dtype float32 "
        "--device cpu",
    ]


def test_the_line_of_the_call(notices):
    """The notice points at the program's line, not into the package."""
    op = make(half=Half, anything=Anything)
    op(rows())
    (notice,) = notices
    assert Path(notice.filename).name == "test_fallback.py"
    line = Path(notice.filename).read_text().splitlines()[notice.lineno - 1]
    assert line.strip() == "op(rows())"


class Stumbling(Half):
    """Its refusal fails on the dtype that a repair would try first."""

    @classmethod
    def refusal(cls, call):
        if call.dtype == torch.float16:
            raise DeviceFactsError(device="cpu", problem="no facts")
        return super().refusal(call)


@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param({"short": Short}, id="another-size-of-the-problem"),
        pytest.param({"never": Never}, id="no-call"),
        pytest.param({"short": Short, "never": Never}, id="several"),
    ],
)
def test_the_general_one_is_the_right_one(notices, kernels):
    """Nothing is told where only another problem would select another key."""
    make(**kernels, anything=Anything)(rows())
    assert notices == []


def test_a_repair_that_fails(notices):
    """What raises in a call that nobody made is no error of the program, and no notice."""
    assert make(stumbling=Stumbling, anything=Anything)(rows()).shape == (2, 32)
    assert notices == []


def test_only_what_a_repair_selects_is_told(notices):
    """Of two keys that refuse, the one that a cast would select is told of alone."""
    make(half=Half, short=Short, anything=Anything)(rows())
    (notice,) = notices
    assert "half refused" in str(notice.message)
    assert "short" not in str(notice.message)


def test_nothing_serves(notices):
    """A call that fails is told of too, and fails with its own error."""
    with pytest.raises(ValueError, match="no implementation serves"):
        make(short=Short)(rows())
    (notice,) = notices
    assert str(notice.message).startswith("tileops: nothing serves NotingFwdOp.layer_norm")


def test_once_per_op_key_and_reason(notices):
    """Further calls, batch sizes and ops tell nothing new; another reason does."""
    for _ in range(3):
        op = make(half=Half, anything=Anything)
        op(rows())
        op(torch.ones(5, 32))
    make(33, half=Half, anything=Anything)(rows(33))
    assert [str(one.message).splitlines()[1] for one in notices] == [
        "  half refused: serves 16-bit rows, got torch.float32 and n 32",
        "  half refused: serves 16-bit rows, got torch.float32 and n 33",
    ]


def test_reasons_without_end(notices):
    """A key with a reason per call is told of so often, and then no more."""
    for n in range(100, 100 + 2 * MOST_REASONS):
        make(n, half=Half, anything=Anything)(rows(n))
    assert len(notices) == MOST_REASONS
    assert "no more is told of half; TILEOPS_TRACE records" in str(notices[-1].message)
    assert "no more is told" not in str(notices[-2].message)


def test_a_key_that_nothing_can_select(notices):
    """Where no call selects the key, the notice of an unserved call suggests nothing."""
    with pytest.raises(ValueError, match="no implementation serves"):
        make(never=Never)(rows())
    (notice,) = notices
    assert "never refused: serves no call" in str(notice.message)
    assert "nearest" not in str(notice.message)


@pytest.mark.parametrize("failure", [ImportError, ArithmeticError, RecursionError])
def test_without_the_analysis(notices, monkeypatch, failure):
    """A missing solver or a defect of the analysis leaves the notice without a suggestion."""

    def failing(*_arguments):
        raise failure("no solver")

    monkeypatch.setattr(suggesting, "_explored", failing)
    with pytest.raises(ValueError, match="no implementation serves"):
        make(short=Short)(rows())
    (notice,) = notices
    assert "short refused" in str(notice.message)
    assert "nearest" not in str(notice.message)


def test_silent_by_default():
    """Without being asked, nothing is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(half=Half, anything=Anything)(rows())


def test_it_ends(notices):
    """After the end nothing is told; a second start is the same notice, not a second one."""
    end = warn_on_fallback()
    assert warn_on_fallback() is end
    make(half=Half, anything=Anything)(rows())
    end()
    make(40, half=Half, anything=Anything)(rows(40))
    end()
    assert len(notices) == 1


def test_an_earlier_end_does_not_end_a_later_time():
    """Whoever asked before, and ends it once more, leaves the notices of another alone."""
    earlier = warn_on_fallback()
    earlier()
    later = warn_on_fallback()
    try:
        earlier()
        with pytest.warns(FallbackWarning, match="half refused"):
            make(half=Half, anything=Anything)(rows())
    finally:
        later()


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_filters_of_the_program(capsys, action):
    """A filter may silence notices; one that makes them errors does not fail the call."""
    end = warn_on_fallback()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            result = make(half=Half, anything=Anything)(rows())
    finally:
        end()
    assert result.shape == (2, 32)
    assert ("half refused" in capsys.readouterr().err) is (action == "error")


def test_threads_tell_once(notices):
    """Many threads that fall back at the same time make one notice and no error."""
    op_type = type(op_with(half=Half, anything=Anything))
    results, errors = in_threads(8, lambda: op_type(32)(rows()))
    assert errors == []
    assert len(results) == 8
    assert len(notices) == 1


def test_no_cost_where_nothing_falls_back(notices):
    """A call that its first choice serves is not analysed, and later calls are not counted."""
    kernel, _ = noting()
    op = op_with(only=kernel)
    before = threading.active_count()
    for _ in range(4):
        op(torch.ones(2, 8))
    assert notices == []
    run = inspect.getclosurevars(op._recent[1]).nonlocals["run"]
    assert run.__qualname__ == "LayerNormFwdOp.bind.<locals>.<lambda>"
    assert threading.active_count() == before


class Preferred(ScaleKernel):
    preferred_over = frozenset({"narrow"})

    @classmethod
    def refusal(cls, call):
        return None if call.n == 1 else f"serves n == 1, got {call.n}"


@pytest.mark.parametrize(
    ("kernels", "n", "told"),
    [
        pytest.param({"g": General, "narrow": Narrow}, 256, [], id="first-choice-serves"),
        pytest.param({"g": General, "narrow": Narrow}, 257, ["narrow"], id="general-serves"),
        pytest.param({"narrow": Narrow}, 257, ["narrow"], id="nothing-serves"),
        pytest.param({"p": Preferred, "narrow": Narrow}, 2, [], id="another-fast-one-serves"),
        pytest.param(
            {"p": Preferred, "narrow": Narrow, "g": General}, 300, ["p", "narrow"], id="two-refused"
        ),
        pytest.param({"g": General}, 300, [], id="only-the-general-one"),
    ],
)
def test_which_refusals_are_told(kernels, n, told):
    """Only refusals that leave the call to the general implementation, or to none."""
    selection = op_of(**kernels)().explain("scale", ScaleCall(device="cpu", n=n))
    assert [one.key for one in refused_first_choices(selection)] == told


def test_suggestions_change_as_little_as_can_be():
    """The change that is suggested selects the key, and one step less does not."""
    op = op_of(g=General, narrow=Narrow, p=Preferred)()
    selection = op.explain("scale", ScaleCall(device="cpu", n=300))
    assert suggestion(selection, "narrow") == "n 256 instead of 300"
    assert op.key_for("scale", ScaleCall(device="cpu", n=256)) == "narrow"
    assert suggestion(selection, "p") == "n 1 instead of 300"


def test_a_suggestion_of_another_device():
    """A key for other devices is suggested on one of them."""
    from scale_family import OnCuda

    selection = op_of(cuda=OnCuda)().explain("scale", ScaleCall(device="cpu", n=300))
    assert suggestion(selection, "cuda") == "on a100"


@pytest.mark.parametrize("value", ["falback", "FALLBACK", "1", "fallback,other"])
def test_unknown_settings(value):
    """The error names what is known."""
    with pytest.raises(ValueError, match=f"TILEOPS_WARN is '{value}'; known are: fallback"):
        start(value)


PROGRAM = """
import torch, tileops_acme
from tileops import LayerNormFwdOp
for n in (8, 512):
    try:
        LayerNormFwdOp(n)(torch.ones(2, n))
    except ValueError as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("value", "told"), [("fallback", True), ("", False), (None, False)], ids=["on", "empty", "off"]
)
def test_the_environment_variable(tmp_path, value, told):
    """TILEOPS_WARN=fallback turns notices on for a program that knows nothing of them."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(tmp_path, value)
    assert (done.returncode, done.stdout) == (0, "UnservedCallError\n")
    assert ("program.py:6: FallbackWarning" in done.stderr) is told
    assert ("n 256 instead of 512" in done.stderr) is told


def test_without_the_solver(tmp_path):
    """Where z3 is not installed the notice comes without a suggestion."""
    (tmp_path / "program.py").write_text("import sys\nsys.modules['z3'] = None\n" + PROGRAM)
    done = run(tmp_path, "fallback")
    assert (done.returncode, done.stdout) == (0, "UnservedCallError\n")
    assert "serves rows of at most 256 elements, got 512" in done.stderr
    assert "nearest" not in done.stderr


def test_an_unknown_environment_variable(tmp_path):
    """The first op says so."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(tmp_path, "all")
    assert "WarnSettingError" in done.stdout + done.stderr


def run(folder, value):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ACME)]),
        "CUDA_VISIBLE_DEVICES": "",
    }
    environment.pop("TILEOPS_WARN", None)
    if value is not None:
        environment["TILEOPS_WARN"] = value
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
