"""The hooks: what each is given, what it looks at, and how git and pre-commit run them."""

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOOKS = {file.stem.replace("_", "-"): file for file in (ROOT / "hooks").glob("*.py")}
NAMES, CONTRACT = HOOKS["interface-names-lint"], HOOKS["tileops-contract-lint"]
with_pre_commit = pytest.mark.skipif(find_spec("pre_commit") is None, reason="no pre-commit")

INTERFACE = '''\
from abc import abstractmethod

from tileops.backend import CallSpec, KernelInterface


class {name}(KernelInterface):
    """Count."""

    request = CallSpec

    @abstractmethod
    def forward(self, n: int) -> None:
        """Count to *n*."""
'''
GOOD = INTERFACE.format(name="CountWideFwdInterface")
BAD = INTERFACE.format(name="CountFwdWideInterface")


def git(root, *words):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def committed(root):
    """The files of the last commit, sorted; none before the first."""
    return git(root, "ls-tree", "-r", "--name-only", "HEAD").stdout.split()


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        pytest.param("BatchNormTrainFwdInterface", True, id="variant-before"),
        pytest.param("C2CFwdInterface", True, id="digits"),
        pytest.param("MLADenseBwdInterface", True, id="backward"),
        pytest.param("BatchNormFwdTrainInterface", False, id="variant-after"),
        pytest.param("BatchNormFwdTrainFwdInterface", False, id="direction-twice"),
        pytest.param("W4A16RepackInterface", False, id="no-direction"),
        pytest.param("lowFwdInterface", False, id="small-letter"),
        pytest.param("LayerNormFwd", False, id="no-interface"),
    ],
)
def test_names(repository, python, name, fine):
    """Interfaces are {Name}{Fwd|Bwd}Interface with the variant before the direction."""
    root = repository({"a.py": INTERFACE.format(name=name)})
    run = python(root, str(NAMES), "a.py")
    assert run.code == (0 if fine else 1), run.out + run.err
    assert (f"interface {name} " in run.out) is not fine


def test_names_sees_through_imports_and_bases(repository, python):
    """Aliases and indirect bases are followed; implementations and plain classes are let be."""
    root = repository(
        {
            "base.py": "from tileops.backend import KernelInterface as K\n\n\n"
            "class CountFwdInterface(K): ...\n",
            "package/__init__.py": "from base import CountFwdInterface as Again\n",
            "use.py": "import tileops.kernels.interface as t\n"
            "from tileops.backend import Kernel\nfrom package import Again\n\n\n"
            "class CountFwdWideInterface(Again): ...\n\n\n"
            "class OtherWideInterface(t.KernelInterface): ...\n\n\n"
            "class CountFwdTrainWholeKernel(Kernel, Again): ...\n\n\n"
            "class PlainInterface: ...\n",
        }
    )
    run = python(root, str(NAMES), "use.py", "base.py")
    named = [
        line.split("interface ")[1].split()[0] for line in run.out.splitlines() if ": w" in line
    ]
    assert named == ["CountFwdWideInterface", "OtherWideInterface"]


def test_names_reports_the_files_passed_only(repository, python):
    """The other files are read, since a base may stand there, and not reported on."""
    root = repository({"a.py": BAD, "b.py": GOOD})
    assert python(root, str(NAMES), "b.py").code == 0
    assert python(root, str(NAMES), "a.py").code == 1


def test_contract_looks_at_the_whole_tree(repository, python):
    """A rename in one file is a finding in another, which no file list would hold."""
    kernels = (
        "from tileops.backend import Kernel, register_kernel_type\n"
        "from tileops.kernels.norm.call_spec import LayerNormFwdInterface\n\n\n"
        "class Row(Kernel, LayerNormFwdInterface):\n"
        '    preferred_over = frozenset({"layer_nrom"})\n\n'
        "    @classmethod\n    def refusal(cls, call):\n"
        '        return None if call.n < 9 else f"serves n below 9, got {call.n}"\n\n'
        "    def forward(self, x, weight, bias): ...\n\n\n"
        'register_kernel_type("LayerNormFwdOp", "row", Row)\n'
    )
    root = repository({"acme.py": kernels})
    run = python(root, str(CONTRACT))
    assert run.code == 1
    assert "preferred-over-unknown-key" in run.out


