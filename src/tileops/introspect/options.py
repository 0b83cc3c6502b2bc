"""A call in canonical form as the command that explains it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from fractions import Fraction
from typing import cast

from tileops.introspect.formula import DEVICE_FACTS, Domain, Values, spell
from tileops.selection import fact_flag

__all__ = ["explain_command", "fact_options"]


def explain_command(
    op: str, interface: str, domain: Domain, values: Values, modules: Iterable[str] = ()
) -> str:
    """Return the command that explains a call; nothing is imported to make it.

    Args:
        op: The op's class name.
        interface: The interface.
        domain: The calls.
        values: The facts of the call.
        modules: What the command imports, since op and keys are not all to be had without.
    """
    imports = [word for module in modules for word in ("--import", module)]
    facts = fact_options(domain, values)
    return shlex.join(["tileops", "explain", op, "--interface", interface, *imports, *facts])


def fact_options(domain: Domain, values: Values) -> tuple[str, ...]:
    """Return every fact of a call as command-line words, as `CallSpec.options` spells them."""
    words: list[str] = []
    for one in domain.facts:
        flag, value = fact_flag(one.name), values[one.name]
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            real = one.kind == "real" and isinstance(value, (int, Fraction))
            words += [flag, str(float(cast(Fraction, value))) if real else spell(value)]
    if values["device_type"] != "cuda":
        words += ["--device", str(values["device_type"])]
        if sum(one.device_type == "cpu" == values["device_type"] for one in domain.machines) == 1:
            # Every machine has a CPU, and no other one is told from this.
            return tuple(words)
    for name in DEVICE_FACTS[1:]:
        if values[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(values[name])]
    return tuple(words)
