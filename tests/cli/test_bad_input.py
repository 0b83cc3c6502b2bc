"""What cannot be asked, read or written ends with one sentence and its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tileops.introspect.inventory import shipped_folder

LAYER_NORM = ("explain", "LayerNormFwdOp", "--n", "8", "--gpu", "h200")
GLA = (
    *("explain", "GLAFwdOp", "--batch", "1", "--seq-len", "1", "--heads", "4"),
    *("--dim-k", "64", "--dim-v", "64", "--gpu", "h200"),
)
BATCH_NORM = ("explain", "BatchNormFwdOp", "--n", "1", "--c", "8", "--gpu", "h200")
TENSORS = ("explain", "LayerNormFwdOp", "--gpu", "h200", "input=f16[4,8]")
DIGITS = "9" * 5000
DEEP = 100_000


@pytest.fixture
def here(cli, tmp_path, monkeypatch):
    """A folder with files that are no good, and good ones beside them."""
    shutil.copytree(shipped_folder(), tmp_path / "inventory")
    record = json.loads((tmp_path / "inventory" / "norm.json").read_text(encoding="utf-8"))
    interfaces = record["ops"]["LayerNormFwdOp"]["interfaces"]
    for name, possible in {
        "deep-formula": "(not " * 300 + "true" + ")" * 300,
        "broken-formula": "(le n",
    }.items():
        interfaces["layer_norm"]["possible"] = possible
        (tmp_path / name).mkdir()
        (tmp_path / name / "norm.json").write_text(json.dumps(record))
    (tmp_path / "deep").mkdir()
    nested = json.dumps(record)[:-1] + ',"x":' + "[" * DEEP + "]" * DEEP + "}"
    (tmp_path / "deep" / "norm.json").write_text(nested)
    (tmp_path / "empty").mkdir()
    (tmp_path / "deep.jsonl").write_text('{"kind":"header","argv":' + "[" * DEEP + "\n")
    (tmp_path / "binary.jsonl").write_bytes(b"\x80\x02}q\x00\n\xff\xfe\n")
    header = {"kind": "header", "schema": "tileops.trace/1.0", "pid": 1, "argv": ["a"]}
    good = json.dumps({**header, "tileops": "0.1.0", "torch": "2.13"})
    (tmp_path / "good.jsonl").write_text(good + "\n")
    (tmp_path / "acme_good.py").write_text("")
    for name, line in {
        "exits": "raise SystemExit(5)",
        "stops": "raise type('Stop', (KeyboardInterrupt,), {})('now')",
        "odd": "raise type('Odd', (BaseException,), {})('no')",
        "generator": "raise GeneratorExit",
        "mute": "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
    }.items():
        (tmp_path / f"acme_{name}.py").write_text(line)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("bad", "code", "fragment", "good"),
    [
        pytest.param(
            (*LAYER_NORM, "--gpu", "a100"), 2,
            "--gpu takes one value, and is given 'h200' and 'a100'", LAYER_NORM, id="two-boards",
        ),
        pytest.param(
            ("explain", "LayerNormFwdOp", "--n", "8", "--arch=80", "--arch", "90"), 2,
            "--arch takes one value, and is given '80' and '90'",
            ("explain", "LayerNormFwdOp", "--n", "8", "--arch=80"), id="two-architectures",
        ),
        pytest.param(
            (*LAYER_NORM, "--n", "9"), 2, "--n takes one value, and is given '8' and '9'",
            LAYER_NORM, id="a-fact-twice",
        ),
        pytest.param(
            ("explain", "LayerNormFwdOp", "--n", DIGITS), 2, "... (5000 characters)",
            (*LAYER_NORM, "--eps", "1"), id="digits",
        ),
        pytest.param(
            ("explain", "LayerNormFwdOp", "--n", f"0x{DIGITS}"), 2, "--n takes a whole number",
            ("explain", "LayerNormFwdOp", "--gpu", "h200", "--n", "0x10"), id="hexadecimal-digits",
        ),
        pytest.param(
            (*LAYER_NORM[:-2], "--arch", DIGITS), 2, "--arch takes an architecture",
            (*LAYER_NORM[:-2], "--arch", "sm_90"), id="digits-of-an-architecture",
        ),
        pytest.param(
            (*LAYER_NORM[:-2], "--arch", "9\u00b2"), 2, "--arch takes an architecture",
            (*LAYER_NORM[:-2], "--arch", "9.0"), id="a-superscript",
        ),
        pytest.param(
            (*TENSORS[:-1], f"input=f16[{DIGITS}]", "normalized_shape=8"), 2,
            "no tensor has a size of more than 18 digits",
            (*TENSORS, "normalized_shape=8"), id="digits-of-a-size",
        ),
        pytest.param(
            (*TENSORS, f"normalized_shape=0x{DIGITS}"), 2, "normalized_shape= takes values",
            (*TENSORS, "normalized_shape=0x8"), id="digits-of-a-parameter",
        ),
        pytest.param(
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--vary", f"n=1..{DIGITS}"), 2,
            "--vary takes fact=low..high, whole numbers",
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--vary", "n=1..9"), id="digits-of-a-span",
        ),
        pytest.param(
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--n", "8", "--vary", "dtype=1..2"), 2,
            "--vary takes an integer fact, and dtype is none",
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--vary", "n=1..2"), id="no-integer-fact",
        ),
        pytest.param(
            ("map", "LayerNormFwdOp", "--gpu", "h200", *("--vary", "n=1..2") * 2), 2,
            "n varies twice; two --vary name two facts",
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--vary", "n=1..2"), id="varies-twice",
        ),
        pytest.param(
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--n", "7", "--vary", "n=1..2"), 2,
            "n varies, and --n states it",
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--vary", "n=1..2"), id="varies-and-stays",
        ),
        pytest.param(
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--eps", "inf", "--vary", "n=1..2"), 2,
            "--eps takes a finite number, 0.0 or more; got 'inf'",
            ("map", "LayerNormFwdOp", "--gpu", "h200", "--eps", "1", "--vary", "n=1..2"),
            id="a-map-of-an-infinite-fact",
        ),
        pytest.param(
            (*LAYER_NORM, "--eps=-inf"), 2,
            "--eps takes a finite number, 0.0 or more; got '-inf'",
            (*LAYER_NORM, "--eps", "1e38"), id="an-infinite-fact",
        ),
        pytest.param(
            (*GLA, "--scale", "inf"), 2, "--scale takes a finite number; got 'inf'",
            (*GLA, "--scale=-1e38"), id="an-infinite-fact-without-a-range",
        ),
        pytest.param(
            (*BATCH_NORM, "--interface", "batch_norm_fwd_train"), 2,
            "no op makes such a call: n * spatial must be more than 1 in training, got 1",
            BATCH_NORM, id="impossible-for-the-interface-named",
        ),
        pytest.param(
            (*BATCH_NORM, "--no-has-running-stats"), 2,
            "no op makes such a call: n * spatial must be more than 1 in training, got 1 "
            "(batch_norm_fwd_train); has_running_stats must be true in inference",
            (*BATCH_NORM, "--spatial", "2", "--no-has-running-stats"),
            id="impossible-for-every-interface",
        ),
        pytest.param(
            (*BATCH_NORM, "--why-not", "fwd_train_wide"), 2,
            "BatchNormFwdOp has no possible key 'fwd_train_wide'; known: fwd_infer_kernel",
            (*BATCH_NORM, "--expect", "fwd_infer_kernel"), id="a-key-of-an-impossible-interface",
        ),
        pytest.param(
            (*LAYER_NORM[:-2], "--device", "cuda:-1"), 2,
            "--device cuda: the index of a device is 0 to 127, got '-1'",
            (*LAYER_NORM[:-2], "--device", "cuda:0", "--arch", "90"), id="a-negative-index",
        ),
        pytest.param(
            (*LAYER_NORM[:-2], "--device", "cpu:128"), 2, "is 0 to 127, got '128'",
            (*LAYER_NORM[:-2], "--device", "cuda:127", "--arch", "90"), id="an-index-too-large",
        ),
        pytest.param(
            ("lint", "-j", "1" * 20, "good.jsonl"), 2, "-j must be 1024 or less",
            ("rule",), id="more-processes-than-there-are",
        ),
        pytest.param(
            (*LAYER_NORM, "--import", ".kernels"), 2, "a module is named in full",
            (*LAYER_NORM, "--import", "acme_good"), id="a-relative-module",
        ),
        pytest.param(
            ("trace", "summary", "inventory"), 3, "inventory: is a folder",
            ("trace", "summary", "good.jsonl"), id="a-folder-as-recording",
        ),
        pytest.param(
            ("trace", "run", "-o", "inventory", "--", "true"), 3,
            "-o names a file, and 'inventory' is a folder",
            ("trace", "summary", "good.jsonl"), id="a-folder-to-record-into",
        ),
        pytest.param(
            ("rule", "nonsense"), 2, "; the nearest of ",
            ("rule", "syntax-error"), id="no-rule",
        ),
        pytest.param(
            ("rule", "refusal-reason-generic"), 2, " or refusal-generic-reason?",
            ("rule", "refusal-generic-reason"), id="a-rule-misspelt",
        ),
        pytest.param(
            ("diff", "--", "--help"), 2, "diff needs BASE and HEAD, got only '--help'",
            ("diff", "--", "inventory", "inventory"), id="help-behind-two-dashes",
        ),
        pytest.param(
            ("diff", "empty", "inventory"), 3, "empty holds no inventory: there is no file of one",
            ("diff", "inventory", "inventory"), id="an-empty-folder",
        ),
        pytest.param(
            ("diff", "inventory", "inventory", "--folder", ""), 2,
            "--folder is empty; it names a file or a folder",
            ("diff", "inventory", "inventory", "--folder", "x"), id="an-empty-name-of-a-folder",
        ),
        pytest.param(
            ("diff", "deep", "inventory"), 3, "norm.json: nests too deep",
            ("diff", "inventory", "inventory"), id="nested-json",
        ),
        pytest.param(
            ("diff", "deep-formula", "inventory"), 3, "a formula nests deeper than 200 brackets",
            ("diff", "inventory", "inventory"), id="a-nested-formula",
        ),
        pytest.param(
            ("audit", "LayerNormFwdOp", "--inventory", "empty"), 3,
            "there is no inventory file in 'empty'",
            ("audit", "LayerNormFwdOp", "--inventory", "inventory"), id="an-empty-inventory",
        ),
        pytest.param(
            ("audit", "LayerNormFwdOp", "--inventory", "broken-formula"), 3,
            "norm.json: a bracket is not closed",
            ("audit", "LayerNormFwdOp", "--inventory", "inventory"), id="a-broken-formula",
        ),
        pytest.param(
            ("inventory", "LayerNormFwdOp", "--folder", "good.jsonl", "--check"), 3, "is no folder",
            ("inventory", "LayerNormFwdOp", "--folder", "inventory", "--check"),
            id="a-file-as-folder",
        ),
        pytest.param(
            ("inventory", "LayerNormFwdOp", "--folder", "/proc/self/fdinfo", "--update"), 3,
            "the inventory cannot be written to '/proc/self/fdinfo'",
            ("inventory", "LayerNormFwdOp", "--folder", "fresh", "--update"), id="a-folder-of-proc",
        ),
        pytest.param(
            ("trace", "summary", "deep.jsonl"), 3, "is no recording: line 1: nests too deep",
            ("trace", "summary", "good.jsonl"), id="a-nested-recording",
        ),
        pytest.param(
            ("trace", "show", "binary.jsonl"), 3, "it does not begin with a line of JSON",
            ("trace", "show", "good.jsonl"), id="a-binary-file",
        ),
        pytest.param(
            ("trace", "summary", "/proc/self/mem"), 3, "mem: cannot be read: Input/output error",
            ("trace", "summary", "good.jsonl"), id="memory-as-a-file",
        ),
        *(
            pytest.param(
                (*LAYER_NORM, "--import", f"acme_{name}"), 3, f"cause: {cause}\n",
                (*LAYER_NORM, "--import", "acme_good"), id=f"a-module-that-{name}",
            )
            for name, cause in {
                "exits": "SystemExit: 5",
                "stops": "Stop: now",
                "odd": "Odd: no",
                "generator": "GeneratorExit",
                "mute": "Mute, whose message raises ValueError",
            }.items()
        ),
    ],
)  # fmt: skip
def test_bad_input_is_told_and_good_input_answered(cli, here, bad, code, fragment, good):
    """The sentence names what is wrong and stdout stays empty; what is right has an answer."""
    refused, answered = cli(*bad), cli(*good)

    assert (refused.code, refused.out) == (code, "")
    assert refused.err.startswith("error: ")
    assert fragment in refused.err
    assert max(map(len, refused.err.splitlines())) < 250
    assert answered.code == 0
    assert "error: " not in answered.err


@pytest.mark.parametrize(
    ("line", "code", "fragment"),
    [
        pytest.param("tileops rule > /dev/full", 74, "No space left on device", id="full"),
        pytest.param("tileops --help > /dev/full", 74, "No space left on device", id="full-help"),
        pytest.param("tileops trace -h > /dev/full", 74, "No space left", id="full-group-help"),
        pytest.param("tileops --version > /dev/full", 74, "No space left", id="full-version"),
        pytest.param(
            "ulimit -f 0; tileops inventory --folder f --update; r=$?; rmdir f; exit $r",
            3,
            "the inventory cannot be written to 'f'\ncause: File too large",
            id="full-disk",
        ),
        pytest.param("tileops rule >&-", 74, "stdout is closed", id="closed"),
        pytest.param("tileops explain Nope 2> /dev/full", 2, "", id="stderr-full"),
        pytest.param("tileops rule | true; exit ${PIPESTATUS[0]}", 141, "", id="reader-gone"),
        pytest.param(
            "mkdir gone; cd gone; rmdir ../gone; tileops rule",
            3,
            "the working directory cannot be read",
            id="folder-gone",
        ),
        pytest.param(
            "tileops trace run -- ''", 2, "the command to run is empty", id="no-command"
        ),
        pytest.param(
            "tileops trace run -o /proc/none/t.jsonl -- touch ran; r=$?; test ! -e ran && exit $r",
            3,
            "/proc/none/t.jsonl cannot be written",
            id="unwritable-recording",
        ),
        pytest.param("tileops trace run -o new/t.jsonl -- test -d new", 0, "", id="fresh-folder"),
    ],
)  # fmt: skip
def test_streams_and_folders_that_are_gone(shell, tmp_path, line, code, fragment):
    """Exit codes follow convention, and nothing is said twice."""
    result = shell(line, tmp_path)

    assert result.code == code, result.err
    assert fragment in result.err
    assert result.err.count("error: ") == (1 if fragment else 0)
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("name", "text", "words", "fragment"),
    [
        pytest.param(
            "pyproject.toml", "a=" + "[" * DEEP, (), "[tool.tileops.lint] nests too deep", id="toml"
        ),
        pytest.param(
            "known.json", "[" * DEEP, ("--baseline", "known.json"), "nests too deep", id="json"
        ),
    ],
)
def test_a_project_that_nests_too_deep(cli, tmp_path, monkeypatch, name, text, words, fragment):
    """The linter names the file that it cannot follow, and reads it once it is sound."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / name).write_text(text)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    refused = cli("lint", "--no-cache", *words)
    (tmp_path / name).unlink()
    answered = cli("lint", "--no-cache")

    assert (refused.code, refused.out) == (3, "")
    assert name in refused.err
    assert fragment in refused.err
    assert answered.code == 0
