"""Every rule reports the slip it is for, where it was made, and nothing else is reported.

A sample of the sites; `mutants` run as a program takes them all.
"""

import pytest
from mutants import generated, mutants, own_tree
from slips import SLIPS

from tileops.findings import Severity
from tileops.lint._registry import rule_ids

EXACT = [slip for slip in SLIPS if not slip.flow]
FLOW = sorted({slip.rule for slip in SLIPS if slip.flow})


@pytest.fixture(scope="module")
def corpora():
    """This repository and a generated library, both clean."""
    found = (own_tree(), generated())
    for corpus in found:
        standing = corpus.space.check().standing
        assert [r for r in standing if r.severity is not Severity.PEDANTIC] == []
    return found


def outcomes(corpora, slips, sites):
    """What becomes of the mutants of some slips in all corpora."""
    found = [
        corpus.judge(mutant)
        for corpus in corpora
        for slip in slips
        for mutant in mutants(corpus, slip, sites)
    ]
    assert found, "no site"
    return found


def test_every_rule_has_a_slip():
    """A new rule comes with a row of its own."""
    assert {slip.rule for slip in SLIPS} == set(rule_ids())


@pytest.mark.parametrize("rule", sorted({slip.rule for slip in EXACT}))
def test_syntactic_and_index_rules_miss_nothing(corpora, rule):
    """Recall is 1 and the slip is all that is reported."""
    for outcome in outcomes(corpora, [s for s in EXACT if s.rule == rule], sites=1):
        assert outcome.hit, str(outcome.mutant)
        assert outcome.strays == (), str(outcome.mutant)


@pytest.mark.parametrize("rule", FLOW)
def test_data_flow_rules_miss_little(corpora, rule):
    """Recall is at least 0.95, and the slip is all that is reported."""
    found = outcomes(corpora, [s for s in SLIPS if s.flow and s.rule == rule], sites=2)
    assert sum(outcome.hit for outcome in found) >= 0.95 * len(found)
    assert [str(outcome.mutant) for outcome in found if outcome.strays] == []
