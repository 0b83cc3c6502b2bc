"""``tileops lint`` and ``tileops rule`` from outside: output, exit codes, cache, imports."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

GOOD = (
    "from tileops.backend import KernelInterface\n\n\nclass AFwdInterface(KernelInterface): ...\n"
)
BAD = GOOD.replace("AFwdInterface", "AFwdWideInterface")
SETTINGS = '[tool.tileops.lint]\nselect = ["interface-name", "unused-ignore"]\n'


@pytest.fixture
def project(repository):
    """A git repository with one tracked bad file and one that is not tracked."""
    root = repository({"tracked.py": BAD, "pyproject.toml": SETTINGS})
    (root / "other.py").write_text(BAD)
    return root


def test_only_tracked_files_are_linted(project, cli):
    """A class in an untracked file neither helps nor hurts."""
    run = cli("lint", "--format", "concise")
    assert run.code == 1
    assert run.out.startswith("tracked.py:4:7: warning interface-name: ")
    assert "other.py" not in run.out


def test_a_named_file_is_linted_tracked_or_not(project, cli):
    """Findings are shown for the paths that are given."""
    assert cli("lint", "other.py", "--format", "concise").out.startswith("other.py:4:7: ")


def test_clean_project_exits_with_0(project, cli):
    """Nothing to report: 0."""
    (project / "tracked.py").write_text(GOOD)
    run = cli("lint")
    assert (run.code, run.out) == (0, "2 files checked, no findings\n")


def test_warm_run_gives_the_same_bytes(project, cli):
    """Cold, warm and without cache: one answer."""
    cold = cli("lint")
    assert (project / ".tileops_cache" / "lint" / "facts").exists()
    assert cli("lint") == cold
    assert cli("lint", "--no-cache", "-j", "2") == cold


@pytest.mark.parametrize(
    "junk", [b"", b"\x00junk", b"\x93\xa1x\x80\x80"], ids=["none", "junk", "key"]
)
def test_corrupt_cache_is_rebuilt(project, cli, junk):
    """A cache that cannot be read, or is of another tool, counts as absent."""
    cold = cli("lint")
    for name in ("facts", "states"):
        (project / ".tileops_cache" / "lint" / name).write_bytes(junk)
    assert cli("lint") == cold


def test_no_cache_writes_none(project, cli):
    """``--no-cache`` leaves no trace."""
    cli("lint", "--no-cache")
    assert not (project / ".tileops_cache").exists()


def test_an_edit_is_seen(project, cli):
    """A changed file is linted anew."""
    assert cli("lint").code == 1
    (project / "tracked.py").write_text(GOOD)
    assert cli("lint").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param((".", "/"), "lies outside its project", id="outside"),
        pytest.param(("--select", "interface-nam"), "did you mean interface-name", id="rule"),
        pytest.param(("--ignore", "x"), "names the rule 'x', which does not exist", id="ignore"),
        pytest.param(("--format", "yaml"), "'yaml' is not one of", id="format"),
        pytest.param(("-j", "-1"), "-j must be 0 or more", id="jobs"),
        pytest.param(("",), "PATHS is empty; it names a file or a folder", id="empty"),
        pytest.param(("--update-baseline",), "give --baseline FILE", id="no-baseline"),
        pytest.param(
            ("tracked.py", "--baseline", "b", "--update-baseline"), "give no PATHS", id="partial"
        ),
        pytest.param(("--statistics", "--format", "json"), "--statistics is text", id="counts"),
        pytest.param(
            ("--diff", "--baseline", "b", "--update-baseline"), "--diff writes nothing", id="diff"
        ),
        pytest.param(("--fixx",), "no such option", id="option"),
    ],
)
def test_wrong_usage_exits_with_2(project, cli, words, said):
    """What cannot be asked is said on stderr, and nothing is written."""
    (project / "notes.txt").write_text("")
    before = {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}
    run = cli("lint", *words)
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    after = {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("missing.py",), "missing.py is to be linted, but there is no", id="path"),
        pytest.param(("tracked.py/x.py",), "but there is no such file or folder", id="in-a-file"),
        pytest.param(("notes.txt",), "neither a .py file nor a pyproject.toml", id="kind"),
        pytest.param(("loop.py",), "loop.py cannot be read: Too many levels", id="loop"),
        pytest.param(("pipe.py",), "pipe.py is to be linted, but it is no regular", id="pipe"),
        pytest.param(("x" * 300,), "cannot be read: File name too long", id="long"),
        pytest.param(("--baseline", "no.json"), "no.json does not exist", id="baseline"),
        pytest.param(("--baseline", "."), "cannot be read: Is a directory", id="folder"),
        pytest.param(("--baseline", "pipe.py"), "is no regular file", id="baseline-pipe"),
        pytest.param(("--baseline", "loop.py"), "cannot be read: Too many", id="baseline-loop"),
    ],
)
def test_a_file_that_is_no_good_exits_with_3(project, cli, words, said):
    """Missing, of another kind or unreadable: nothing is waited for, and nothing is written."""
    (project / "notes.txt").write_text("")
    (project / "loop.py").symlink_to("loop.py")
    os.mkfifo("pipe.py")
    before = sorted(path.name for path in project.iterdir())

    run = cli("lint", *words)

    assert (run.code, run.out) == (3, "")
    assert said in run.err
    assert sorted(path.name for path in project.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[tool.tileops.lint]\nselekt = []\n", "unknown key 'selekt'", id="key"),
        pytest.param("[tool.tileops.lint]\nselect = 1\n", "a list of strings", id="type"),
        pytest.param("[tool.tileops.lint]\nbaseline = 1\n", "must be a string", id="text"),
        pytest.param('[tool.tileops.lint]\nignore = ["no"]\n', "names the rule 'no'", id="rule"),
        pytest.param("[tool]\ntileops = 1\n", "tool.tileops must be a table", id="table"),
        pytest.param("[tool.tileops.lint]\nper-file-ignores = []\n", "must be a table", id="inner"),
        pytest.param("[tool\n", "cannot be read", id="toml"),
        pytest.param(b"\xff", "cannot be read", id="encoding"),
    ],
)
def test_broken_configuration_exits_with_3(project, cli, text, said):
    """A table that cannot be understood ends the run, which would have other settings."""
    (project / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    run = cli("lint")
    assert (run.code, run.out) == (3, "")
    assert said in run.err


def test_unreadable_file_exits_with_3(project, cli, monkeypatch):
    """A file the system does not hand out is no clean file."""
    read = Path.read_bytes

    def refuse(path):
        if path.name == "tracked.py":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    run = cli("lint")
    assert (run.code, run.out) == (3, "")
    assert "tracked.py cannot be read: Permission denied" in run.err


def test_pipe_in_place_of_a_file_is_not_waited_for(project, cli):
    """What is no regular file does not exist for the linter."""
    (project / "tracked.py").unlink()
    os.mkfifo("tracked.py")
    assert cli("lint").code == 0
    assert "no regular file" in cli("lint", "tracked.py").err


@pytest.mark.parametrize(
    ("words", "speaks"),
    [
        pytest.param((), True, id="configured"),
        pytest.param(("--select", "E"), False, id="other-tier"),
        pytest.param(("--select", "P,W"), True, id="two-tiers"),
        pytest.param(("--select", "P", "--select", "W"), True, id="repeated"),
        pytest.param(("--select", "warning"), True, id="tier-in-full"),
        pytest.param(("--select", "all"), True, id="all"),
        pytest.param(("--select", "all", "--ignore", "W"), False, id="all-but-a-tier"),
        pytest.param(("--ignore", "interface-name"), False, id="ignored"),
        pytest.param(("--select", "W", "--ignore", "interface-name"), False, id="all-but-one"),
    ],
)
def test_rules_are_selected_by_name_and_tier(project, cli, words, speaks):
    """Ids, tiers and the start of them, and all, separated by commas or repeated."""
    assert ("interface-name" in cli("lint", *words).out) is speaks


def test_per_file_ignores(project, cli):
    """Rules can be switched off for files that match a glob."""
    text = SETTINGS + '[tool.tileops.lint.per-file-ignores]\n"track*" = ["W"]\n'
    (project / "pyproject.toml").write_text(text)
    assert cli("lint").code == 0


def test_excluded_files_are_not_read(project, cli):
    """What a pattern of ``exclude`` matches does not exist for the linter, even when named."""
    (project / "pyproject.toml").write_text(SETTINGS + 'exclude = ["track*"]\n')
    run = cli("lint", "tracked.py")
    assert (run.code, run.out) == (0, "0 files checked, no findings\n")
    assert "no tracked Python file" in run.err


def test_suppression_and_its_idleness(project, cli):
    """A comment keeps a finding; one that keeps nothing is a finding."""
    comment = "  # tileops: ignore[interface-name] -- kept\n"
    (project / "tracked.py").write_text(BAD.replace(" ...\n", comment + "    x = 1\n"))
    assert cli("lint").code == 0
    (project / "tracked.py").write_text(GOOD.replace(" ...\n", comment + "    x = 1\n"))
    assert "unused-ignore" in cli("lint").out


def test_json_follows_its_schema(project, cli):
    """The report is valid against what ``--schema`` prints."""
    schema = json.loads(cli("lint", "--schema").out)
    assert schema == json.loads((files("tileops.cli") / "schemas" / "lint.json").read_text())
    report = json.loads(cli("lint", "--format", "json", "--show-unknown").out)
    jsonschema.validate(report, schema)
    assert report["schema"] == schema["properties"]["schema"]["const"]
    assert [f["path"] for f in report["findings"]] == ["tracked.py"]


def test_every_format_names_the_finding(project, cli):
    """Each form is well formed and exits alike."""
    for form in ("full", "concise", "github", "json", "sarif", "junit"):
        run = cli("lint", "--format", form)
        assert run.code == 1
        assert "interface-name" in run.out
    assert json.loads(cli("lint", "--format", "sarif").out)["version"] == "2.1.0"
    assert ElementTree.fromstring(cli("lint", "--format", "junit").out).tag == "testsuites"


def test_statistics_count_per_rule(project, cli):
    """One line per rule, most frequent first, then the total."""
    (project / "tracked.py").write_text(BAD + BAD.replace("AFwd", "BFwd"))
    run = cli("lint", "--statistics")
    first, *_, last = run.out.splitlines()
    assert first.split()[0] == "2"
    assert first.endswith("interface-name")
    assert last.startswith("2 files checked, 2 findings")


def test_unknown_bases_are_shown_on_request(project, cli):
    """A class whose base cannot be resolved is told, and is no finding."""
    (project / "tracked.py").write_text("from acme import Odd\n\n\nclass A(Odd[int]): ...\n")
    assert cli("lint").out == "2 files checked, no findings\n"
    run = cli("lint", "--show-unknown", "--format", "concise")
    said = "tracked.py:4:9: unknown: A derives from acme.Odd, of which nothing is known\n"
    assert (run.code, run.out) == (0, said)


def test_outside_a_repository_paths_are_taken_as_given(tmp_path, cli, monkeypatch):
    """Without git and pyproject.toml the folder that holds all paths is the root."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(BAD)
    monkeypatch.chdir(tmp_path / "a")
    run = cli("lint", ".", "../b", "--select", "interface-name", "--format", "concise")
    assert [line.partition(":")[0] for line in run.out.splitlines()] == ["a/a.py", "b/b.py"]
    assert not (tmp_path / ".tileops_cache").exists()


