"""Files of every shape and age: what is found, what a fix leaves untouched, and the exit code.

Each row is a file with one kernel that lacks a decorator, and something unusual around it.
"""

import ast
import sys

import pytest

HEAD = "from tileops.backend import Kernel\n"
KERNEL = "class AKernel(Kernel):\n    def refusal(cls, call):\n        return None  # é served\n"
DECORATOR = "    @classmethod\n"
LINE = "    def refusal"


def row(name, before, *, head=HEAD, kernel=KERNEL, encoding="utf-8", newline="\n", newer=False):
    """A file, its fixed form, and whether a Python without its syntax has to be helped."""
    text = head + before + kernel
    indent = kernel[kernel.index(":\n") + 2 : kernel.index("def")]
    line = f"{indent}def refusal"
    fixed = text.replace(line, f"{indent}@classmethod\n{line}")
    pair = (t.replace("\n", newline).encode(encoding) for t in (text, fixed))
    return pytest.param(*pair, newer, id=name)


READ = [
    row("plain", ""),
    row("crlf", "x = 1\n", newline="\r\n"),
    row("bare-cr", "x = 1\n", newline="\r"),
    row("byte-order-mark", "", head="\ufeff" + HEAD),
    row("byte-order-mark-crlf", "", head="\ufeff" + HEAD, newline="\r\n"),
    row("latin-1", "x = 'é'\n", head="# -*- coding: latin-1 -*-\n" + HEAD, encoding="latin-1"),
    row("cp1252", "x = '€'\n", head="# vim: set fileencoding=cp1252 :\n" + HEAD, encoding="cp1252"),
    row("tabs", "", kernel=KERNEL.replace("    ", "\t")),
    row("tabs-and-blanks", "if 1:\n\tx = 1\n"),
    row("form-feed", "x = 1\n\x0c\n"),
    row("form-feed-in-front", "", kernel="\x0c" + KERNEL),
    row("two-form-feeds", "x = 1\n\x0c\x0c\n"),
    row("no-last-line-end", "", kernel=KERNEL.rstrip("\n")),
    row("trailing-carriage-return", "", kernel=KERNEL + "x = 1\r\n\r"),
    row("trailing-blanks", "x = 1   \n", kernel=KERNEL + "   \n\n\n"),
    row("line-separator", "x = '\u2028\x85\x1c'\n"),
    row("wide-characters", "x = '\U0001f600'; y = 'é'\n"),
    row("normalised-identifiers", "ﬁ = 1\n", head="from tileops.backend import Kernel as Kernel\n"),
    row("continuation", "x = 1 + \\\n    2\n"),
    row("semicolons", "x = 1; y = 2;\n"),
    row("except-with-blank", "try:\n    pass\nexcept ValueError :\n    pass\n"),
    row("bracketed-annotation", "(x): int = 1\n"),
    row("long-sum", "x = " + " + ".join(["1"] * 2000) + "\n"),
    row("long-attribute", "x = a" + ".b" * 2000 + "\n"),
    row("match", "match 1:\n    case [1, *_]:\n        pass\n"),
    row("walrus", "if (n := 10) > 5:\n    pass\n"),
    row("bracketed-with", "with (open('a') as a, open('b') as b):\n    pass\n"),
    row("starred-index", "def f(*a: *T): ...\n\n\nx: A[*T]\n"),
    row("except-group", "try:\n    pass\nexcept* ValueError:\n    pass\n"),
    row("type-parameters", "class B[T: int, *Ts, **P](A): ...\n", newer=True),
    row("type-parameters-lines", "def f[\n    T,  # one\n](\n    x,\n): ...\n", newer=True),
    row("type-parameter-defaults", "class B[T = int]: ...\n", newer=True),
    row("type-alias", "type X[T] = list[T]\n", newer=True),
    row("nested-quotes", 'x = f"{d["k"]}"\n', newer=True),
    row("comment-in-f-string", 'x = f"{\n    a  # one\n}"\n', newer=True),
    row("backslash-in-f-string", "x = f\"{'\\n'.join(a)}\"\n", newer=True),
    row("f-string-beside-string", 'x = "a" f"{d["k"]}" "b"\n', newer=True),
    row("template-string", 'x = t"hello {name}"\n', newer=True),
    row("bare-except-tuple", "try:\n    pass\nexcept A, B:\n    pass\n", newer=True),
    row("lazy-import", "lazy import json\nlazy from os import (\n    path,\n)\n", newer=True),
    row("newer-crlf", "type X = int\n", newline="\r\n", newer=True),
    row(
        "newer-latin-1",
        "type X = int\ny = 'é'\n",
        head="# coding: latin-1\n" + HEAD,
        encoding="latin-1",
        newer=True,
    ),
]
WITHHELD = ("long-sum", "long-attribute")
REFUSED = [
    pytest.param(b"x = 1\0\n", id="nul"),
    pytest.param(b'x = "\xff"\n', id="no-utf-8"),
    pytest.param("x = 1\n".encode("utf-16"), id="utf-16"),
    pytest.param(b"# coding: klingon\nx = 1\n", id="unknown-encoding"),
    pytest.param(b"if a:\n\tx\n        y\n", id="inconsistent-tabs"),
    pytest.param(b"x = 1\x0b\n", id="vertical-tab"),
    pytest.param(b"x = (\n", id="open-bracket"),
    pytest.param(b"x = " + b"(" * 5000 + b")" * 5000 + b"\n", id="deep-brackets"),
    pytest.param(b"x = " + b"-" * 20_000 + b"1\n", id="deep-signs"),
    pytest.param(b"class A[T:\n    pass\n", id="broken-and-newer"),
    pytest.param(b"class A[T]: ...\nx = = 1\n", id="newer-and-broken"),
]


