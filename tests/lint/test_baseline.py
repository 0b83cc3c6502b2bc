"""The baseline: known findings stay quiet, new ones count, and the file is checked."""

import json
from dataclasses import replace

import pytest

from tileops.findings import Finding, Range, Severity, fingerprints
from tileops.lint._baseline import Baseline

HEAD = "from tileops.backend import KernelInterface\n\n\n"
WIDE = "class {}FwdWideInterface(KernelInterface): ...\n"
SETTINGS = '[tool.tileops.lint]\nselect = ["interface-name"]\nbaseline = "known.json"\n'


@pytest.fixture
def project(repository, cli):
    """A repository whose one finding its baseline knows."""
    root = repository({"a.py": HEAD + WIDE.format("A"), "pyproject.toml": SETTINGS})
    assert cli("lint", "--update-baseline").code == 0
    return root


def test_known_findings_are_quiet(project, cli):
    """The run passes and says on stderr what it keeps quiet about."""
    run = cli("lint")
    assert (run.code, run.out) == (0, "2 files checked, no findings\n")
    assert run.err == "the baseline knows 1 finding\n"


def test_new_findings_count(project, cli):
    """A second finding is reported alone, also when it stands above the known one."""
    (project / "a.py").write_text(HEAD + WIDE.format("B") + WIDE.format("A"))
    run = cli("lint", "--format", "concise")
    assert run.code == 1
    assert [line.split()[3] for line in run.out.splitlines()] == ["interface"]
    assert "BFwdWideInterface" in run.out


def test_each_entry_stands_for_one_finding():
    """Of equal findings as many are known as the baseline counted."""
    finding = Finding("rule", Severity.ERROR, "a.py", Range(1, 1, 1, 2), "said", excerpt="x = 1")
    moved = replace(finding, range=Range(2, 1, 2, 2))
    one = Baseline(frozenset(fingerprints([finding])))
    assert one.split([finding, moved]) == ([moved], [finding])


def test_moved_findings_stay_known(project, cli):
    """Lines above a finding do not make it new."""
    (project / "a.py").write_text("# A comment.\n" + HEAD + WIDE.format("A"))
    assert cli("lint").code == 0


def test_the_command_line_comes_first(project, cli):
    """``--baseline`` replaces the configured file; the empty name switches it off."""
    assert cli("lint", "--baseline", "").code == 1


def test_paths_do_not_disturb_it(project, cli):
    """A run about some files knows what the whole project's baseline knows."""
    assert cli("lint", "a.py").code == 0


def test_file_is_readable_and_stable(project, cli):
    """One line per finding, which names rule, path and message; writing again changes nothing."""
    text = (project / "known.json").read_text()
    (entry,) = json.loads(text)["findings"]
    assert (entry["rule"], entry["path"]) == ("interface-name", "a.py")
    cli("lint", "--update-baseline")
    assert (project / "known.json").read_text() == text


def test_update_forgets_what_is_gone(project, cli):
    """A clean project has an empty baseline."""
    (project / "a.py").write_text("")
    assert cli("lint", "--update-baseline").code == 0
    assert json.loads((project / "known.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "is no JSON", id="empty"),
        pytest.param("{}", "does not state the schema", id="schema"),
        pytest.param("[]", "does not state the schema", id="list"),
        pytest.param(
            '{"schema": "tileops.lint-baseline/1.0"}', "has no list of findings", id="findings"
        ),
        pytest.param(
            '{"schema": "tileops.lint-baseline/1.0", "findings": [1]}',
            "an entry without fingerprint",
            id="entry",
        ),
    ],
)
def test_broken_baseline_exits_with_3(project, cli, text, said):
    """A baseline that cannot be read does not count as one that knows nothing."""
    (project / "known.json").write_text(text)
    run = cli("lint")
    assert (run.code, run.out) == (3, "")
    assert said in run.err
    assert "remove it and let tileops lint --update-baseline write it anew" in run.err
    assert (project / "known.json").read_text() == text
    assert cli("lint", "--update-baseline").code == 3
    assert (project / "known.json").read_text() == text
    (project / "known.json").unlink()
    assert cli("lint", "--update-baseline").code == 0
