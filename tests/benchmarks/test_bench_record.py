"""Results files: what is written is read back, validates, and another schema is refused."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from harness.record import PeerRow, Row, json_schema
from harness.store import ResultsFileError, read, write
from samples import peer, results, row

FULL_RESULTS = results(
    row("a", 110.0, peers=(peer("torch", 1.5, 110.0), PeerRow(name="liger", status="absent"))),
    row("b", None, detail="KeyError: 'x'"),
    unfinished=("LayerNormFwdOp/c",),
)


def test_results_survive_the_file(tmp_path):
    """Every member is read back as it was written."""
    path = tmp_path / "deep" / "results.json"
    write(FULL_RESULTS, path)
    assert read(path) == FULL_RESULTS
    assert [one.name for one in path.parent.iterdir()] == ["results.json"]


def test_results_validate_against_the_schema(tmp_path):
    """The file is valid under the schema that the command prints, and names its version."""
    write(FULL_RESULTS, tmp_path / "results.json")
    document = json.loads((tmp_path / "results.json").read_text())
    jsonschema.Draft202012Validator(json_schema()).validate(document)
    assert document["schema"] == json_schema()["$id"] == "tileops.benchmark/2.0"


def test_the_schema_refuses_a_row_without_its_bytes():
    """The schema is no formality: a member that is missing is an error."""
    document = json.loads(msgspec.json.encode(FULL_RESULTS))
    del document["rows"][0]["bytes"]
    with pytest.raises(jsonschema.ValidationError, match="bytes"):
        jsonschema.Draft202012Validator(json_schema()).validate(document)


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        pytest.param("tileops.benchmark/2.7", True, id="later-minor"),
        pytest.param("tileops.benchmark/1.2", True, id="earlier-major"),
        pytest.param("tileops.benchmark/3.0", False, id="later-major"),
        pytest.param("tileops.inventory/1.0", False, id="other-kind"),
    ],
)
def test_a_later_major_version_is_refused_and_others_are_read(tmp_path, schema, fits):
    """Members that a later minor version adds are ignored."""
    document = json.loads(msgspec.json.encode(FULL_RESULTS)) | {"schema": schema, "added": 1}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    if fits:
        assert read(path).rows == FULL_RESULTS.rows
        return
    with pytest.raises(ResultsFileError, match=schema):
        read(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "No such file", id="no-file"),
        pytest.param(b"{", "no results file", id="no-json"),
        pytest.param(b'{"rows": []}', "missing required field `schema`", id="no-schema"),
        pytest.param(b'{"schema": "tileops.benchmark/1.0"}', "missing", id="no-members"),
    ],
)
def test_what_is_no_results_file_is_said(tmp_path, content, problem):
    """The error names the file and the problem."""
    path = tmp_path / "results.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ResultsFileError, match=problem) as caught:
        read(path)
    assert caught.value.path == path


def test_the_best_peer_is_the_fastest_of_those_timed():
    """A peer without a time is no rival."""
    rivals = (peer("a", 1.4), PeerRow(name="b", status="failed"), peer("c", 1.1))
    assert row("w", peers=rivals).best_peer.name == "c"
    assert row("w").best_peer is None


def test_a_row_that_failed_needs_no_timing():
    """Only the facts of the workload are required."""
    failed = Row(
        op="O", family="f", workload="w", source="sweep", params={}, inputs={}, flops=0, bytes=1,
        status="failed",
    )  # fmt: skip
    assert failed.timing is None
    assert failed.peers == ()
