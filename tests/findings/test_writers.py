"""Every output format of one report, against texts written by hand or read back by a parser."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tileops.findings import (
    WRITERS,
    Applicability,
    Edit,
    Finding,
    FindingReport,
    Fix,
    Range,
    RuleSummary,
    Severity,
    fingerprints,
)

NAMING = Finding(
    rule="interface-name",
    severity=Severity.WARNING,
    path="src/pkg/b.py",
    range=Range(12, 7, 12, 10),
    message='say "Fwd", then 50% <of> it: a, b',
    symbol="pkg.b.Foo",
    excerpt="class Foo(KernelInterface):",
    fix=Fix(
        Applicability.UNSAFE,
        "rename it FooFwdInterface",
        (Edit("src/pkg/b.py", Range(12, 7, 12, 10), "FooFwdInterface"),),
    ),
    notes=("seen in 2 files",),
)
KEY = Finding(
    rule="several-general",
    severity=Severity.ERROR,
    path="src/pkg/a c.py",
    range=Range(3, 1, 4, 2),
    message="two",
    excerpt="x = {",
)


def report(*findings: Finding) -> FindingReport:
    rules = [RuleSummary(f.rule, f.severity, "First sentence.") for f in findings]
    return FindingReport.of(
        "tileops.lint/1.0", "tileops lint", "0.1.0", files=2, rules=rules, findings=findings
    )


def test_findings_are_sorted_by_path_line_column_and_rule():
    """The order of the report does not depend on the order rules ran in."""
    twin = replace(NAMING, rule="a-rule")
    assert report(NAMING, twin, KEY).findings == (KEY, twin, NAMING)


def test_concise_is_one_line_per_finding():
    """Path, line, column, severity, rule and message."""
    assert WRITERS["concise"](report(NAMING, KEY)) == (
        "src/pkg/a c.py:3:1: error several-general: two\n"
        'src/pkg/b.py:12:7: warning interface-name: say "Fwd", then 50% <of> it: a, b\n'
    )


def test_full_underlines_the_range_and_shows_the_fix():
    """The excerpt, a line of carets under the range, the fix, the notes and the total."""
    assert WRITERS["full"](report(NAMING)) == (
        'src/pkg/b.py:12:7: warning interface-name: say "Fwd", then 50% <of> it: a, b\n'
        "  12 | class Foo(KernelInterface):\n"
        "     |       ^^^\n"
        "  fix (unsafe): rename it FooFwdInterface\n"
        "  note: seen in 2 files\n"
        "2 files checked, 1 finding, 1 with a known fix\n"
    )


def test_full_without_findings_says_so():
    """A clean run still says how much was looked at."""
    assert WRITERS["full"](report()) == "2 files checked, no findings\n"


def test_json_names_its_schema_and_counts_columns_from_one():
    """The JSON form round-trips every field of a finding."""
    document = json.loads(WRITERS["json"](report(NAMING)))
    assert document["schema"] == "tileops.lint/1.0"
    assert document["files"] == 2
    (finding,) = document["findings"]
    assert finding["range"] == {
        "start": {"line": 12, "column": 7},
        "end": {"line": 12, "column": 10},
    }
    assert finding["fix"]["applicability"] == "unsafe"
    assert finding["fix"]["edits"][0]["text"] == "FooFwdInterface"
    assert finding["notes"] == ["seen in 2 files"]


def test_github_escapes_what_its_commands_reserve():
    """Per cent, colon and comma are escaped, the last two only in properties."""
    line = WRITERS["github"](report(NAMING))
    assert line == (
        "::warning file=src/pkg/b.py,line=12,col=7,endLine=12,endColumn=10,title=interface-name"
        '::say "Fwd", then 50%25 <of> it: a, b\n'
    )


def test_sarif_has_relative_uris_and_levels():
    """One run whose results point at their rule and quote blanks in URIs."""
    log = json.loads(WRITERS["sarif"](report(NAMING, KEY)))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    first, second = run["results"]
    location = first["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "src/pkg/a%20c.py"
    assert (first["level"], second["level"]) == ("error", "warning")
    assert rules[first["ruleIndex"]]["id"] == "several-general"
    assert "fixes" not in first
    assert second["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {
        "text": "FooFwdInterface"
    }


def test_junit_is_well_formed_and_counts_failures():
    """Control characters XML cannot hold are replaced; the counts agree with the cases."""
    root = ElementTree.fromstring(
        WRITERS["junit"](report(replace(NAMING, message="a\x00<b>"), KEY))
    )
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert suite[1][0].get("message") == "a?<b>"


def test_junit_without_findings_passes_one_case():
    """A service that demands a test sees one pass."""
    root = ElementTree.fromstring(WRITERS["junit"](report()))
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"range": Range(90, 1, 90, 4)}, True, id="moved"),
        pytest.param({"excerpt": "class  Foo(KernelInterface):  "}, True, id="blanks"),
        pytest.param({"message": "other words"}, True, id="message"),
        pytest.param({"rule": "other"}, False, id="rule"),
        pytest.param({"symbol": "pkg.b.Bar"}, False, id="symbol"),
        pytest.param({"path": "src/pkg/c.py"}, True, id="renamed-file"),
    ],
)
def test_fingerprints_follow_a_finding_that_moves(change, same):
    """A fingerprint depends on rule, symbol and normalised text alone."""
    (before,), (after,) = fingerprints([NAMING]), fingerprints([replace(NAMING, **change)])
    assert (before == after) is same


def test_equal_findings_have_distinct_fingerprints():
    """Two findings on equal lines are counted apart."""
    assert len(set(fingerprints([NAMING, NAMING]))) == 2
