"""The project index: facts of all files linked into modules, classes and op tables.

Unresolvable means unknown, and a rule that needs the unknown stays silent.
"""

from tileops.lint.index._classes import ClassNode, Kind, Lookup
from tileops.lint.index._modules import Module
from tileops.lint.index._project import Project
from tileops.lint.index._requests import Requested
from tileops.lint.index._resolver import Foreign, FunctionNode, Located, Target
from tileops.lint.index._tables import Dispatch, Entry, OpTable, Table

__all__ = [
    "ClassNode",
    "Dispatch",
    "Entry",
    "Foreign",
    "FunctionNode",
    "Kind",
    "Located",
    "Lookup",
    "Module",
    "OpTable",
    "Project",
    "Requested",
    "Table",
    "Target",
]
