"""``tileops inventory`` and ``diff``: what is written, checked and compared, faults included."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tileops.introspect.inventory import shipped_folder

PLANTED = Path(__file__).with_name("packages") / "planted.py"


def test_the_shipped_inventory_says_what_the_tree_selects(cli):
    """The files in the package are up to date, by meaning."""
    result = cli("inventory", "--check")

    assert result.out == "the inventory says what the ops select\n"
    assert result.code == 0


def test_the_listing_names_class_and_place(cli):
    """Every key has where it runs, its rank, and below its class and place."""
    table = cli("inventory", "BlendFwdOp", "--import", "acme_blend")
    lines = [" ".join(line.split()) for line in table.out.splitlines()]

    assert lines[:3] == ["1 op, 6 keys", "", "BlendFwdOp.blend"]
    place = lines.index("blend_tma cuda 90 over blend_narrow")
    assert lines[place + 1] == "BlendTmaKernel acme_blend.py:86, from acme_blend"
    assert any(re.fullmatch(r"blend cuda( [\d, ]+)? general", line) for line in lines)
    markdown = cli("inventory", "BlendFwdOp", "--import", "acme_blend", "--format", "md")
    assert "### BlendFwdOp.blend\n" in markdown.out
    assert "| blend_tma | 90 | preferred over blend_narrow | n % 8 == 0 |" in markdown.out


def test_the_table_has_the_keys_of_installed_backends(cli, acme):
    """It says where they are from; the forms of the files leave them out and say so."""
    table = cli("inventory", "LayerNormFwdOp")
    other = {form: cli("inventory", "LayerNormFwdOp", "--format", form) for form in ("json", "md")}

    assert table.out.splitlines()[0] == "1 op, 2 keys"
    assert re.search(r"^  acme_layer_norm_short_rows  cpu", table.out, re.M)
    assert re.search(r"ShortRowsLayerNorm .*, from tileops[-_]acme$", table.out, re.M)
    assert table.err == ""
    for answer in other.values():
        assert "acme_layer_norm_short_rows" not in answer.out
        assert answer.err.startswith("note: left out: 1 key of tileops")
    assert other["md"].out.startswith("1 key of 1 interface\n")


def test_listings_fit_a_page(cli):
    """No line of the text is wider than a terminal, and no cell holds a long formula."""
    text = cli("inventory").out
    cells = [
        cell
        for line in cli("inventory", "--format", "md").out.splitlines()
        if line.startswith("|")
        for cell in line.split(" | ")
    ]

    assert max(map(len, text.splitlines())) <= 100
    assert max(map(len, cells)) <= 110
    assert "see below" in {cell.rstrip(" |") for cell in cells}


def test_update_says_what_became_of_every_file(cli, tmp_path):
    """A file is written, left as it is, or removed with the last op of its family."""
    folder = tmp_path / "new"
    words = ("inventory", "--folder", str(folder), "--update")

    def became(*more):
        result = cli(*words, *more)
        assert result.code == 0
        return dict(line.split() for line in result.out.splitlines()[1:])

    both = ("--import", "acme_blend", "--import", "acme_rival")
    assert became(*both) == {"acme_blend.json": "written", "norm.json": "written"}
    (folder / "norm.json").unlink()
    assert became(*both) == {"acme_blend.json": "unchanged", "norm.json": "written"}
    assert became("--import", "acme_rival") == {
        "acme_blend.json": "removed",
        "norm.json": "unchanged",
    }
    assert [one.name for one in folder.iterdir()] == ["norm.json"]


def test_a_backend_locks_its_own_ops(cli, tmp_path):
    """The ops that it adds keys to, with these and the in-tree keys, and no others."""
    folder = str(tmp_path / "lock")
    words = ("inventory", "--import", "acme_rival", "--folder", folder)
    cli(*words, "--update")
    written = json.loads((tmp_path / "lock" / "norm.json").read_text(encoding="utf-8"))

    assert list(written["ops"]) == ["LayerNormFwdOp"]
    keys = written["ops"]["LayerNormFwdOp"]["interfaces"]["layer_norm"]["keys"]
    assert list(keys) == ["layer_norm", "acme_rival"]


def test_a_module_without_ops_and_keys_has_no_inventory(cli, tmp_path):
    """It never passes for an inventory that holds; one that held some has lost them."""
    words = ("inventory", "--import", "json", "--folder", str(tmp_path))
    for act in ("--update", "--check"):
        refused = cli(*words, act)
        assert (refused.code, refused.out) == (2, "")
        assert "json: no op is defined there and no key is registered" in refused.err
    assert list(tmp_path.iterdir()) == []
    shutil.copy(shipped_folder() / "gemm.json", tmp_path)
    file = tmp_path / "gemm.json"
    file.write_text(file.read_text("utf-8").replace("GemmFwdOp", "GoneFwdOp"), "utf-8")

    checked = cli(*words, "--check")

    assert checked.code == 1
    assert "GoneFwdOp.gemm  removed" in checked.out


def test_an_op_that_lost_its_last_key_is_missed(cli, tmp_path):
    """What is written down is checked also where the modules add no key any more."""
    folder = tmp_path / "lock"
    cli("inventory", "--import", "acme_rival", "--folder", str(folder), "--update")
    words = ("inventory", "--import", "acme_blend", "--folder", str(folder), "--update")
    cli(*words, "BlendFwdOp")
    record = json.loads((folder / "norm.json").read_text(encoding="utf-8"))
    keys = record["ops"]["LayerNormFwdOp"]["interfaces"]["layer_norm"]["keys"]
    keys["acme_gone"] = keys.pop("acme_rival")
    (folder / "norm.json").write_text(json.dumps(record), encoding="utf-8")

    checked = cli(*words[:-1], "--check")

    assert checked.code == 1
    assert "key acme_gone is gone" in checked.out


def test_an_update_of_named_ops_leaves_the_others_as_they_are(cli, tmp_path):
    """Other ops of the family keep their records and other families their bytes."""
    folder = tmp_path / "inventory"
    shutil.copytree(shipped_folder(), folder)
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    record = json.loads(before["norm.json"])
    for op, interface in (("LayerNormFwdOp", "layer_norm"), ("RMSNormFwdOp", "rms_norm")):
        record["ops"][op]["interfaces"][interface]["keys"][interface]["archs"] = [80]
    (folder / "norm.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "gemm.json").write_bytes(before["gemm.json"].rstrip())

    updated = cli("inventory", "LayerNormFwdOp", "--folder", str(folder), "--update")

    assert updated.code == 0
    after = json.loads((folder / "norm.json").read_text(encoding="utf-8"))
    assert after["ops"].pop("LayerNormFwdOp") == json.loads(before["norm.json"])["ops"].pop(
        "LayerNormFwdOp"
    )
    assert after["ops"].pop("RMSNormFwdOp") == record["ops"]["RMSNormFwdOp"]
    assert (folder / "gemm.json").read_bytes() == before["gemm.json"].rstrip()
    both = cli("inventory", "RMSNormFwdOp", "--folder", str(folder), "--update")
    assert both.code == 0
    assert (folder / "norm.json").read_bytes() == before["norm.json"]


def test_keys_of_other_modules_are_not_written_into_the_package(cli):
    """The files of the package belong to it."""
    before = {one.name: one.read_bytes() for one in shipped_folder().iterdir()}
    for act in ("--update", "--check"):
        refused = cli("inventory", "--import", "acme_rival", act)
        assert (refused.code, refused.out) == (2, "")
        assert "--import needs a --folder" in refused.err

    assert {one.name: one.read_bytes() for one in shipped_folder().iterdir()} == before


def test_only_the_named_op_is_checked(cli, tmp_path):
    """The rest of the inventory is neither compared nor missed."""
    inventory = tmp_path / "inventory"
    shutil.copytree(shipped_folder(), inventory)
    file = inventory / "norm.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    keys = record["ops"]["RMSNormFwdOp"]["interfaces"]["rms_norm"]["keys"]
    keys["rms_norm"]["archs"] = [80]
    file.write_text(json.dumps(record), encoding="utf-8")

    def check(*ops):
        return cli("inventory", *ops, "--folder", str(inventory), "--check")

    assert (check("LayerNormFwdOp").code, check("RMSNormFwdOp").code, check().code) == (0, 1, 1)
    assert "LayerNormFwdOp" not in check("RMSNormFwdOp").out
    assert "removed" not in check("LayerNormFwdOp", "AdaLayerNormFwdOp").out


def test_json_is_what_its_schema_says(cli):
    """The JSON listing holds what the files hold."""
    schema = json.loads(cli("inventory", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    answer = json.loads(cli("inventory", "--format", "json").out)

    jsonschema.validate(answer, schema)
    assert "norm" in answer["families"]


@pytest.fixture(scope="module")
def project(tmp_path_factory, environment):
    """A repository with an op and its inventory, committed; and how to run tileops in it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(PLANTED, folder)

    def run(line: str):
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("tileops inventory --import planted --folder inventory --update").returncode == 0
    identity = "-c user.name=Someone -c user.email=someone@example.com"
    commit = f"git init -q && git add . && git {identity} commit -qm Add"
    assert run(commit).returncode == 0
    return folder, run


