"""What holds of every fix, whichever rule makes it: tried on the mutants its rule reports."""

import ast
import io
import tokenize
from collections import Counter
from difflib import SequenceMatcher

import pytest
from mutants import generated, mutants, own_tree
from slips import SLIPS

from tileops.findings import Applicability
from tileops.lint._fix import apply_fixes
from tileops.lint._registry import all_rules

FIXABLE = sorted({slip.rule for slip in SLIPS if all_rules()[slip.rule].fixes})
WITHHELD = {
    "entry-method-not-in-interface": "classes that lack the method would become abstract",
    "redundant-preference": "what is left would be a redundant declaration",
}
"""Rules whose fix would make another rule speak here, and so is not made."""

ALL, SAFE = frozenset(Applicability), frozenset({Applicability.SAFE})


@pytest.fixture(scope="module")
def corpora():
    """This repository and a generated library."""
    return own_tree(), generated()


def comments(text):
    """How often each comment occurs."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def changed_lines(old, new):
    """How many lines of the old text are not in the new one."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return sum(b - a for tag, a, b, *_ in matcher.get_opcodes() if tag in ("replace", "delete"))


@pytest.mark.parametrize("rule", FIXABLE)
def test_fixes_are_whole_local_and_final(corpora, rule):
    """A fix resolves its finding, parses, keeps comments and other lines; a second run rests."""
    tried = 0
    for corpus in corpora:
        for mutant in (m for s in SLIPS if s.rule == rule for m in mutants(corpus, s, 1)):
            before = corpus.space.with_files(mutant.files)
            run = apply_fixes(before, ALL, lambda report: report.rule == rule)
            after = run.workspace
            for path in (path for path in after if after.data(path) != before.data(path)):
                old, new = before[path].text, after[path].text
                ast.parse(new)
                assert not comments(old) - comments(new), str(mutant)
                assert changed_lines(old, new) <= 8 * len(run.applied), str(mutant)
            left = [r for r in after.check().standing if r.rule == rule]
            was = [r for r in before.check().standing if r.rule == rule]
            assert len(left) == len(was) - len(run.applied), str(mutant)
            assert apply_fixes(after, ALL, lambda report: report.rule == rule).applied == []
            tried += len(run.applied)
    assert tried or rule in WITHHELD, "no mutant was fixed"


@pytest.mark.parametrize("rule", ["entry-for-not-classmethod", "call-spec-not-frozen"])
def test_safe_fixes_restore_what_the_slip_broke(corpora, rule):
    """Where the slip takes a word away that the fix is to add, the fix gives the file back."""
    for corpus in corpora:
        for mutant in (m for s in SLIPS if s.rule == rule for m in mutants(corpus, s, 2)):
            if mutant.slip.becomes.index(mutant.becomes):
                continue
            run = apply_fixes(corpus.space.with_files(mutant.files), SAFE)
            fixed = ast.dump(ast.parse(run.workspace[mutant.path].text))
            assert fixed == ast.dump(ast.parse(corpus.files[mutant.path])), str(mutant)
