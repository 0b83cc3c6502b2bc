"""Comparing selection over time: inventories that cannot be read."""

from __future__ import annotations

from tileops.errors._root import TileopsError


class InventoryError(TileopsError, ValueError):
    """An inventory cannot be read.

    Cause:
        The folder or the revision does not exist, the file was edited by hand, or another
        version wrote it.

    Remedy:
        Name the folder that ``tileops inventory --update`` wrote, or let it write the files anew.
    """

    template = "{source}: {problem}"

    source: str
    problem: str
