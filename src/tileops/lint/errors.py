"""What keeps the linter from running. Findings are no errors; these exit with 2."""

from tileops.errors import TileopsError

__all__ = [
    "BaselineError",
    "BaselineScopeError",
    "FileChangedError",
    "LintConfigurationError",
    "LintError",
    "LintFileKindError",
    "LintPathError",
    "OutsideProjectError",
    "UnknownRuleError",
    "UnreadableFileError",
    "UnwritableFileError",
]


class LintError(TileopsError, ValueError):
    """The linter cannot run as it was asked to."""


class LintPathError(LintError):
    """A path to lint does not exist."""

    template = "{path} is to be linted, but there is no such file or folder"

    path: str


class LintFileKindError(LintError):
    """A file to lint is of a kind no rule reads."""

    template = "{path} is to be linted, but it is neither a .py file nor a pyproject.toml"

    path: str


class OutsideProjectError(LintError):
    """Paths given together lie in different projects."""

    template = (
        "{path} is to be linted together with {first}, but lies outside its project; "
        "lint it in a run of its own"
    )

    path: str
    first: str


class UnreadableFileError(LintError):
    """A file or folder of the tree cannot be read."""

    template = "{path} cannot be read: {reason}"

    path: str
    reason: str


class UnwritableFileError(LintError):
    """A fixed file or the baseline cannot be written; nothing was."""

    template = "{path} cannot be written: {reason}; nothing was changed"

    path: str
    reason: str


class FileChangedError(LintError):
    """A file changed on disk while its fixes were made; nothing was written."""

    template = "{path} changed while its fixes were made; nothing was written, run the fixes again"

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


class BaselineError(LintError):
    """The baseline file is missing or is none."""

    template = "the baseline {path} {problem}; tileops lint --update-baseline writes it anew"

    path: str
    problem: str


class BaselineScopeError(LintError):
    """A baseline is to be written that would not be one of the whole project."""

    template = "--update-baseline {problem}"

    problem: str
