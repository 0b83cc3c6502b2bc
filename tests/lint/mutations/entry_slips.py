"""Slips in entry_for, constructors and forward."""

from mutants import Slip
from places import ACME, ENTRY, KERNELS, OWN

__all__ = ["ENTRIES", "FLOW"]

ENTRIES = (
    Slip(
        "entry-for-not-classmethod",
        KERNELS,
        r"    @classmethod\n(    def (?:entry_for|refusal)\(cls, call)",
        (r"\1", r"    @staticmethod\n\1"),
    ),
    Slip(
        "entry-for-shape",
        KERNELS,
        ENTRY,
        (
            "        return None\n",
            "        return (\\1), 1\n",
            "        return (\\1), lambda: cls(\\1), 0\n",
        ),
    ),
    Slip(
        "entry-for-eager-build",
        KERNELS,
        r"return identity, lambda: cls\(\*identity\)",
        ("return identity, cls(*identity)",),
        also=("entry-for-shape",),
    ),
    Slip(
        "build-identity-unhashable",
        KERNELS,
        ENTRY,
        (
            "        return [\\1], lambda: cls(\\1)\n",
            "        identity = [\\1]\n        return identity, lambda: cls(*identity)\n",
            "        return {\\1}, lambda: cls(\\1)\n",
        ),
    ),
    Slip(
        "build-identity-has-tensor",
        KERNELS,
        ENTRY,
        (
            "        return (\\1, id(call)), lambda: cls(\\1)\n",
            "        return (\\1, call.n.data_ptr()), lambda: cls(\\1)\n",
        ),
        also=("refusal-reads-tensor",),
    ),
    Slip(
        "tuning-in-factory",
        KERNELS,
        r"return identity, lambda: cls\(\*identity\)",
        ("return identity, lambda: cls(*identity).request_tune()",),
    ),
    Slip(
        "factory-late-binding",
        KERNELS,
        ENTRY,
        (
            "        identity = (\\1)\n        build = lambda: cls(*identity)\n        identity = (*identity, 0)\n        return identity, build\n",
        ),
    ),
    Slip(
        "forward-signature",
        KERNELS,
        r"def forward\(self, x: torch\.Tensor, (?:\w+: torch\.Tensor, )*?(\w+: torch\.Tensor)\)",
        (
            "def forward(self)",
            "def forward(self, x: torch.Tensor, *, \\1)",
            "def forward(self, \\1)",
        ),
    ),
    Slip(
        "missing-abstract-method",
        KERNELS,
        r"    def forward(\(self, x: torch\.Tensor, [^)]*\)[^\n]*\n        \"\"\"(?:Normalize|Add|Run)[^\n]*\"\"\"\n)",
        (r"    def forwards\1",),
        elsewhere=True,
    ),
    Slip(
        "cached-method",
        KERNELS,
        r"^    def (forward|default_config)\(self",
        (r"    @functools.cache\n    def \1(self",),
        more=(
            (OWN, r"^(from __future__ [^\n]*\n)", r"\1\nimport functools\n"),
            (ACME, r"^(from __future__ [^\n]*\n)", r"\1\nimport functools\n"),
        ),
        elsewhere=True,
    ),
)


def omissions(count: int) -> tuple[str, ...]:
    """The entries of *count* facts that leave one out, with the constructor called in full."""
    names = [f"\\{i + 1}" for i in range(count)]
    made: list[str] = []
    for left in range(count):
        kept = ", ".join(name for i, name in enumerate(names) if i != left)
        full = ", ".join(names)
        made.append(f"        return ({kept},), lambda: cls({full})\n")
        made.append(
            f"        identity = ({kept},)\n        return identity, lambda: cls(*identity, {names[left]})\n"
        )
        made.append(
            f"        taken = {names[left]}\n        return ({kept},), lambda: cls({full.replace(names[left], 'taken')})\n"
        )
    return tuple(made)


def entry_of(count: int) -> str:
    """The pattern of an entry of that many facts."""
    facts = ", ".join([r"(call\.\w+)"] * count)
    return rf"        identity = \({facts}\)\n        return identity, lambda: cls\(\*identity\)\n"


FLOW = (
    *(
        Slip("build-identity-omits-fact", KERNELS, entry_of(n), omissions(n), flow=True)
        for n in (2, 3, 4)
    ),
)
