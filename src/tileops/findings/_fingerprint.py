"""A name for a finding that survives edits elsewhere in its file."""

import hashlib
from collections import Counter
from collections.abc import Iterable

from tileops.findings._finding import Finding

__all__ = ["fingerprints"]


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """Return one stable name per finding, in order.

    A name depends on rule, symbol and the source line with its blanks collapsed, never on path or
    line number; equal ones are counted, so that every name is unique within a run.
    """
    seen: Counter[str] = Counter()
    names: list[str] = []
    for finding in findings:
        text = " ".join(finding.excerpt.split())
        parts = "\0".join((finding.rule, finding.symbol, text))
        name = hashlib.blake2b(parts.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
        names.append(f"{name}:{seen[name]}")
        seen[name] += 1
    return names
