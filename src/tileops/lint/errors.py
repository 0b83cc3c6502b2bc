"""What keeps the linter from running. Findings are no errors; these exit with 2."""

from tileops.errors import TileopsError

__all__ = ["LintConfigurationError", "LintError", "LintPathError", "UnknownRuleError"]


class LintError(TileopsError, ValueError):
    """The linter cannot run as it was asked to."""


class LintPathError(LintError):
    """A path to lint does not exist."""

    template = "{path} is to be linted, but there is no such file or folder"

    path: str


class UnknownRuleError(LintError):
    """A rule is selected, ignored or asked about that does not exist."""

    template = "{where} names the rule {rule!r}, which does not exist; {hint}"

    where: str
    rule: str
    hint: str


class LintConfigurationError(LintError):
    """The table ``[tool.tileops.lint]`` of ``pyproject.toml`` cannot be understood."""

    template = "{file}: [tool.tileops.lint] {problem}"

    file: str
    problem: str
