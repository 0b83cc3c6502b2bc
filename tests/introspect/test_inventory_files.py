"""Inventories hold what the code says, survive being written, and are compared by meaning."""

from __future__ import annotations

import hashlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from specified import (
    GQA,
    LAYER_NORM,
    AttentionCall,
    GemmCall,
    GQADecodeBs1Kernel,
    GQADecodeKernel,
    Kernels,
    LayerNormKernel,
    LogarithmGemm,
    ShortRowsLayerNorm,
    SkinnyGemm,
    SplitKGemm,
    TiledGemm,
    UndeclaredLongContextKernel,
    explored,
)

from tileops.errors import InventoryError
from tileops.introspect.calls import sample_calls
from tileops.introspect.collection import families, interface_record
from tileops.introspect.diff import InterfaceDiff, Kind, compare_interfaces, diff
from tileops.introspect.formula import evaluate, render
from tileops.introspect.inventory import (
    FamilyRecord,
    InterfaceRecord,
    encode,
    model_of,
    read_folder,
    read_revision,
    with_machines,
)
from tileops.introspect.inventory._check import RecordFault, check_record
from tileops.kernels.interface import KernelInterface
from tileops.kernels.norm.call_spec import LayerNormCall
from tileops.ops.catalogue import in_tree_ops
from tileops.ops.op import Op


def record(spec: Any, **kernels: Any) -> InterfaceRecord:
    """Write an interface down, and read it again."""
    interface = type("ExampleFwdInterface", (KernelInterface,), {"request": spec})
    op = type("ExampleFwdOp", (Op,), {"interfaces": {"example": interface}})
    found = interface_record(op, explored(spec, **kernels), [], {})
    return msgspec.json.decode(msgspec.json.encode(found), type=InterfaceRecord)


class WiderShortRows(ShortRowsLayerNorm):
    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        return None if call.n <= 512 else "serves rows of at most 512"


class SameShortRows(ShortRowsLayerNorm):
    """The same calls, said another way."""

    @classmethod
    def refusal(cls, call: LayerNormCall) -> str | None:
        if not call.n > 256 or call.n + 1 < 2:
            return None
        return f"n - 256 must not be positive, got {call.n - 256}"


class WithoutSM90(LayerNormKernel):
    supported_archs = [80, 86, 89]


class SpecialDecode(GQADecodeKernel):
    general = False


class GeneralBs1(GQADecodeBs1Kernel):
    general = True


class OtherLogarithm(LogarithmGemm):
    """The same condition, in code that is not modelled either and is another."""


GEMM: Kernels = {"tiled": TiledGemm, "split_k": SplitKGemm}


def said(found: InterfaceDiff) -> set[tuple[str, str, str]]:
    return {(c.old, c.new, " and ".join(map(render, c.conditions))) for c in found.changes}


@pytest.mark.parametrize(
    ("spec", "old", "new", "expected"),
    [
        pytest.param(LayerNormCall, LAYER_NORM,
                     {**LAYER_NORM, "torch_short_rows": WiderShortRows},
                     {("key:layer_norm", "key:torch_short_rows",
                       "arch is 80, 86, 89 or 90 and n > 256 and n <= 512"),
                      ("unserved", "key:torch_short_rows",
                       "arch is 100 and n > 256 and n <= 512")}, id="widened-refusal"),
        pytest.param(LayerNormCall, LAYER_NORM, {**LAYER_NORM, "layer_norm": WithoutSM90},
                     {("key:layer_norm", "unserved", "arch is 90 and n > 256")},
                     id="dropped-arch"),
        pytest.param(LayerNormCall, LAYER_NORM, {"layer_norm": LayerNormKernel},
                     {("key:torch_short_rows", "key:layer_norm",
                       "n <= 256 and arch is 80, 86, 89 or 90"),
                      ("key:torch_short_rows", "unserved", "n <= 256 and arch is 100")},
                     id="removed-key"),
    ],
)  # fmt: skip
def test_changed_calls_are_regions(
    spec: Any, old: Kernels, new: Kernels, expected: set[tuple[str, str, str]]
) -> None:
    """Exactly the calls that changed their outcome are said, by what is true of them."""
    found = compare_interfaces("Op", "example", record(spec, **old), record(spec, **new))

    assert said(found) == expected
    assert not found.more
    assert found.undecided == ()


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        pytest.param(GQA, {**GQA, "long_context": UndeclaredLongContextKernel},
                     ("key:long_context", "ambiguous"), id="removed-preference"),
        pytest.param(GQA, {**GQA, "decode": SpecialDecode, "bs1": GeneralBs1},
                     ("key:bs1", "key:decode"), id="swapped-general"),
    ],
)  # fmt: skip
def test_changed_declarations_change_calls(
    old: Kernels, new: Kernels, change: tuple[str, str]
) -> None:
    """A preference or a general key that moves is found by what calls then select."""
    found = compare_interfaces(
        "Op", "example", record(AttentionCall, **old), record(AttentionCall, **new)
    )

    assert change in {(one.old, one.new) for one in found.changes}
    assert found.declarations


