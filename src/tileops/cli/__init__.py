"""The ``tileops`` command: typer in, rich out, one module per command.

Only a command's own module is imported when it runs, so help and completion stay light.
"""

from tileops.cli._app import main

__all__ = ["main"]
