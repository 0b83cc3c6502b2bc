"""The order in which the blocks of a grid take the tiles of a product."""

__all__ = ["tile_at"]

# Rows of tiles in a band. The blocks that run at one time then cover a part of the product about
# as high as wide, which reads the fewest rows of the operands into the L2 cache.
_BAND = 16


def tile_at(T, place, rows, columns):
    """Return the row and the column of a tile by its place in the order.

    Bands of rows are walked one after the other, column by column.

    Args:
        T: ``tilelang.language``.
        place: The place, below *rows* times *columns*.
        rows: Rows of tiles.
        columns: Columns of tiles.
    """
    band = place // (_BAND * columns) * _BAND
    height = T.min(_BAND, rows - band)
    within = place % (_BAND * columns)
    # Neither is negative, which TileLang cannot see: its own division would ask.
    return band + T.truncmod(within, height), T.truncdiv(within, height)
