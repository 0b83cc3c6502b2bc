"""The glossary has the words that the commands print, each once, and pages lead to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileops.cli._audit_text import _WORDS
from tileops.findings import Applicability, Severity
from tileops.introspect.audit import Proof
from tileops.selection import Outcome, Stage

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "glossary.md").read_text("utf-8")

TERMS = re.findall(r"\*\*([^*]+)\*\*", PAGE)

OUTCOMES = {Outcome.NO_DEVICE: "not available"}
"""How an outcome is said where it is not by its value."""

PRINTED = [
    *(OUTCOMES.get(one, one.value) for one in Outcome),
    *(one.value.replace("_", " ") for one in Proof),
    *_WORDS,
    # The columns and sentences of recordings, comparisons, maps, boundaries and doctor.
    "first choice", "fallback", "served by", "share", "kind", "first call at", "decided again",
    "undecided", "skipped", "changed", "declared", "not compared", "ranks", "plainest call",
    "nearest call", "why not", "settle it", "over", "exact", "boundary", "not decided",
    "not modelled", "by default", "decided here", "not asked", "claims", "selected by name",
    "impossible", "required", "workload", "condition", "baseline", "finding", "fix", "board",
    "undeclared", "disjoint", "supposed", "in-tree", "target", "boundary pair",
]  # fmt: skip


@pytest.mark.parametrize("term", PRINTED)
def test_a_printed_word_is_explained(term):
    """Whatever its case; of ``unserved, accepted`` each word."""
    known = {one.lower() for one in TERMS}

    assert term.lower() in known or {one.strip().lower() for one in term.split(",")} <= known


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_is_explained_or_named_among_the_stages(stage):
    """The stages that are words of their own, and those that name what was asked."""
    (said,) = re.findall(r"^- \*\*Stage\*\*: (.*)$", PAGE, flags=re.M)

    assert stage.value in said


@pytest.mark.parametrize("word", [*Severity, *Applicability], ids=lambda one: one.value)
def test_the_tiers_and_kinds_of_fixes_are_said(word):
    """Under lint."""
    lint = PAGE.split("## Lint\n")[1].split("\n## ")[0]

    assert word.value in lint


def test_a_word_is_explained_once_and_found_by_the_alphabet():
    """Within its group, and in no other one."""
    explained = re.findall(r"^- \*\*([^*]+)\*\*", PAGE, flags=re.M)
    groups = [re.findall(r"^- \*\*([^*]+)\*\*", one, flags=re.M) for one in PAGE.split("\n## ")]

    assert len(explained) == len(set(explained))
    for group in groups:
        assert group == sorted(group, key=str.lower)


def test_pages_lead_to_the_glossary():
    """Where its words are met first."""
    leading = {one.name for one in DOCS.glob("*.md") if "](glossary.md" in one.read_text("utf-8")}

    assert leading >= {
        "finding-out-why-a-call-was-slow.md",
        "first-hour.md",
        "how-an-op-selects-a-kernel.md",
        "proving-selection.md",
        "selection-in-ci.md",
        "testing-selection.md",
        "writing-and-using-hooks.md",
    }