def test_fixing_hook_fails_when_it_changed_something(repository, python):
    """As pre-commit expects of a fixer; the next run passes."""
    text = GOOD.replace("    @abstractmethod\n", "")
    root = repository({"a.py": text})
    assert python(root, str(CONTRACT), "--fix").code == 1
    assert "@abstractmethod" in (root / "a.py").read_text()
    assert python(root, str(CONTRACT), "--fix").code == 0


def test_both_files_offer_every_hook():
    """One local hook per file in hooks/, and the same ids for other repositories."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    local = {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"]}
    offered = {
        hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    assert set(HOOKS) == set(offered)
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for name, file in HOOKS.items():
        assert local[name]["entry"] == f"python hooks/{file.name}"
        assert local[name]["additional_dependencies"] == base
        same = ("files", "pass_filenames", "require_serial", "language")
        assert [local[name].get(key) for key in same] == [offered[name].get(key) for key in same]


@pytest.fixture
def installed(repository):
    """A repository whose commits run both hooks with this interpreter."""
    hook = "      - {{id: {0}, name: {0}, language: system, entry: {1} {2}, {3}}}\n"
    config = "repos:\n  - repo: local\n    hooks:\n"
    config += hook.format("names", sys.executable, NAMES, "files: '\\.py$', require_serial: true")
    config += hook.format(
        "contract", sys.executable, CONTRACT, "files: '\\.py$', pass_filenames: false"
    )
    root = repository({".pre-commit-config.yaml": config, "a.py": GOOD})
    pre_commit = [sys.executable, "-m", "pre_commit"]
    subprocess.run([*pre_commit, "install"], cwd=root, check=True, capture_output=True)
    assert git(root, "commit", "-m", "first").returncode == 0
    return root


@with_pre_commit
def test_commit_is_refused(installed):
    """A bad name does not get in."""
    (installed / "b.py").write_text(BAD)
    git(installed, "add", "b.py")
    done = git(installed, "commit", "-m", "bad")
    assert done.returncode == 1
    assert "CountFwdWideInterface" in done.stderr + done.stdout
    assert "b.py" not in committed(installed)


@with_pre_commit
def test_only_what_is_staged_counts(installed):
    """Unstaged text neither fails a commit nor is lost."""
    (installed / "a.py").write_text(GOOD + "\n# staged\n")
    git(installed, "add", "a.py")
    (installed / "a.py").write_text(BAD)
    assert git(installed, "commit", "-m", "staged").returncode == 0
    assert (installed / "a.py").read_text() == BAD
    assert git(installed, "commit", "-am", "bad").returncode == 1


@with_pre_commit
def test_untracked_class_neither_helps_nor_hurts(installed):
    """A file git does not track is not there."""
    (installed / "untracked.py").write_text(BAD)
    (installed / "a.py").write_text(GOOD + "\n# changed\n")
    assert git(installed, "commit", "-am", "fine").returncode == 0


@with_pre_commit
def test_deletion_is_judged_by_what_is_left(installed):
    """Removing a base together with a change elsewhere lints the tree that remains."""
    (installed / "base.py").write_text(GOOD.replace("Count", "Base"))
    use = "from base import BaseWideFwdInterface\n\n\nclass OddWide(BaseWideFwdInterface): ...\n"
    (installed / "use.py").write_text(use)
    git(installed, "add", ".")
    assert git(installed, "commit", "-m", "bad").returncode == 1
    git(installed, "rm", "-q", "--cached", "base.py")
    (installed / "base.py").unlink()
    # Without its base the class is unknown, and an unknown class is let be.
    assert git(installed, "commit", "-m", "fine").returncode == 0
    assert committed(installed) == [".pre-commit-config.yaml", "a.py", "use.py"]


@with_pre_commit
def test_batches_agree(installed):
    """Files that do not fit on one command line are passed in several; each batch sees the tree."""
    folder = installed / ("f" * 180)
    folder.mkdir()
    (folder / "base.py").write_text(GOOD)
    for number in range(700):
        (folder / f"{number:0180}.py").write_text("")
    (folder / "zz.py").write_text(
        f"from {folder.name}.base import CountWideFwdInterface\n\n\n"
        "class CountFwdOddInterface(CountWideFwdInterface): ...\n"
    )
    git(installed, "add", ".")
    words = [sys.executable, "-m", "pre_commit", "run", "--all-files", "names"]
    done = subprocess.run(words, cwd=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.count("CountFwdOddInterface is not named") == 1
    assert done.stdout.count(" checked, ") > 1, "one batch"
