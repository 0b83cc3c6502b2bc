"""What keeps the linter from running. Findings are no errors; these exit with 2."""

from tileops.errors import TileopsError

__all__ = ["LintConfigurationError", "LintError", "LintPathError", "UnknownRuleError"]


class LintError(TileopsError, ValueError):
    """The linter cannot run as it was asked to."""


class LintPathError(LintError):
    """A path to lint does not exist.

    Cause:
        The path is misspelt, or relative to another folder.

    Remedy:
        Pass a path that exists.
    """

    template = "{path} is to be linted, but there is no such file or folder"

    path: str


class UnknownRuleError(LintError):
    """A rule is selected, ignored or asked about that does not exist.

    Cause:
        ``--select``, ``--ignore``, the configuration or a comment names it.

    Remedy:
        Use an id that ``tileops rule`` lists.
    """

    template = "{where} names the rule {rule!r}, which does not exist; {hint}"

    where: str
    rule: str
    hint: str


class LintConfigurationError(LintError):
    """The table ``[tool.tileops.lint]`` of ``pyproject.toml`` cannot be understood.

    Cause:
        The table has an unknown name, or a value of another type.

    Remedy:
        Correct what the message names in ``pyproject.toml``.
    """

    template = "{file}: [tool.tileops.lint] {problem}"

    file: str
    problem: str
