"""Finding records and their writers, shared by the linter and the audit.

Standard library only. A tool decides and returns findings; a writer renders a `FindingReport` and
returns text.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tileops.findings._finding import Applicability, Edit, Finding, Fix, Notice, Range, Severity
from tileops.findings._fingerprint import fingerprints
from tileops.findings._github import annotation, write_github
from tileops.findings._json import write_json
from tileops.findings._junit import write_junit
from tileops.findings._report import FindingReport, RuleSummary
from tileops.findings._sarif import write_sarif
from tileops.findings._text import write_concise, write_full, write_statistics

__all__ = [
    "WRITERS",
    "Applicability",
    "Edit",
    "Finding",
    "FindingReport",
    "Fix",
    "Notice",
    "Range",
    "RuleSummary",
    "Severity",
    "annotation",
    "fingerprints",
    "write_statistics",
]

WRITERS: Mapping[str, Callable[[FindingReport], str]] = MappingProxyType(
    {
        "full": write_full,
        "concise": write_concise,
        "json": write_json,
        "github": write_github,
        "sarif": write_sarif,
        "junit": write_junit,
    }
)
"""The writer of each output format."""
