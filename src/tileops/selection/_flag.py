"""The command-line option that states a fact, for whoever writes or reads commands."""

from __future__ import annotations

OPTION_NAMES = frozenset(
    {
        *("all", "expect", "format", "gpu", "help", "import", "interface", "schema"),
        *("target", "traceback", "vary", "version", "why-not", "with", "without", "workload"),
    }
)
"""The options that the commands which take facts have themselves, those of the device aside.

No fact has the name of a device option: a call spec has a field of that name already.
"""


def fact_flag(name: str) -> str:
    """Return the option of a fact: ``--n``, but ``--fact-format`` where commands have the name."""
    word = name.replace("_", "-")
    return f"--fact-{word}" if word in OPTION_NAMES else f"--{word}"