def parses(data):
    try:
        ast.parse(data)
    except SyntaxError:
        return False
    return True


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Where the file of a row stands: alone, outside any repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "case.py"


@pytest.mark.parametrize(("before", "after", "newer"), READ)
def test_what_is_read_is_found_and_fixed(file, cli, before, after, newer, request):
    """The finding is seen; the fix adds its line and leaves every other byte; then all is clean."""
    file.write_bytes(before)
    words = ("lint", "--select", "entry-for-not-classmethod,syntax-error", "--format", "concise")
    found = cli(*words)
    assert found.code == 1
    lines = found.out.splitlines()
    assert "error entry-for-not-classmethod: AKernel.refusal" in lines[0]
    helped = newer and not parses(before)
    told = [line for line in lines[1:] if ": syntax: this file is parsed as newer Python" in line]
    assert len(lines) == 1 + len(told)
    assert len(told) == helped
    name = request.node.callspec.id
    fixed = cli(*words, "--fix")
    assert fixed.code == 1
    if name in WITHHELD:
        assert "note: the fix was withheld: " in cli(*words[:3], "--fix").out
        assert file.read_bytes() == before
        return
    assert file.read_bytes() == after
    assert cli(*words).code == 0


@pytest.mark.parametrize("data", REFUSED)
def test_what_no_parser_takes_is_a_finding(file, cli, data):
    """One error, exit 1, and no fix touches the file."""
    file.write_bytes(data)
    run = cli("lint", "--fix", "--unsafe-fixes", "--format", "concise")
    assert run.code == 1
    (line,) = run.out.splitlines()
    assert ": error syntax-error: " in line
    assert file.read_bytes() == data


def test_facts_keep_their_place_in_newer_syntax(file, cli):
    """What stands beside and behind blanked-out syntax is reported where it stands."""
    if sys.version_info >= (3, 12):
        pytest.skip("this Python reads type parameters itself")
    text = (
        "from tileops.backend import Kernel\n\n\n"
        "class Base[T](Kernel): ...\n\n\n"
        "class B[\n    T,\n](Base[T]):\n"
        "    def helper[S](self): ...\n\n"
        '    def refusal(cls, call): return f"{call.d["n"]}"; é = 1\n'
    )
    file.write_text(text)
    run = cli("lint", "--select", "entry-for-not-classmethod", "--format", "concise")
    assert run.out.startswith("case.py:12:9: error entry-for-not-classmethod: B.refusal")