def test_every_changed_call_is_in_a_region_and_no_other() -> None:
    """Regions agree, call by call, with what the two versions' code selects."""
    new = {**GEMM, "skinny": SkinnyGemm}
    before, after = record(GemmCall, **GEMM), record(GemmCall, **new)
    found = compare_interfaces("Op", "example", before, after)
    was = model_of("Op", "example", before).outcomes()
    now = model_of("Op", "example", after).outcomes()

    for values in sample_calls(explored(GemmCall, **new).model, 2000):
        old = next(name for name, term in was.items() if evaluate(term, values))
        new_outcome = next(name for name, term in now.items() if evaluate(term, values))
        hit = {
            (one.old, one.new)
            for one in found.changes
            if all(evaluate(part, values) for part in one.conditions)
        }
        assert hit == ({(old, new_outcome)} if old != new_outcome else set())


def test_the_same_meaning_is_no_change() -> None:
    """A refusal rewritten without changing what it refuses changes no call."""
    found = compare_interfaces(
        "Op",
        "example",
        record(LayerNormCall, **LAYER_NORM),
        record(LayerNormCall, **{**LAYER_NORM, "torch_short_rows": SameShortRows}),
    )

    assert found.changes == ()
    assert found.undecided == ()
    assert [one for one in found.declarations if "class" not in one] == []


