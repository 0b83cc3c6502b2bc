"""Replaces asm statements in C++ text by calls into the emulator."""

from __future__ import annotations

import re

from .block import Block, restart
from .text import UnsupportedInstructionError, closing, join_strings, split_top

unknown: dict[str, int] = {}

ASM = re.compile(
    r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|__volatile|inline|goto)\s*)*\("
)


def rewrite(text, wanted=lambda file: True, markers=False):
    """Replace asm statements; with *markers*, only in files for which ``wanted(file)``."""
    restart()
    regions = None
    if markers:
        regions = [
            (m.start(), wanted(m[1])) for m in re.finditer(r'^# \d+ "([^"]*)".*$', text, re.M)
        ]
    out, last, r = [], 0, 0
    for m in ASM.finditer(text):
        if m.start() < last:
            continue
        if regions:
            while r + 1 < len(regions) and regions[r + 1][0] <= m.start():
                r += 1
            if regions[r][0] <= m.start() and not regions[r][1]:
                continue
        line = text.rfind("\n", 0, m.start()) + 1
        if "//" in text[line : m.start()] and '"' not in text[line : m.start()]:
            continue
        if markers and text[line : m.start()].lstrip().startswith("#define"):
            continue  # expanded already
        try:
            end = closing(text, m.end() - 1)
        except IndexError:
            continue
        body = text[m.end() : end - 1]
        if not body.lstrip().startswith('"'):
            continue
        out.append(text[last : m.start()])
        code = statement(body)
        newlines = text[m.start() : end].count("\n")
        if regions is None or not markers:
            # Keep line numbers; a macro's continued lines were joined before.
            code += "\n" * newlines
        out.append(code)
        last = end
    out.append(text[last:])
    return "".join(out)


def statement(body):
    sections = split_top(body, ":")
    template = join_strings(sections[0])
    operands = []
    for kind, sec in zip(("out", "in"), sections[1:3], strict=False):
        if not sec.strip():
            continue
        for item in split_top(sec, ","):
            m = re.match(r'\s*(?:\[\s*(\w+)\s*\])?\s*((?:"[^"]*"\s*)+)\s*\(', item, re.S)
            if not m:
                return _fail("cannot read operand " + item, template)
            close = closing(item, m.end() - 1)
            operands.append(
                (kind, m[1], join_strings(m[2]), item[m.end() : close - 1].replace("\n", " "))
            )
    try:
        return Block(template, operands).emit()
    except UnsupportedInstructionError as e:
        return _fail(str(e), template)


def _fail(why, template):
    unknown[why] = unknown.get(why, 0) + 1
    t = " ".join(template.split()).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'::emu::fail("PTX that is not emulated ({why.replace(chr(34), chr(39)).replace("%", "%%").replace(chr(10), " ")}): {t[:400]}")'
