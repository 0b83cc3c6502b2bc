"""Code that has nothing to do with kernels: no finding of any tier, and no crash.

A sample of the standard library and of the installed packages; ``TILEOPS_LINT_FOREIGN`` sets the
number of files taken of each, 0 for all.
"""

import ast
import os
import random
import sysconfig
import warnings
from pathlib import Path

import pytest

from tileops.lint._library import library_facts
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids

SAMPLE = int(os.environ.get("TILEOPS_LINT_FOREIGN", "150"))
LIBRARY = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path(sysconfig.get_path("purelib"))


def files_of(folder, excluded):
    """The Python files below a folder, without those below another; the same ones each time."""
    found = sorted(folder.rglob("*.py"))
    found = [f for f in found if f.is_file() and not f.is_relative_to(excluded)]
    if SAMPLE and len(found) > SAMPLE:
        found = random.Random(0).sample(found, SAMPLE)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}


def parses(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True


@pytest.mark.parametrize(
    ("folder", "excluded"),
    [
        pytest.param(LIBRARY, LIBRARY / "site-packages", id="standard-library"),
        pytest.param(PACKAGES, PACKAGES / "tileops", id="installed-packages"),
    ],
)
def test_no_rule_speaks(folder, excluded):
    """Every rule looks at every file; only files that are no Python are reported, as that."""
    files = files_of(folder, excluded)
    assert files
    rules = list(all_rules().values())
    facts = library_facts()
    space = Workspace(files, rules, external=facts, rule_ids=frozenset(rule_ids()))
    spoken = {(report.path, report.rule) for report in space.check().standing}
    broken = {path for path, rule in spoken if rule == "syntax-error"}
    assert {pair for pair in spoken if pair[0] not in broken} == set()
    assert [path for path in sorted(broken) if parses(files[path])] == []
