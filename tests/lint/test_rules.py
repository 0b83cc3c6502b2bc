"""Every case of every rule as a test, and what each rule must bring along."""

import ast

import pytest

from tileops.findings import Applicability
from tileops.lint._case import CONTRACT, Case, Invalid, Valid, strip_marks
from tileops.lint._check import finding_of
from tileops.lint._fix import apply_fixes
from tileops.lint._memory import Workspace
from tileops.lint._registry import all_rules, rule_ids
from tileops.lint._rule import Rule

EVERYTHING = frozenset(Applicability)
COMMENTS = ("unused-ignore", "unknown-ignore")
RULES = list(all_rules().values())


def cases(kind):
    return [
        pytest.param(rule, case, id=f"{rule.id}-{case.name.replace(' ', '-')}")
        for rule in RULES
        for case in (rule.VALID if kind is Valid else rule.INVALID)
    ]


def workspace(rule: Rule, sources: dict[str, str]) -> Workspace:
    """A case's modules and the contract, linted by one rule and the one about idle comments."""
    files = {path: text.encode() for path, text in {**CONTRACT, **sources}.items()}
    enabled = [rule] if rule.id in COMMENTS else [rule, all_rules()["unused-ignore"]]
    return Workspace(files, enabled, rule_ids=frozenset(rule_ids()))


def findings(space: Workspace):
    return [finding_of(report, space) for report in space.check().standing]


def unmarked(case: Case) -> dict[str, str]:
    return {path: strip_marks(text)[0] for path, text in case.sources().items()}


@pytest.mark.parametrize(("rule", "case"), cases(Valid))
def test_valid(rule, case):
    """The rule says nothing about its valid cases, and their comments suppress something."""
    for path, text in unmarked(case).items():
        assert text == case.sources()[path], "a valid case has no marks"
        if path.endswith(".py"):
            ast.parse(text)
    assert findings(workspace(rule, unmarked(case))) == []


@pytest.mark.parametrize(("rule", "case"), cases(Invalid))
def test_invalid(rule, case):
    """The rule reports exactly the marked ranges with exactly these messages."""
    marked = {path: strip_marks(text)[1] for path, text in case.sources().items()}
    expected = [(path, where) for path in sorted(marked) for where in marked[path]]
    found = findings(workspace(rule, unmarked(case)))
    assert [(f.path, f.range) for f in found] == expected
    assert tuple(f.message for f in found) == case.expected()
    weight = rule.severity if case.severity is None else case.severity
    assert {(f.rule, f.severity) for f in found} == {(rule.id, weight)}


@pytest.mark.parametrize(("rule", "case"), cases(Invalid))
def test_fix(rule, case):
    """All fixes together give exactly the stated outcome, clean and stable, or change nothing."""
    before = workspace(rule, unmarked(case))
    run = apply_fixes(before, EVERYTHING)
    after = {path: run.workspace[path].text for path in unmarked(case)}
    outcome = case.outcome()
    if outcome is None:
        assert after == unmarked(case)
        return
    assert after == outcome
    assert {r.repair.applicability for r in run.applied if r.repair} <= set(rule.fixes)
    assert findings(run.workspace) == []
    again = apply_fixes(run.workspace, EVERYTHING)
    assert again.applied == []
    for path, text in after.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in RULES])
def test_rule_brings_its_evidence(rule):
    """At least three valid and three invalid cases, and one of each special kind."""
    own = [*rule.VALID, *rule.INVALID]
    assert len(rule.VALID) >= 3
    assert len(rule.INVALID) >= 3
    names = [case.name for case in own]
    assert len(names) == len(set(names))
    texts = [repr(sorted(case.sources().items())) for case in own]
    assert len(texts) == len(set(texts)), "a case stands twice"
    if rule.id not in ("syntax-error", *COMMENTS):
        comment = f"tileops: ignore[{rule.id}]"
        assert any(comment in text for case in rule.VALID for text in case.sources().values())
    if rule.cross_file:
        assert any(not isinstance(case.files, str) for case in rule.INVALID)
    fixed = [case for case in rule.INVALID if case.fixed is not None]
    assert bool(fixed) == bool(rule.fixes)


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in RULES])
def test_rule_is_documented(rule):
    """The docstring opens with one sentence, says why, and states the limits."""
    text = type(rule).__doc__ or ""
    assert text.partition("\n\n")[0].rstrip().endswith(".")
    assert "\n    Why:\n" in text
    assert "\n    Limits:\n" in text
