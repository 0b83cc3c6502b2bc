"""What keeps the linter from running; findings are no errors.

A command exits with 3 where a file is no good, and with 2 where what is asked for is.
"""

from tileops.errors import TileopsError

__all__ = [
    "BaselineError",
    "BaselineScopeError",
    "FileChangedError",
    "LintConfigurationError",
    "LintError",
    "LintFileError",
    "LintFileKindError",
    "LintPathError",
    "OutsideProjectError",
    "UnknownRuleError",
    "UnreadableFileError",
    "UnwritableFileError",
]


class LintError(TileopsError, ValueError):
    """The linter cannot run as it was asked to."""


class LintFileError(LintError):
    """A file or folder that the linter needs is missing, cannot be used or does not fit."""


class LintPathError(LintFileError):
    """A path to lint does not exist.

    Cause:
        The path is misspelt, or relative to another folder.

    Remedy:
        Pass a path that exists.
    """

    template = "{path} is to be linted, but there is no such file or folder"

    path: str


class LintFileKindError(LintFileError):
    """A file to lint is of a kind no rule reads.

    Cause:
        The path names a file with another ending, or something that is no file, such as a pipe.

    Remedy:
        Pass Python files, ``pyproject.toml`` or folders.
    """

    template = "{path} is to be linted, but it is {kind}"

    path: str
    kind: str


class OutsideProjectError(LintError):
    """Paths given together lie in different projects.

    Cause:
        A project ends where another ``pyproject.toml`` or repository begins.

    Remedy:
        Lint each project in a run of its own.
    """

    template = (
        "{path} is to be linted together with {first}, but lies outside its project; "
        "lint it in a run of its own"
    )

    path: str
    first: str


class UnreadableFileError(LintFileError):
    """A file or folder of the tree cannot be read.

    Cause:
        The file has no read permission, or is no text in its declared encoding.

    Remedy:
        Correct the permission or the encoding, or exclude the file.
    """

    template = "{path} cannot be read: {reason}"

    path: str
    reason: str


class UnwritableFileError(LintFileError):
    """A fixed file or the baseline cannot be written; nothing was.

    Cause:
        The file or its folder cannot be written by this user.

    Remedy:
        Correct the permission and run again.
    """

    template = "{path} cannot be written: {reason}; nothing was changed"

    path: str
    reason: str


class FileChangedError(LintFileError):
    """A file changed on disk while its fixes were made; nothing was written.

    Cause:
        An editor or another process wrote the file during the run.

    Remedy:
        Run the fixes again.
    """

    template = "{path} changed while its fixes were made; nothing was written, run the fixes again"

    path: str


class UnknownRuleError(LintError):
    """A rule is selected, ignored or asked about that does not exist.

    Cause:
        ``--select`` or ``--ignore`` names it, or a program asks for it.

    Remedy:
        Use an id that ``tileops rule`` lists.
    """

    template = "{where} names the rule {rule!r}, which does not exist; {hint}"

    where: str
    rule: str
    hint: str


class LintConfigurationError(LintFileError):
    """The table ``[tool.tileops.lint]`` of ``pyproject.toml`` cannot be understood.

    Cause:
        The table has an unknown name, a value of another type, or a rule that does not exist.

    Remedy:
        Correct what the message names in ``pyproject.toml``.
    """

    template = "{file}: [tool.tileops.lint] {problem}"

    file: str
    problem: str


class BaselineError(LintFileError):
    """The baseline file is missing or is none.

    Cause:
        The file was never written, or edited by hand.

    Remedy:
        Correct or remove the file, and write it with ``tileops lint --update-baseline``.
    """

    template = "the baseline {path} {problem}"

    path: str
    problem: str


class BaselineScopeError(LintError):
    """A baseline is to be written that would not be one of the whole project.

    Cause:
        The run is limited to some paths or rules, and the baseline holds the findings of all.

    Remedy:
        Leave the limits out when the baseline is written.
    """

    template = "--update-baseline {problem}"

    problem: str
