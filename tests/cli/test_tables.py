"""Tables: their titles count in words that agree."""

from __future__ import annotations

import pytest

from tileops.cli._folded_table import folded_lines
from tileops.cli._printable import printable
from tileops.cli._render import plain
from tileops.cli._table import Table, counted


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        pytest.param(0, ("key",), "0 keys", id="none"),
        pytest.param(1, ("key",), "1 key", id="one"),
        pytest.param(2, ("key",), "2 keys", id="two"),
        pytest.param(1, ("boundary", "boundaries"), "1 boundary", id="one-of-its-own-plural"),
        pytest.param(3, ("boundary", "boundaries"), "3 boundaries", id="its-own-plural"),
    ],
)
def test_a_number_agrees_with_its_noun(number, nouns, text):
    """One is the singular, everything else the plural, which may be stated."""
    assert counted(number, *nouns) == text


@pytest.mark.parametrize(
    ("text", "kept", "shown"),
    [
        pytest.param("plain ä 你", "", "plain ä 你", id="printable"),
        pytest.param("\x1b[31m", "", r"\x1b[31m", id="escape"),
        pytest.param("a\nb\tc", "", r"a\nb\tc", id="line-and-tab"),
        pytest.param("a\nb\tc", "\n", "a\nb\\tc", id="kept"),
        pytest.param("\u202e\u2028\x9b", "", r"\u202e\u2028\x9b", id="beyond-ascii"),
    ],
)
def test_what_steers_a_terminal_is_escaped(text, kept, shown):
    """Only characters that print, and those that are to stay, pass as they are."""
    assert printable(text, kept) == shown


COMMAND = "tileops explain NormFwdOp --note 'two words' --n 8 --trans-b --dtype float16"
ROWS = (
    ("norm", "wide", "3", "serves rows of at most 256 elements, got 512", COMMAND),
    ("norm", "short", "12", "", "no shell can"),
)
TABLE = Table("missed", ("interface", "key", "calls", "reason", "explain"), ROWS, head=2)


def folded(width, table=TABLE):
    return plain(folded_lines(table, width))


def test_a_table_with_room_is_aligned():
    """One line per row, as wide as it is."""
    assert folded(200).splitlines()[:2] == [
        "missed",
        "  interface  key    calls  reason                                        explain",
    ]
    assert len(folded(200).splitlines()) == 5


def test_what_has_no_room_stands_below_its_row():
    """The widest columns go, a command on several lines, a text on several lines."""
    assert folded(62) == (
        "missed\n"
        "  interface  key    calls\n"
        "  norm       wide   3\n"
        "      reason   serves rows of at most 256 elements, got 512\n"
        "      explain  tileops explain NormFwdOp --note 'two words' \\\n"
        "                   --n 8 --trans-b --dtype float16\n"
        "  norm       short  12\n"
        "      explain  no shell can\n"
        "\n"
    )
    assert "      reason   serves rows of at\n               most 256" in folded(34)


@pytest.mark.parametrize("width", [24, 40, 60, 80, 200])
def test_nothing_is_lost_in_any_width(width):
    """Every word of every cell is there, in the order of its column."""
    text = folded(width).replace("\\\n", " ")

    for row in ROWS:
        for cell in row:
            words = iter(text.split())
            assert all(word in words for word in cell.split()), cell


def test_what_is_no_word_of_a_line_is_escaped_below_too():
    """A line break in a cell neither breaks a row nor what stands below it."""
    table = Table("odd", ("key", "reason"), (("a", "first\nsecond \x1b[31m" + "x" * 90),))

    assert "      reason  first\\nsecond\n              \\x1b[31mxxx" in folded(40, table)


def test_a_listing_of_one_key_says_so(cli):
    """The op with one key, in each of the forms with a title."""
    titles = [
        cli("inventory", "LayerNormFwdOp", "--format", form).out.splitlines()[0]
        for form in ("table", "md")
    ]

    assert titles == ["1 op, 1 key", "1 key of 1 interface"]
