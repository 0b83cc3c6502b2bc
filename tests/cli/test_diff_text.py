"""``tileops diff`` of inventories that hold odd names: every line and every row stays one."""

from __future__ import annotations

import json
import shutil

import pytest

from tileops.introspect.inventory import shipped_folder

ODD = "first\nsecond | third\x1b[31m"
PLACE = "LayerNormFwdOp.layer_norm"


@pytest.fixture
def compare(cli, tmp_path):
    """Compare the shipped inventory with one of which LayerNorm's only key is changed."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        shutil.copy(shipped_folder() / "norm.json", tmp_path / name)

    def run(form, old, new):
        for name, members in (("old", old), ("new", new)):
            file = tmp_path / name / "norm.json"
            record = json.loads(file.read_text("utf-8"))
            interface = record["ops"]["LayerNormFwdOp"]["interfaces"]["layer_norm"]
            key = interface["keys"].pop("layer_norm")
            interface["keys"] = {members.pop("key", "layer_norm"): key | members}
            file.write_text(json.dumps(record), "utf-8")
        result = cli("diff", str(tmp_path / "old"), str(tmp_path / "new"), "--format", form)
        assert (result.code, result.err) == (0, "")
        assert "\x1b" not in result.out
        return result.out.splitlines()

    return run


UNMODELLED = [
    {"source": "a", "unknown": "true", "unmodelled": [ODD]},
    {"source": "b", "unknown": "true", "unmodelled": [ODD]},
]


def test_a_reason_with_a_line_break_stays_on_its_line(compare):
    """Why code is not compared comes from the code's author."""
    assert compare("text", *UNMODELLED) == [
        PLACE,
        r"  NOT COMPARED  layer_norm: first\nsecond | third\x1b[31m; "
        r"first\nsecond | third\x1b[31m",
    ]


def test_a_reason_with_a_line_break_stays_in_its_item(compare):
    """A bar is escaped, since an item may follow a table."""
    assert compare("md", *UNMODELLED) == [
        f"### `{PLACE}`",
        "",
        r"- **NOT COMPARED** layer_norm: first second \| third\x1b[31m; "
        r"first second \| third\x1b[31m",
    ]


def test_a_key_with_a_line_break_stays_in_its_row(compare):
    """Every row of the table has as many cells as its head."""
    lines = compare("md", {}, {"key": ODD})
    rows = [line for line in lines if line.startswith("|")]

    assert len(rows) > 2
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}


def test_annotations_stay_on_their_lines(compare):
    """What would end a workflow command is escaped, in its title too."""
    lines = compare("github", {"class": "a:A"}, {"class": f"b:{ODD}".replace("\x1b", "")})

    assert lines == [
        f"::notice title={PLACE}::layer_norm: class a:A -> b:first%0Asecond | third[31m"
    ]


@pytest.mark.parametrize("side", ["added", "removed"])
def test_an_annotation_tells_of_an_interface_that_comes_or_goes(cli, tmp_path, side):
    """It is no change of a call, and still one that a reviewer must see."""
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder in folders:
        folder.mkdir()
        shutil.copy(shipped_folder() / "norm.json", folder)
    record = json.loads((folders[1] / "norm.json").read_text("utf-8"))
    del record["ops"]["LayerNormFwdOp"]
    (folders[1] / "norm.json").write_text(json.dumps(record), "utf-8")
    ordered = map(str, folders if side == "removed" else reversed(folders))

    out = cli("diff", *ordered, "--format", "github").out

    assert out == f"::notice title={PLACE}::the interface is {side}\n"
