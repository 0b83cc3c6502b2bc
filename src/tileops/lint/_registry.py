"""The rules there are: one module each in `tileops.lint.rules`, found by looking."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tileops.findings import RuleSummary

if TYPE_CHECKING:
    from tileops.lint._rule import Rule

__all__ = ["all_rules", "rule_ids", "summaries", "summary"]

_FOLDER = Path(__file__).parent / "rules"


@cache
def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules, sorted, without importing any."""
    stems = (file.stem for file in _FOLDER.glob("*.py") if file.stem != "__init__")
    return tuple(sorted(stem.replace("_", "-") for stem in stems))


@cache
def all_rules() -> "dict[str, Rule]":
    """Return every rule by id."""
    return {name: _load(name) for name in rule_ids()}


def summaries() -> dict[str, RuleSummary]:
    """Return what a report says about each rule, by id."""
    return {name: summary(rule) for name, rule in all_rules().items()}


def summary(rule: "Rule") -> RuleSummary:
    """Return what a report says about a rule."""
    first = (type(rule).__doc__ or "").strip().partition("\n\n")[0]
    return RuleSummary(rule.id, rule.severity, " ".join(first.split()))


def _load(name: str) -> "Rule":
    """Import the module of a rule and make the one rule class it defines.

    Raises:
        TypeError: The module does not define exactly one rule of that id.
    """
    from tileops.lint._rule import BodyRule, Rule

    module = import_module(f"tileops.lint.rules.{name.replace('-', '_')}")
    own = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Rule) and item not in (Rule, BodyRule)
    ]
    if len(own) != 1 or own[0].id != name:
        raise TypeError(f"{module.__name__} must define one rule, of id {name!r}; it has {own}")
    rule: Rule = own[0]()
    return rule