def test_a_fault_of_another_package_is_found_with_a_call_that_shows_it(project):
    """The command imports the package by itself, so it can be pasted as it is printed."""
    folder, run = project
    text = PLANTED.read_text(encoding="utf-8")
    faulty = text.replace('    preferred_over = frozenset({"bs1"})\n', "")
    (folder / "planted.py").write_text(faulty, encoding="utf-8")
    checked = run("tileops inventory --import planted --folder inventory --check")

    assert checked.returncode == 1, checked.stdout + checked.stderr
    lines = [line.strip() for line in checked.stdout.splitlines()]
    place = lines.index("changed  long -> ambiguous")
    assert "seqlen_kv >= 1024" in lines[place + 1]
    assert "--import planted" in lines[place + 2]
    assert "ambiguous" in run(lines[place + 2]).stdout
    remedy = "tileops inventory --import planted --folder inventory --update"
    assert f"{remedy} writes it anew" in lines


def test_a_changed_inventory_is_compared_with_a_revision(project):
    """Two revisions, or a revision and a folder, are compared without importing the code."""
    folder, run = project
    faulty = PLANTED.read_text(encoding="utf-8").replace("seqlen_kv < 1024", "seqlen_kv < 2048")
    (folder / "planted.py").write_text(faulty, encoding="utf-8")
    assert run("tileops inventory --import planted --folder inventory --update").returncode == 0
    (folder / "planted.py").write_text("raise SystemExit('nobody imports this')\n")
    compare = "tileops diff HEAD inventory --folder inventory"
    compared = run(f"{compare} --exit-code")
    written = run(f"{compare} --format json")
    schema = json.loads(run("tileops diff --schema").stdout)

    assert compared.returncode == 1
    assert "changed  long -> bs1" in compared.stdout
    assert "seqlen_kv < 2048" in compared.stdout
    assert written.returncode == 0
    jsonschema.validate(json.loads(written.stdout), schema)
    assert "| `long` | `bs1` |" in run(f"{compare} --format md").stdout
    assert (
        "::notice title=DecodeFwdOp.decode::long -> bs1" in run(f"{compare} --format github").stdout
    )
    assert run("tileops diff inventory inventory --exit-code").returncode == 0


