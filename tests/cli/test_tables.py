"""Tables: their titles count in words that agree."""

from __future__ import annotations

import pytest

from tileops.cli._printable import printable
from tileops.cli._table import counted


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


def test_a_listing_of_one_key_says_so(cli):
    """The op with one key, in each of the forms with a title."""
    titles = [
        cli("inventory", "LayerNormFwdOp", "--format", form).out.splitlines()[0]
        for form in ("table", "md")
    ]

    assert titles == ["1 op, 1 key", "1 key of 1 interface"]
