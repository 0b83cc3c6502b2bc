"""Loading the manifest: what is shipped, what the records hold, and that it is all or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileops import manifest
from tileops.manifest import ManifestError, ParamDecl, TypedShape

SYNTHETIC = Path(__file__).parent / "synthetic"


def test_the_shipped_manifest_is_read_once() -> None:
    """Every caller gets the same read-only mapping, keyed by op name."""
    entries = manifest.load()

    assert manifest.load() is entries
    assert manifest.op_names() == tuple(sorted(entries))
    assert entries["LayerNormFwdOp"].family == "norm"
    with pytest.raises(TypeError):
        entries["Other"] = entries["LayerNormFwdOp"]  # type: ignore[index]


def test_records_are_frozen() -> None:
    """No caller can change what another one reads."""
    entry = manifest.load()["LayerNormFwdOp"]

    with pytest.raises(AttributeError):
        entry.reference = "something else"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        entry.signature.inputs[0].name = "x"  # type: ignore[misc]


def test_loading_needs_no_torch() -> None:
    """The command line reads the manifest without the GPU stack."""
    code = (
        "import sys; from tileops import manifest; manifest.load(); "
        "sys.exit(len({'torch', 'tilelang', 'z3', 'libcst'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_layer_norm_as_declared() -> None:
    """Parameters, inputs and outputs keep their order, defaults and types."""
    signature = manifest.load()["LayerNormFwdOp"].signature

    assert [param.name for param in signature.params] == ["normalized_shape", "eps"]
    assert [param.required for param in signature.params] == [True, False]
    assert signature.params[1].default == 1e-5
    assert [str(param.type) for param in signature.params] == ["tuple[int, ...]", "float"]
    assert [decl.name for decl in signature.inputs] == ["input", "weight", "bias"]
    assert [decl.optional.evaluate(manifest.Scope({})) for decl in signature.inputs] == [
        False,
        True,
        True,
    ]
    assert [decl.name for decl in signature.outputs] == ["output"]
    assert signature.dtypes[0].allowed == ("float16", "bfloat16", "float32")


def test_layer_norm_workloads_cover_the_widths_of_current_models() -> None:
    """The widths that models have, the awkward 2880 among them, are named calls."""
    entry = manifest.load()["LayerNormFwdOp"]
    widths = {workload.params["normalized_shape"][-1] for workload in entry.workloads}

    assert {64, 128, 768, 1024, 1152, 1280, 1408, 2048, 2560, 2880, 3072} <= widths
    assert {3584, 4096, 5120, 5376, 6144, 7168, 8192, 12288, 16384} <= widths


def test_values_are_kept_in_the_form_of_their_type() -> None:
    """An int given for a float is a float, a list of sizes is a tuple, a dtype keeps its name."""
    entries = manifest.load(SYNTHETIC)
    params = {p.name: p for e in entries.values() for p in e.signature.params}
    bare = next(w for w in entries["RMSLikeFwdOp"].workloads if w.name == "bare")

    assert bare.params == {"normalized_shape": (8, 8)}
    assert bare.inputs == {"x": TypedShape("float32", (4, 8, 8))}
    assert params["affine_dtype"].default == "float32"
    assert params["eps"].default is None
    assert params["out_dtype"].choices == ("bfloat16", "float16")
    assert isinstance(params["groups"], ParamDecl)
    assert params["groups"].required


def test_an_op_in_two_files_is_refused(tmp_path: Path) -> None:
    """The second entry is named together with the file that already has one."""
    text = (SYNTHETIC / "synthetic.yaml").read_text()
    (tmp_path / "first.yaml").write_text(text)
    (tmp_path / "second.yaml").write_text(text)

    with pytest.raises(ManifestError, match=r"RMSLikeFwdOp already has an entry in first.yaml"):
        manifest.load(tmp_path)


def test_one_malformed_entry_loads_nothing(tmp_path: Path) -> None:
    """A fault in the last file leaves no entry of the first one behind."""
    (tmp_path / "a.yaml").write_text((SYNTHETIC / "synthetic.yaml").read_text())
    (tmp_path / "b.yaml").write_text("BrokenFwdOp: {reference: nothing}\n")

    with pytest.raises(ManifestError, match="the field 'signature' is missing") as caught:
        manifest.load(tmp_path)

    assert (caught.value.file, caught.value.line) == (str(tmp_path / "b.yaml"), 1)
    assert caught.value.path == "BrokenFwdOp"


def test_an_empty_file_and_an_empty_folder_have_no_entries(tmp_path: Path) -> None:
    """Neither is a fault: a family may have lost its last op."""
    assert dict(manifest.load(tmp_path)) == {}
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    assert dict(manifest.load(tmp_path)) == {}
