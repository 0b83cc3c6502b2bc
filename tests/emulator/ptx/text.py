"""Splitting C++ and PTX text."""

from __future__ import annotations

import re


class UnsupportedInstructionError(Exception):
    """PTX that is not emulated."""


def skip_string(s, i):
    q = s[i]
    i += 1
    while s[i] != q:
        i += 2 if s[i] == "\\" else 1
    return i + 1


def closing(s, i):
    """The index after the parenthesis that closes the one at *i*."""
    depth = 0
    while True:
        c = s[i]
        if c == '"':
            i = skip_string(s, i)
            continue
        if c == "'" and not (s[i - 1].isalnum() and s[i + 1].isalnum()):
            i = skip_string(s, i)
            continue
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1


def split_top(s, sep):
    out, depth, start, i = [], 0, 0, 0
    while i < len(s):
        c = s[i]
        if c == '"':
            i = skip_string(s, i)
            continue
        if c == "'" and not (i and s[i - 1].isalnum()):
            i = skip_string(s, i)
            continue
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == sep and depth == 0:
            out.append(s[start:i])
            start = i + 1
        i += 1
    out.append(s[start:])
    return out


def join_strings(s):
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', s, re.S)
    t = "".join(parts)
    return re.sub(
        r"\\(.)",
        lambda m: {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "\n": ""}.get(m[1], m[1]),
        t,
        flags=re.S,
    )


def split_ptx(s):
    out, depth, start = [], 0, 0
    for i, c in enumerate(s):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(s[start:i].strip())
            start = i + 1
    out.append(s[start:].strip())
    return [x for x in out if x]
