"""Importing what a question is about: modules named by ``--import``, and the op itself."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING

import click

from tileops.cli._failure import OPS_REMEDY, LoadFailure, UsageFailure
from tileops.cli._index import OpRow
from tileops.errors.wording import told

if TYPE_CHECKING:
    from tileops.ops.op import Op


def import_modules(names: list[str]) -> None:
    """Import modules by name, the working directory included.

    Raises:
        UsageFailure: One of them is no name of a module.
        LoadFailure: One of them cannot be imported.
    """
    for name in names:
        _check_module(name)
    if names and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    for name in names:
        try:
            with redirect_stdout(sys.stderr):
                import_module(name)
        except BaseException as error:
            # Whatever a module raises is its failure, but for a person who ends the command.
            if type(error) is KeyboardInterrupt:
                raise
            raise LoadFailure(
                f"cannot import {name}", cause=told(error), remedy=_not_found(name, error)
            ) from error


def _check_module(name: str) -> None:
    """Reject what names no module: a file, above all.

    Raises:
        UsageFailure: The text is no name of a module.
    """
    folder, file = os.path.split(os.path.normpath(name) if name else name)
    if folder or os.sep in name or name.endswith(".py"):
        path = f", asked from the folder {folder} or with that in PYTHONPATH" if folder else ""
        raise UsageFailure(
            f"{name!r} is a file, and a module is named as Python imports it",
            remedy=f"write {file.removesuffix('.py') or 'its name'}{path}",
        )
    if not all(name.split(".")):
        raise UsageFailure(f"a module is named in full, such as acme.kernels; got {name!r}")


def _not_found(name: str, error: BaseException) -> str | None:
    """Say where modules are looked for, when it is the one named that is missing."""
    if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
        return "modules are looked for in the working directory, PYTHONPATH and what is installed"
    return None


def imported_row(name: str, modules: list[str]) -> OpRow | None:
    """Import *modules* and return the row of the op with this name, if one is defined by then."""
    require_torch()
    import_modules(modules)
    from tileops.cli._index import row_of
    from tileops.ops.catalogue import op_class

    op = op_class(name)
    return None if op is None else row_of(op)


def load_op(row: OpRow) -> type[Op]:
    """Import the op of a row.

    Raises:
        LoadFailure: The op's module cannot be imported.
    """
    import_modules([row.module])
    op: type[Op] = getattr(sys.modules[row.module], row.name)
    return op


def require_torch() -> None:
    """Import torch.

    Raises:
        LoadFailure: It is not installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise LoadFailure(
            "this question needs torch, which cannot be imported",
            cause=str(error),
            remedy=OPS_REMEDY,
        ) from error


@contextmanager
def stdout_kept_clean() -> Iterator[None]:
    """Keep stdout for the answer while code of others runs.

    What imported modules, detectors and refusals print goes to stderr, and so do warnings, of
    backends that fail to load above all, one line each.
    """
    with redirect_stdout(sys.stderr), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=RuntimeWarning, message="tileops")
        try:
            yield
        finally:
            for one in caught:
                click.echo(f"warning: {one.message}", err=True)
