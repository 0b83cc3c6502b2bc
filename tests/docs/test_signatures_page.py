"""The page on signatures: its entries load, and the fault is reported as shown."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tileops import manifest
from tileops.manifest import ManifestError

PAGE = (Path(__file__).parents[2] / "docs" / "signatures-and-the-manifest.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.S | re.M)


def entry_of(block: str) -> str:
    """A block as a file of the manifest; one that is a signature alone gets an entry around it."""
    if not block.startswith(("inputs:", "params:", "dtypes:")):
        return block
    signature = textwrap.indent(block, "    ")
    rest = "  workloads: {}\n  roofline: {flops: 0, bytes: 0}\n"
    return f"ExampleFwdOp:\n  reference: an example\n  signature:\n{signature}{rest}"


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.split(":")[0])
def test_yaml_blocks_load(block: str, tmp_path: Path) -> None:
    """Each block is an entry, or the signature of one."""
    (tmp_path / "page.yaml").write_text(entry_of(block))

    assert len(manifest.load(tmp_path)) == 1


def test_the_page_shows_the_shipped_entry(tmp_path: Path) -> None:
    """The signature and the roofline of LayerNormFwdOp are those of the manifest."""
    (tmp_path / "page.yaml").write_text(blocks("yaml")[0])
    shown = manifest.load(tmp_path)["LayerNormFwdOp"]
    shipped = manifest.load()["LayerNormFwdOp"]

    assert shown.signature == shipped.signature
    assert shown.roofline == shipped.roofline


def test_the_fault_shown_is_the_fault_reported(tmp_path: Path) -> None:
    """The one line under "Faults in the manifest", from the first block misspelt."""
    text = blocks("yaml")[0].replace(
        'weight: {dtype: T, shape: "[*n', 'weight: {dtype: T, shpe: "[*n', 1
    )
    (tmp_path / "norm.yaml").write_text(text)

    with pytest.raises(ManifestError) as caught:
        manifest.load(tmp_path)

    assert str(caught.value).removeprefix(f"{tmp_path}/") == blocks("text")[0].strip()
