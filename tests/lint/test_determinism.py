"""One tree, one answer: whatever the processes, the cache, the order and the history."""

import os
import random
import shutil

import pytest

from lint_tree import operator_library
from tileops.findings import WRITERS, Applicability
from tileops.lint import Request, lint
from tileops.lint._fix import apply_fixes
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids

DEFECTS = (
    ("(frozen=True)", ""),
    ("    general = True\n", "    general = 1 > 0\n"),
    ("    general = True\n", '    preferred_over = frozenset({"family0_key99"})\n'),
    ("@classmethod\n    def entry_for", "def entry_for"),
    ("        return super().refusal(call)\n", "        return None\n"),
    ("if call.n % 8:", "if call.nn % 8:"),
    ("    request = ", "    asks = "),
    ("FwdInterface", "FwdWideInterface"),
    ("dtype=x.dtype\n", "dtype=x.dtype, arch=90\n"),
    ("    @abstractmethod\n", ""),
)
"""Slips to plant: what stands in a file of the generated library, and what takes its place."""


def planted(lines, seed=0, programs=0):
    """A generated library with every slip somewhere, and the files they went to."""
    files = operator_library(lines, seed, programs)
    chance = random.Random(seed)
    for old, new in DEFECTS:
        fitting = [path for path, text in files.items() if old in text and "/family" in path]
        path = chance.choice(fitting)
        files[path] = files[path].replace(old, new, 1)
    return files


def write(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def answer(root, *paths, jobs=1, cache=True):
    """What a run over a folder says, as JSON."""
    request = Request(paths, select=("all",), jobs=jobs, cache=cache, show_unknown=True)
    return WRITERS["json"](lint(request, root).report())


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library of enough files for the pool to start, with its answer."""
    root = tmp_path_factory.mktemp("library")
    files = planted(5_000)
    assert len(files) > 64
    write(root, files)
    (root / "pyproject.toml").write_text("")
    expected = answer(root, cache=False)
    assert expected.count('"rule": ') > len(DEFECTS)
    return root, expected


def test_processes_do_not_matter(library):
    """Two and eight processes say what one does."""
    root, expected = library
    for jobs in (2, 8):
        assert answer(root, jobs=jobs, cache=False) == expected


def test_cache_does_not_matter(library):
    """Cold and warm, a part first, after touching, and after an edit that was taken back."""
    root, expected = library
    shutil.rmtree(root / ".tileops_cache", ignore_errors=True)
    answer(root, "src/tileops/ops")
    assert answer(root, jobs=2) == expected
    assert answer(root) == expected
    for file in root.rglob("*.py"):
        os.utime(file, (1, 1))
    assert answer(root) == expected
    file = root / "src/tileops/ops/family0/op0.py"
    text = file.read_text()
    file.write_text(f"# Another line.\n{text}")
    assert answer(root) != expected
    file.write_text(text)
    assert answer(root) == expected


def test_order_does_not_matter(library, tmp_path, monkeypatch):
    """Paths in any order, and files created in any order."""
    root, expected = library
    paths = ["src", "tests", "pyproject.toml"]
    for order in (paths, paths[::-1]):
        assert answer(root, *order, cache=False) == expected
    files = list(planted(5_000).items())
    random.Random(1).shuffle(files)
    write(tmp_path, dict(files))
    (tmp_path / "pyproject.toml").write_text("")
    assert answer(tmp_path) == expected


def test_hash_seed_does_not_matter(library, python):
    """Sets of strings are ordered differently in every process; no answer is."""
    root, _ = library
    said = {
        python(root, "-m", "tileops", "lint", "--no-cache", PYTHONHASHSEED=seed).out
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_order_of_rules_does_not_matter_to_fixes():
    """Fixes come to the same bytes, whichever rule is asked first, and to rest."""
    files = {path: text.encode() for path, text in planted(1).items()}
    outcomes = []
    for seed in range(3):
        rules = list(all_rules().values())
        random.Random(seed).shuffle(rules)
        space = Workspace(files, rules, rule_ids=frozenset(rule_ids()))
        run = apply_fixes(space, frozenset(Applicability))
        assert run.applied
        outcomes.append({path: run.workspace.data(path) for path in run.workspace})
        assert apply_fixes(run.workspace, frozenset(Applicability)).applied == []
    assert outcomes[0] == outcomes[1] == outcomes[2]


class Script:
    """A random history of a small project: each step changes files as people and git do."""

    def __init__(self, root, seed):
        self.root = root
        self.chance = random.Random(seed)
        self.clock = 1_000_000_000
        self.branches = []
        write(root, planted(1, seed))
        (root / "pyproject.toml").write_text('[tool.tileops.lint]\nselect = ["all"]\n')
        for file in self.files():
            self.settle(file)

    def files(self):
        return sorted(self.root.glob("src/tileops/*/family*/*.py"))

    def settle(self, file):
        """Give a file a time of its own, long past: what is fresh is read again anyway."""
        self.clock += 1_000_000_000
        os.utime(file, ns=(self.clock, self.clock))

    def step(self):
        """Take one step and return what it was."""
        step = self.chance.choice(
            [
                self.edit,
                self.edit,
                self.edit,
                self.touch,
                self.rename,
                self.delete,
                self.restore,
                self.switch,
                self.configure,
            ]
        )
        step()
        return step.__name__

    def edit(self):
        file = self.chance.choice(self.files())
        text = file.read_text()
        old, new = self.chance.choice(DEFECTS)
        if self.chance.random() < 0.5:
            old, new = new, old
        if old and old in text:
            text = text.replace(old, new, 1)
        else:
            text += self.chance.choice(["# Another line.\n", "x = (\n", "\n"])
        file.write_text(text)
        self.settle(file)

    def touch(self):
        self.settle(self.chance.choice(self.files()))

    def rename(self):
        file = self.chance.choice(self.files())
        file.rename(file.with_name(f"moved_{self.chance.randrange(3)}.py"))

    def delete(self):
        files = self.files()
        if len(files) > 5:
            self.chance.choice(files).unlink()

    def restore(self):
        """Put back a file of the library as it was generated."""
        fresh = {p: t for p, t in operator_library(1, programs=0).items() if "/family" in p}
        path = self.chance.choice(sorted(fresh))
        write(self.root, {path: fresh[path]})
        self.settle(self.root / path)

    def switch(self):
        """Remember all files, or go back to those of an earlier moment, with new times."""
        if len(self.branches) < 3:
            self.branches.append({file: file.read_text() for file in self.files()})
            return
        branch = self.branches.pop(self.chance.randrange(3))
        for file in self.files():
            file.unlink()
        for file, text in branch.items():
            file.write_text(text)
            self.settle(file)

    def configure(self):
        chosen = self.chance.choice(["all", "E", "W"])
        (self.root / "pyproject.toml").write_text(f'[tool.tileops.lint]\nselect = ["{chosen}"]\n')


@pytest.mark.parametrize("seed", range(2))
def test_warm_equals_cold_along_any_history(tmp_path, seed):
    """After every step a run with the cache says what one without says.

    ``TILEOPS_LINT_STEPS`` sets the number of steps.
    """
    script = Script(tmp_path, seed)
    taken = []
    for _ in range(int(os.environ.get("TILEOPS_LINT_STEPS", "30"))):
        taken.append(script.step())
        warm = WRITERS["json"](lint(Request(), tmp_path).report())
        cold = WRITERS["json"](lint(Request(cache=False), tmp_path).report())
        assert warm == cold, taken