def test_code_that_is_not_modelled_is_compared_by_its_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unchanged unmodelled code changes nothing; changed code is said not to be compared."""
    kernels = {"tiled": TiledGemm, "log": LogarithmGemm}
    before = record(GemmCall, **kernels)
    same = compare_interfaces("Op", "example", before, record(GemmCall, **kernels))
    assert same.kind is Kind.SAME

    edited = msgspec.structs.replace(
        before,
        keys={**before.keys, "log": msgspec.structs.replace(before.keys["log"], source="other")},
    )
    found = compare_interfaces("Op", "example", before, edited)
    assert found.changes == ()
    assert len(found.not_compared) == 1
    assert found.not_compared[0].startswith("log: calls math.log2")


def test_a_change_beside_unmodelled_code_names_what_it_assumes() -> None:
    """What a call becomes may hinge on unmodelled code that stayed the same; it is named."""
    kernels = {"tiled": TiledGemm, "log": LogarithmGemm}
    found = compare_interfaces(
        "Op",
        "example",
        record(GemmCall, **kernels),
        record(GemmCall, **kernels, skinny=SkinnyGemm),
    )

    assert ("log",) in {one.assumed for one in found.changes}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param("acme 1.2", "acme 1.3.dev1+g12", [], id="release"),
        pytest.param("acme 1.2", "acme", [], id="written-with-the-version"),
        pytest.param("acme", None, [], id="had-by-import"),
        pytest.param("acme", "other", ["tiled: distribution acme -> other"], id="provider"),
        pytest.param("entry point acme", "entry point other",
                     ["tiled: distribution entry point acme -> entry point other"],
                     id="no-distribution"),
    ],
)  # fmt: skip
def test_a_release_of_the_provider_is_no_change(old: str, new: str | None, said: list[str]) -> None:
    """A key is told by the name of its distribution; the version decides no call."""
    before = record(GemmCall, **GEMM)

    def provided(by: str | None) -> InterfaceRecord:
        tiled = msgspec.structs.replace(before.keys["tiled"], distribution=by)
        return msgspec.structs.replace(before, keys={**before.keys, "tiled": tiled})

    found = compare_interfaces("Op", "example", provided(old), provided(new))

    assert list(found.declarations) == said
    assert found.changes == ()


def test_the_code_that_is_compared_is_no_ones_but_the_class_s() -> None:
    """What tileops and Python give every class is left out of the hash of unmodelled code."""
    log = LogarithmGemm
    named = {inspect.getsourcefile(one) for one in (log, GemmCall)}
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(map(str, named)):
        digest.update(Path(file).read_bytes())

    assert record(GemmCall, log=log).keys["log"].source == digest.hexdigest()


@pytest.mark.parametrize(
    ("spec", "kernels"),
    [
        pytest.param(LayerNormCall, LAYER_NORM, id="layer-norm"),
        pytest.param(AttentionCall, GQA, id="attention"),
        pytest.param(GemmCall, {**GEMM, "skinny": SkinnyGemm, "log": LogarithmGemm}, id="gemm"),
    ],
)
def test_what_is_written_can_be_written(spec: Any, kernels: Kernels) -> None:
    """The check of what is read rejects no record that exploring makes."""
    check_record("ExampleFwdOp", "example", record(spec, **kernels))


@pytest.mark.parametrize(
    ("changed", "fragment"),
    [
        pytest.param({"possible": "(le zzz 3)"}, "no fact 'zzz' in '(le zzz 3)'", id="name"),
        pytest.param({"possible": "(in zzz 3)"}, "no fact 'zzz'", id="member-name"),
        pytest.param({"possible": "n"}, "a number stands where a truth belongs", id="number"),
        pytest.param({"possible": "(le dtype 3)"}, "a value stands where a number", id="value"),
        pytest.param({"possible": "(and n true)"}, "a number stands where a truth", id="part"),
        pytest.param({"possible": "(le (ite true n true) 3)"}, "a truth stands", id="arms"),
        pytest.param({"possible": "(eq n dtype)"}, "a value stands where a number", id="sides"),
    ],
)
def test_a_formula_of_another_sort_is_rejected(changed: dict[str, Any], fragment: str) -> None:
    """It names the interface and the formula, before anything is proved with it."""
    made = msgspec.structs.replace(record(LayerNormCall, **LAYER_NORM), **changed)

    with pytest.raises(RecordFault, match=re.escape(fragment)) as raised:
        check_record("ExampleFwdOp", "example", made)
    assert str(raised.value).startswith("ExampleFwdOp.example: ")


@pytest.mark.parametrize(
    ("changed", "fragment"),
    [
        pytest.param({"kind": "zzz"}, "fact n is one of int, real, choice, not 'zzz'", id="kind"),
        pytest.param({"low": 0.5}, "fact n has a value that is no int", id="bound"),
        pytest.param({"default": "x"}, "fact n has a value that is no int", id="default"),
        pytest.param({"values": [1, [2]]}, "a value that is a list or an object", id="list"),
        pytest.param({"name": "arch"}, "states the fact 'arch' twice", id="device-fact"),
        pytest.param({"name": "eps"}, "states the fact 'eps' twice", id="twice"),
    ],
)
def test_a_fact_that_no_call_has_is_rejected(changed: dict[str, Any], fragment: str) -> None:
    """Its name, its kind and its values are those of facts."""
    made = record(LayerNormCall, **LAYER_NORM)
    facts = [
        msgspec.structs.replace(one, **changed) if one.name == "n" else one for one in made.facts
    ]

    with pytest.raises(RecordFault, match=re.escape(fragment)):
        check_record(
            "ExampleFwdOp", "example", msgspec.structs.replace(made, possible="true", facts=facts)
        )


def _families() -> dict[str, FamilyRecord]:
    return dict(families(in_tree_ops().values(), {}))


def test_files_survive_being_written(tmp_path: Path) -> None:
    """What is read is what was written, and writing it again gives the same bytes."""
    made = _families()
    for name, family in made.items():
        (tmp_path / f"{name}.json").write_text(encode(family), encoding="utf-8")
    read = read_folder(tmp_path)

    assert diff(made, read).interfaces == ()
    assert {name: encode(with_machines(family)) for name, family in made.items()} == {
        name: encode(family) for name, family in read.items()
    }
    assert set(read) == set(made)
    norm = read["norm"].ops["LayerNormFwdOp"].interfaces["layer_norm"]
    assert norm.keys["layer_norm"].archs == [80, 86, 89, 90]
    assert norm.keys["layer_norm"].file == "tileops/kernels/norm/layer_norm.py"
    assert norm.machines


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        pytest.param("{", "truncated", id="no-json"),
        pytest.param('{"family": "norm"}', "missing required field", id="missing-field"),
        pytest.param('{"schema": "tileops.inventory/2.0", "family": "norm", "machines": [], '
                     '"ops": {}}', "has the schema tileops.inventory/2.0", id="other-version"),
        pytest.param('{"schema": "tileops.inventory/1.0", "family": "../norm", "machines": [], '
                     '"ops": {}}', "holds the family '../norm'", id="another-name"),
        pytest.param('{"schema": "tileops.inventory/1.0", "family": "norm", "machines": [], '
                     '"ops": {}, "ops": {}}', "states 'ops' twice", id="a-name-twice"),
        pytest.param('{"schema": "tileops.inventory/1.0", "family": "norm", "machines": [], '
                     '"ops": {}, "x": NaN}', "invalid character", id="not-a-number"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_inventory_is_named(tmp_path: Path, text: str, fragment: str) -> None:
    """The error names the file and what is wrong with it."""
    (tmp_path / "norm.json").write_text(text, encoding="utf-8")

    with pytest.raises(InventoryError, match=fragment) as raised:
        read_folder(tmp_path)
    assert raised.value.source == "norm.json"


def test_a_revision_is_read_from_git(tmp_path: Path) -> None:
    """An inventory of a commit is read without checking it out; an unknown revision is named."""
    folder = tmp_path / "inventory"
    folder.mkdir()
    made = _families()["norm"]
    (folder / "norm.json").write_text(encode(made), encoding="utf-8")
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Add"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (folder / "norm.json").unlink()

    assert read_revision("HEAD", "inventory", tmp_path)["norm"].ops.keys() == made.ops.keys()
    with pytest.raises(InventoryError, match="HEAD"):
        read_revision("HEAD~7", "inventory", tmp_path)


def test_comparing_needs_no_torch() -> None:
    """Two inventories are compared without loading torch."""
    code = (
        "import sys\n"
        "from tileops.introspect import diff, inventory\n"
        "from tileops.introspect import _changes\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
