"""Malformed entries: each fault is named with its line, its path and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileops import manifest
from tileops.manifest import ManifestError

GOOD = """\
ScaleFwdOp:
  reference: x * weight
  signature:
    params:
      sizes: {type: "tuple[int, ...]"}
      count: {type: int, default: 2}
      mode: {type: str, default: fast, choices: [fast, exact]}
      maybe: {type: int | None, default: null}
      kind: {type: dtype, default: float16}
    dtypes:
      T: [float16, float32]
    inputs:
      x: {dtype: T, shape: "[*B, N]"}
      weight: {dtype: T, shape: "[N]", optional: true}
      state: {dtype: T, shape: "[count, *sizes]", optional: true, written: count > 1}
    together:
      - [weight, state]
    outputs:
      y: {dtype: T, shape: "[*B, N]"}
      z: {dtype: kind, shape: "[N]", when: count > 1}
    refinements:
      - require: N % count == 0
    buffers:
      out: {output: y}
    execution:
      splits: {type: int, default: 1}
  workloads:
    small: {params: {sizes: [4]}, inputs: {x: "f16[2, 4]"}}
  roofline:
    flops: numel(x)
    bytes: nbytes(x) + nbytes(y)
"""


def load(folder: Path, text: str) -> None:
    (folder / "scale.yaml").write_text(text)
    manifest.load(folder)


def test_the_good_entry_loads(tmp_path: Path) -> None:
    """The faults below are faults of a single change to an entry that loads."""
    load(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "fragment"),
    [
        pytest.param(
            "  reference: x * weight\n",
            "",
            1,
            "ScaleFwdOp",
            "the field 'reference' is missing",
            id="missing-section",
        ),
        pytest.param(
            "ScaleFwdOp:", "scale:", 1, "scale", "named by its op's class", id="op-name-form"
        ),
        pytest.param(
            "  signature:",
            "  sginature:",
            3,
            "ScaleFwdOp.sginature",
            "unknown field 'sginature'; did you mean 'signature'?",
            id="unknown-section",
        ),
        pytest.param(
            "dtype: T, shape: \"[*B, N]\"}\n      weight",
            "dtype: T, shpe: \"[*B, N]\"}\n      weight",
            13,
            "ScaleFwdOp.signature.inputs.x.shpe",
            "unknown field 'shpe'; did you mean 'shape'?",
            id="unknown-field",
        ),
        pytest.param(
            "weight: {dtype: T, shape: \"[N]\", optional: true}",
            "weight: {shape: \"[N]\", optional: true}",
            14,
            "ScaleFwdOp.signature.inputs.weight",
            "the field 'dtype' is missing",
            id="missing-field",
        ),
        pytest.param(
            "x: {dtype: T,", "x: {dtype: U,", 13, "inputs.x.dtype",
            "unknown dtype 'U'", id="unbound-dtype",
        ),
        pytest.param(
            "[float16, float32]",
            "[float16, flaot32]",
            11,
            "ScaleFwdOp.signature.dtypes.T[1]",
            "unknown dtype 'flaot32'; did you mean 'float32'?",
            id="misspelt-dtype",
        ),
        pytest.param("[float16, float32]", "[]", 11, "dtypes.T", "allows no dtype", id="no-dtype"),
        pytest.param(
            'type: int, default: 2', 'type: itn, default: 2', 6, "params.count.type",
            "unknown type 'itn'; did you mean 'int'?", id="misspelt-type",
        ),
        pytest.param(
            "default: 2}", "default: two}", 6, "params.count.default",
            "count must be int, got 'two' (str)", id="default-of-another-type",
        ),
        pytest.param(
            "default: 2}", "default: true}", 6, "params.count.default",
            "count must be int, got True (bool)", id="a-bool-is-no-int",
        ),
        pytest.param(
            "default: fast,", "default: slow,", 7, "params.mode.default",
            "'slow' is none of the choices", id="default-no-choice",
        ),
        pytest.param(
            '"[*B, N]"}\n      weight', '"[*B, N"}\n      weight', 13, "inputs.x.shape",
            "cannot be read", id="shape-not-closed",
        ),
        pytest.param(
            '"[*B, N]"}\n      weight', '[*B, N]}\n      weight', 13, "(file)",
            "put a shape in quotes", id="shape-not-quoted",
        ),
        pytest.param(
            'shape: "[N]", optional', 'shape: [N], optional', 14, "inputs.weight.shape",
            "expected a text, got ['N']; put it in quotes", id="shape-a-list",
        ),
        pytest.param(
            '"[*B, N]"}\n      weight', '"[*B, *N]"}\n      weight', 13, "inputs.x.shape",
            "*B and *N cannot be told apart", id="two-open-splices",
        ),
        pytest.param(
            'weight: {dtype: T, shape: "[N]"', 'weight: {dtype: T, shape: "[*N]"', 14,
            "inputs.weight.shape", "'N' is a splice in one place and one axis in another",
            id="both-ways",
        ),
        pytest.param(
            '"[count, *sizes]"', '"[sizes]"', 15, "inputs.state.shape",
            "'sizes' is not of type int, as sizes needs", id="tuple-as-axis",
        ),
        pytest.param(
            '"[count, *sizes]"', '"[maybe]"', 15, "inputs.state.shape",
            "'maybe' is not of type int", id="nullable-as-axis",
        ),
        pytest.param(
            '"[count, *sizes]"', '"[M // 2]"', 15, "inputs.state.shape",
            "'M' is unknown here, or not bound by every call", id="computed-from-nothing",
        ),
        pytest.param(
            "written: count > 1", "written: N > 1", 15, "inputs.state.written",
            "'N' is unknown here", id="written-depends-on-a-dim",
        ),
        pytest.param(
            "written: count > 1", "written: given(wieght)", 15, "inputs.state.written",
            "'wieght' is no input; did you mean 'weight'?", id="given-of-nothing",
        ),
        pytest.param(
            'y: {dtype: T, shape: "[*B, N]"}', 'y: {dtype: T, shape: "[*B, Q]"}', 19,
            "outputs.y.shape", "'Q' is not bound by every call", id="output-of-unknown-size",
        ),
        pytest.param(
            "z: {dtype: kind", "z: {dtype: float16 | float32", 20, "outputs.z.dtype",
            "an output has one dtype", id="output-of-two-dtypes",
        ),
        pytest.param(
            "when: count > 1", "when: N > 1", 20, "outputs.z.when", "'N' is unknown here",
            id="output-depends-on-a-dim",
        ),
        pytest.param(
            "[weight, state]", "[weight, x]", 17, "signature.together[0]",
            "'x' is given by every call", id="group-with-a-required-input",
        ),
        pytest.param(
            "[weight, state]", "[weight]", 17, "signature.together[0]", "two inputs or more",
            id="group-of-one",
        ),
        pytest.param(
            "[weight, state]", "[weight, stat]", 17, "signature.together[0]",
            "'stat' is no input; did you mean 'state'?", id="group-of-unknown",
        ),
        pytest.param(
            "N % count == 0", "N %% count", 22, "refinements[0].require", "cannot be read",
            id="refinement-not-python",
        ),
        pytest.param(
            "N % count == 0", "N.bit_length() > 2", 22, "refinements[0].require",
            "call a function by its name", id="refinement-calls-a-method",
        ),
        pytest.param(
            "N % count == 0", "leng(sizes) > 2", 22, "refinements[0].require",
            "unknown function 'leng'; did you mean 'len'?", id="refinement-unknown-function",
        ),
        pytest.param(
            "N % count == 0", "K % count == 0", 22, "refinements[0].require", "'K' is unknown here",
            id="refinement-of-unknown-name",
        ),
        pytest.param(
            "out: {output: y}", "out: {output: yy}", 24, "buffers.out.output",
            "'yy' is no output; did you mean", id="buffer-of-unknown-output",
        ),
        pytest.param(
            "splits: {type: int, default: 1}", "splits: {type: int}", 26, "execution.splits",
            "has a default", id="execution-without-default",
        ),
        pytest.param(
            "splits: {type", "count: {type", 26, "execution.count",
            "'count' is already one of params", id="one-name-twice",
        ),
        pytest.param(
            "      x: {dtype", "      lambda: {dtype", 13, "inputs.lambda",
            "cannot be the name of an argument", id="keyword-as-name",
        ),
        pytest.param(
            '"[*B, N]"}\n      weight', '"[*B, weight]"}\n      weight', 13, "inputs.x.shape",
            "the dim 'weight' is already one of inputs", id="dim-named-like-an-input",
        ),
        pytest.param(
            "{sizes: [4]}", "{size: [4]}", 28, "small.params.size",
            "unknown field 'size'; did you mean 'sizes'?", id="workload-unknown-param",
        ),
        pytest.param(
            "params: {sizes: [4]}, ", "", 28, "workloads.small",
            "the field 'params' is missing: sizes", id="workload-without-params",
        ),
        pytest.param(
            "{sizes: [4]}", "{sizes: [4], mode: slow}", 28, "small.params.mode",
            "'slow' is none of the choices", id="workload-no-choice",
        ),
        pytest.param(
            '{x: "f16[2, 4]"}', '{weight: "f16[4]"}', 28, "small.inputs",
            "the field 'x' is missing", id="workload-without-input",
        ),
        pytest.param(
            '"f16[2, 4]"', '"bff16[2, 4]"', 28, "small.inputs.x",
            "unknown dtype 'bff16'; did you mean 'bf16'?", id="workload-misspelt-dtype",
        ),
        pytest.param(
            '"f16[2, 4]"', '"2x4 half"', 28, "small.inputs.x", "write it like 'bf16[8192, 4096]'",
            id="workload-tensor-form",
        ),
        pytest.param(
            "flops: numel(x)", "flops: numel(xx)", 30, "roofline.flops", "'xx' is no tensor here",
            id="roofline-unknown-tensor",
        ),
        pytest.param(
            "flops: numel(x)", "flops: prod(A)", 30, "roofline.flops", "'A' is unknown here",
            id="roofline-unknown-dim",
        ),
        pytest.param(
            "    bytes: nbytes(x) + nbytes(y)\n", "", 29, "ScaleFwdOp.roofline",
            "the field 'bytes' is missing", id="roofline-without-bytes",
        ),
        pytest.param(
            "  reference: x * weight\n", "  reference: [x]\n", 2, "ScaleFwdOp.reference",
            "Expected `str`, got `array`", id="reference-a-list",
        ),
        pytest.param(
            "  workloads:\n", "  reference: again\n  workloads:\n", 27, "ScaleFwdOp.reference",
            "stated twice", id="field-twice",
        ),
        pytest.param(
            "  roofline:\n", "   roofline:\n", 29, "(file)", "", id="not-yaml",
        ),
    ],
)  # fmt: skip
def test_a_fault_is_named_where_it_stands(
    tmp_path: Path, old: str, new: str, line: int, path: str, fragment: str
) -> None:
    """File, line and path lead to the field; the sentence says what is wrong with it."""
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(ManifestError) as caught:
        load(tmp_path, text)

    error = caught.value
    assert fragment in error.problem
    assert error.path.endswith(path)
    assert error.line == line
    assert str(error) == f"{tmp_path / 'scale.yaml'}:{line}: {error.path}: {error.problem}"


@pytest.mark.parametrize(
    ("inputs", "outputs", "fragment"),
    [
        pytest.param(
            'x: {dtype: float16, shape: "[N]", optional: true}',
            'y: {dtype: float16, shape: "[2]"}',
            "no input says which device the call runs on",
            id="no-device",
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]", device: cpu}',
            'y: {dtype: float16, shape: "[N]"}',
            "no input says which device the call runs on",
            id="only-host-inputs",
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]", device: gpu}',
            'y: {dtype: float16, shape: "[N]"}',
            "Invalid enum value 'gpu'",
            id="unknown-device",
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]"}', None, "neither returns nor writes", id="no-effect"
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]"}',
            "y: {alias: x}",
            "which every call must pass and write",
            id="alias-of-an-unwritten-input",
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]", written: true}',
            "y: {alias: z}",
            "'z' is no input",
            id="alias-of-nothing",
        ),
        pytest.param(
            'x: {dtype: float16, shape: "[N]", written: true}',
            "y: {alias: x, dtype: float16}",
            "unknown field 'dtype'",
            id="alias-with-a-dtype",
        ),
        pytest.param(
            'x: {dtype: T | float16, shape: "[N]"}',
            'y: {dtype: float16, shape: "[N]"}',
            "unknown dtype 'T'",
            id="variable-among-alternatives",
        ),
    ],
)
def test_a_signature_must_make_sense_as_a_whole(
    tmp_path: Path, inputs: str, outputs: str | None, fragment: str
) -> None:
    """What no call could satisfy, or no check could decide, is refused when it is read."""
    text = f"AFwdOp:\n  reference: a\n  signature:\n    inputs:\n      {inputs}\n"
    text += f"    outputs:\n      {outputs}\n" if outputs else ""
    text += "  workloads: {}\n  roofline: {flops: 0, bytes: 0}\n"

    with pytest.raises(ManifestError) as caught:
        load(tmp_path, text)

    assert fragment in caught.value.problem


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- a\n- b\n", id="a-list"),
        pytest.param("just words\n", id="a-text"),
        pytest.param("AFwdOp: 3\n", id="an-entry-that-is-a-number"),
    ],
)
def test_a_file_maps_op_names_to_entries(tmp_path: Path, text: str) -> None:
    """Anything else at the top is refused."""
    with pytest.raises(ManifestError, match="expected a mapping"):
        load(tmp_path, text)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a fault of the file."""
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ManifestError, match=r"bad\.yaml:1: \(file\): "):
        manifest.load(tmp_path)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "], ids=["list", "mapping", "block"])
def test_a_file_that_nests_too_deep(tmp_path: Path, opening: str) -> None:
    """It is refused before it is composed, which descends as deep."""
    with pytest.raises(ManifestError, match=r"scale\.yaml:1: .*(nests too deep|depth)"):
        load(tmp_path, opening * 100_000)