@pytest.mark.parametrize(
    ("sides", "source"),
    [
        pytest.param("HEAD HEAD", "HEAD:bare", id="both"),
        pytest.param("HEAD inventory", "HEAD:bare", id="base"),
        pytest.param("inventory HEAD", "HEAD:bare", id="head"),
    ],
)
def test_a_revision_without_an_inventory_is_no_inventory(project, sides, source):
    """A folder that holds none is told with its revision; it never passes for no difference."""
    folder, run = project
    (folder / "bare").mkdir(exist_ok=True)
    (folder / "bare" / "notes.md").write_text("none here\n")
    identity = "-c user.name=Someone -c user.email=someone@example.com"
    run(f"git add bare && git {identity} commit -qm Notes")
    refused = run(f"tileops diff {sides} --exit-code --folder bare")

    assert (refused.returncode, refused.stdout) == (3, "")
    assert f"cause: {source} holds no inventory: there is no file of one" in refused.stderr
    assert run(f"tileops diff {sides} --folder inventory").returncode == 0


def test_a_revision_without_one_says_how_to_compare(project):
    """Where it keeps the inventory, or how its code can write one."""
    _, run = project
    elsewhere = run("tileops diff HEAD HEAD")
    assert elsewhere.returncode == 3
    assert (
        "cause: HEAD holds no inventory: there is no folder src/tileops/inventory\n"
        in elsewhere.stderr
    )
    assert "help: --folder inventory is where HEAD has one\n" in elsewhere.stderr
    identity = "-c user.name=Someone -c user.email=someone@example.com"
    empty = run(
        f"git {identity} commit-tree -m Begin $(git hash-object -t tree /dev/null)"
    ).stdout.strip()

    before = run(f"tileops diff {empty} HEAD --folder inventory")

    assert before.returncode == 3
    assert f"git worktree add ../old {empty}, and with that installed\n" in before.stderr
    assert "tileops inventory --import MODULE --folder ../before --update" in before.stderr


def test_an_op_without_interfaces_is_told_to_declare_them(cli, tmp_path, monkeypatch):
    """An op that holds kernels and states no interface fails the check by name."""
    module = tmp_path / "acme_undeclared.py"
    module.write_text(
        "from planted import DecodeFwdOp, DecodeKernel\n"
        "from tileops.ops.op import Op\n"
        "class BareFwdOp(Op):\n"
        "    kernel_types = {'decode': DecodeKernel}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ("inventory", "BareFwdOp", "--import", "acme_undeclared", "--folder", str(tmp_path))
    result = cli(*words, "--check")

    assert result.code == 1
    assert "declare interfaces instead" in result.out


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        pytest.param(["diff"], 2, "needs BASE and HEAD", id="nothing-to-compare"),
        pytest.param(["diff", "no-such-revision", "."], 3, "no inventory in", id="no-revision"),
        pytest.param(["diff", "", "."], 2, "'' names no folder and no revision", id="empty-name"),
        pytest.param(
            ["diff", "--", "-x", "."], 2, "'-x' names no folder and no revision", id="option"
        ),
        pytest.param(
            ["diff", "a" * 5000, "."], 3, "'... (5000 characters)\ncause: ", id="long-name"
        ),
    ],
)
def test_what_cannot_be_compared_is_said(cli, words, code, fragment):
    """A missing side ends with a sentence and its exit code."""
    result = cli(*words)

    assert result.code == code
    assert fragment in result.err


def test_diff_loads_no_torch(modules_after):
    """Comparing inventories needs neither torch nor the kernels."""
    loaded = modules_after("diff", str(shipped_folder()), str(shipped_folder()))

    assert loaded.isdisjoint({"torch", "tilelang", "libcst"})
