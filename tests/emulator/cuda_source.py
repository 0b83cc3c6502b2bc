"""CUDA source made C++: shared memory, inline PTX, and entries for the launch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import ptx
from .errors import UnsupportedSourceError

__all__ = ["MARK", "bytes_told_apart", "entries", "translated"]

MARK = "// The kernel's source starts on the next line."

_SHARED = re.compile(
    r"(?P<extern>extern\s+)?__shared__\s+(?P<align>(?:__align__|alignas)\((?P<bytes>\d+)\)\s+)?"
    r"(?P<type>[\w:<>, ]+?(?:\s*\*)?)\s*"
    r"(?P<names>\b\w+\s*(?:\[[^\];]*\]\s*)*(?:,\s*\w+\s*(?:\[[^\];]*\]\s*)*)*);"
)

_CALL = """
template <class... A, size_t... I>
static void emu_call(void (*f)(A...), void** a, std::index_sequence<I...>) {
  f(*(std::remove_cv_t<std::remove_reference_t<A>>*)a[I]...);
}
template <class... A> static void emu_call(void (*f)(A...), void** a) {
  emu_call(f, a, std::index_sequence_for<A...>());
}
"""


def translated(source: str) -> tuple[list[str], str]:
    """Return the include directives of CUDA *source* and its body as C++, line for line.

    Raises:
        UnsupportedSourceError: A declaration of shared memory cannot be read.
    """
    includes, body = _split(_joined(source))
    body = _shared_memory(body)
    left = re.search(r"^.*\b__shared__\b.*$", body, re.M)
    if left:
        raise UnsupportedSourceError(left[0].strip())
    return includes, ptx.rewrite(body)


def entries(names: Sequence[str]) -> str:
    """Return C++ that takes a kernel's arguments as an array of pointers."""
    lines = (
        f'extern "C" void emu_entry_{one}(void** a) {{ emu_call(&{one}, a); }}' for one in names
    )
    return _CALL + "\n".join(lines) + "\n"


def bytes_told_apart(source: str) -> int:
    """Return how many neighbouring bytes the race detector takes for one place."""
    body = source.split("__global__", 1)[-1]
    # The pool of shared memory is of bytes in every kernel, whatever lies in it.
    body = body.replace("uchar buf_dyn_shmem", "").replace("(char*)buf_dyn_shmem", "")
    return 1 if re.search(r"fp8|char\b|int8", body) else 2


def _joined(source: str) -> str:
    """Make continued lines one, and keep the numbers of those after them."""
    return re.sub(
        r"(?:[^\n]*\\\r?\n)+[^\n]*",
        lambda found: re.sub(r"\\\r?\n", " ", found[0]) + "\n" * found[0].count("\n"),
        source,
    )


def _split(source: str) -> tuple[list[str], str]:
    includes, body, skipped = [], [], False
    for line in source.split("\n"):
        text = line.strip()
        # TileLang begins with lines for another compiler, which hold an include of their own.
        skipped = skipped or text.startswith("#if defined(_MSC_VER)")
        if skipped:
            skipped = not text.startswith("#endif")
            body.append("")
        elif re.match(r"#\s*include\b", text):
            includes.append(text)
            body.append("")
        else:
            body.append(line)
    return includes, "\n".join(body)


def _shared_memory(text: str) -> str:
    count = 0

    def declaration(found: re.Match[str]) -> str:
        nonlocal count
        kind = found["type"].strip()
        if found["extern"]:
            name = found["names"].split("[")[0].strip()
            return f"{kind}* {name} = ({kind}*)::emu::dyn_smem();"
        out = ""
        for one in ptx.split_top(found["names"], ","):
            name, sizes = re.fullmatch(r"\s*(\w+)\s*(.*)", one, re.S).groups()
            count += 1
            array = f"emu_shared_{count}"
            place = f"::emu::static_smem({count}, sizeof({array}), {found['bytes'] or 16})"
            out += f"typedef {kind} {array}{sizes.strip()}; {array}& {name} = *({array}*){place};"
        return out

    return _SHARED.sub(declaration, text)