def test_bytes_no_codec_reads_are_shown(project, cli, python):
    """A file that is no UTF-8 is a finding in every format and every encoding of stdout."""
    (project / "tracked.py").write_bytes(b'x = "\xff\xe9"\n')
    for form in ("full", "json", "sarif", "junit", "github"):
        run = cli("lint", "--format", form, "--select", "syntax-error")
        assert run.code == 1, run.err
        assert "syntax-error" in run.out
    run = python(project, "-m", "tileops", "lint", "--select", "E", PYTHONIOENCODING="ascii")
    assert run.code == 1, run.err


def test_reader_that_goes_ends_it_quietly(project, python):
    """A closed pipe is no traceback; the code is that of a program the pipe kills."""
    (project / "tracked.py").write_text(BAD.replace(" ...", "\n    x = 1") * 2000)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    with subprocess.Popen(
        [sys.executable, "-m", "tileops", "lint", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_rule_prints_a_page(cli):
    """With an id, the rule's page; without, one line per rule."""
    assert cli("rule", "interface-name").out.startswith("# interface-name\n")
    assert "interface-name" in cli("rule").out
    assert cli("rule", "interface-nam").code == 2


def test_linting_loads_no_torch_and_libcst_only_to_parse(tmp_path, python):
    """``import tileops.lint`` is light, and so is a run over files without contract classes."""
    (tmp_path / "plain.py").write_text("class A(Exception):\n    x = 1\n")
    code = (
        "import sys, pathlib\n"
        "import tileops.lint\n"
        "tileops.lint.lint(tileops.lint.Request(cache=False), pathlib.Path('.'))\n"
        "heavy = {'torch', 'tilelang', 'libcst', 'z3', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = python(tmp_path, "-c", code)
    assert run.code == 0, run.err


def test_a_warm_run_imports_no_rule(project, python):
    """What an equal run answered is told without rules, index or parsers."""
    code = (
        "import sys, pathlib\n"
        "from tileops.lint import Request, lint\n"
        "run = lint(Request(), pathlib.Path('.'))\n"
        "assert run.findings\n"
        "print(sorted(m for m in sys.modules if m.startswith('tileops.lint.')))\n"
        "assert ('tileops.lint.rules.interface_name' in sys.modules) is (sys.argv[1] == 'cold')\n"
        "assert ('libcst' in sys.modules) is (sys.argv[1] == 'cold')\n"
    )
    for state in ("cold", "warm"):
        run = python(project, "-c", code, state)
        assert run.code == 0, run.out + run.err
