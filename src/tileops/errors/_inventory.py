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


class MissingInventoryError(InventoryError):
    """A folder or a revision has no inventory.

    Cause:
        The revision is from before there was one, or keeps it in another folder.

    Remedy:
        Name the folder that holds it, or let ``tileops inventory --update`` write one with the code
        of that revision installed.
    """

    template = "{source} holds no inventory: {problem}"
