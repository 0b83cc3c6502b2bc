"""The table ``[tool.tileops.lint]`` of ``pyproject.toml``, and which rules a run enables."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tileops.findings import RuleSummary, Severity
from tileops.lint._registry import rule_ids
from tileops.lint._tree import matches
from tileops.lint.errors import LintConfigurationError, UnknownRuleError, UnreadableFileError

__all__ = ["Settings", "check_rules", "read_settings"]

_KEYS = ("baseline", "exclude", "ignore", "per-file-ignores", "select")
_ALL = "all"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the project configures.

    ``select`` and ``ignore`` name rules, tiers by their names or the start of them ("error", "E"),
    or "all"; an empty ``select`` means every rule that is no matter of taste.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    baseline: str = ""

    def enabled(
        self,
        catalogue: Mapping[str, RuleSummary],
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Return the ids of the rules to run; ``select`` replaces the configured one."""
        default = (Severity.ERROR, Severity.WARNING)
        wanted = _expand(select or self.select or default, catalogue)
        unwanted = _expand((*self.ignore, *ignore), catalogue)
        # A rule named on the command line runs even where the configuration ignores it.
        unwanted -= {name for name in select if name in catalogue} - set(ignore)
        return tuple(sorted(wanted - unwanted))

    def ignored(self, path: str, catalogue: Mapping[str, RuleSummary]) -> frozenset[str]:
        """Return the rules that do not apply to a file."""
        found = (rules for pattern, rules in self.per_file_ignores if matches(path, pattern))
        return frozenset(_expand((rule for rules in found for rule in rules), catalogue))


@dataclass(slots=True)
class _Reader:
    file: str
    table: dict[str, Any] = field(default_factory=dict)

    def names(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise LintConfigurationError(file=self.file, problem=f"{key} must be a list of strings")
        return tuple(value)

    def text(self, key: str) -> str:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            raise LintConfigurationError(file=self.file, problem=f"{key} must be a string")
        return value


def read_settings(root: Path) -> Settings:
    """Return the settings of a project; the defaults where it states none.

    Raises:
        LintConfigurationError: The table has an unknown key, a value of the wrong type or the
            name of a rule that does not exist.
        UnreadableFileError: There is a file that cannot be read.
    """
    file = root / "pyproject.toml"
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return Settings()
    except RecursionError as error:
        raise LintConfigurationError(file=file.name, problem="nests too deep") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LintConfigurationError(file=file.name, problem=f"cannot be read: {error}") from error
    except OSError as error:
        raise UnreadableFileError(path=file.name, reason=error.strerror or str(error)) from error
    table = _table(document, ("tool", "tileops", "lint"), file.name)
    for key in table:
        if key not in _KEYS:
            problem = f"has an unknown key {key!r}; known: {', '.join(_KEYS)}"
            raise LintConfigurationError(file=file.name, problem=problem)
    reader = _Reader(file.name, table)
    inner = _Reader(file.name, _table(table, ("per-file-ignores",), file.name))
    settings = Settings(
        select=reader.names("select"),
        ignore=reader.names("ignore"),
        exclude=reader.names("exclude"),
        per_file_ignores=tuple((pattern, inner.names(pattern)) for pattern in inner.table),
        baseline=reader.text("baseline"),
    )
    named = [rule for _, rules in settings.per_file_ignores for rule in rules]
    for name in (*settings.select, *settings.ignore, *named):
        hint = _unknown(name)
        if hint is not None:
            problem = f"names the rule {name!r}, which does not exist; {hint}"
            raise LintConfigurationError(file=file.name, problem=problem)
    return settings


def check_rules(names: Iterable[str], where: str) -> None:
    """Raise unless every name is a rule or a group of rules.

    Raises:
        UnknownRuleError: One is neither.
    """
    for name in names:
        hint = _unknown(name)
        if hint is not None:
            raise UnknownRuleError(where=where, rule=name, hint=hint)


def _unknown(name: str) -> str | None:
    """Return what to use instead of a name that is no rule and no group, None when it is one."""
    known = [*rule_ids(), _ALL, *Severity]
    if name in known or _tier(name) is not None:
        return None
    near = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "tileops rule lists them"


def _table(document: dict[str, Any], names: Sequence[str], file: str) -> dict[str, Any]:
    """Return the table at a path of keys, empty where there is none."""
    table: Any = document
    for position, name in enumerate(names):
        table = table.get(name, {})
        if not isinstance(table, dict):
            stated = ".".join(names[: position + 1])
            raise LintConfigurationError(file=file, problem=f"{stated} must be a table")
    return dict(table)


def _tier(name: str) -> Severity | None:
    """Return the tier that a name is, or is the start of."""
    folded = name.lower()
    return next((tier for tier in Severity if folded and tier.startswith(folded)), None)


def _expand(names: Iterable[str], catalogue: Mapping[str, RuleSummary]) -> set[str]:
    """Return the rules that names and groups mean."""
    found: set[str] = set()
    for name in names:
        if name in catalogue:
            found.add(name)
        elif name == _ALL:
            found.update(catalogue)
        else:
            tier = _tier(name)
            found.update(rule for rule, said in catalogue.items() if said.severity is tier)
    return found
