"""Registries of the tests' own, and backends that are really installed: modules with metadata."""

from __future__ import annotations

import sys
import types
from importlib.metadata import Distribution

import pytest
from probe import registry_of

REGISTERING = (
    "register_detector",
    "register_device_facts",
    "register_kernel_builder",
    "register_kernel_type",
    "set_default_target",
)


@pytest.fixture
def registry():
    """A registry that loads nothing."""
    return registry_of()


class Site:
    """A folder of installed distributions, and the registry that loads their entry points.

    Their modules import the registering functions from ``tileops_backend``.
    """

    def __init__(self, folder):
        self.folder = folder
        self.registry = registry_of(self.entry_points)
        self.asked = 0

    def entry_points(self):
        self.asked += 1
        found = Distribution.discover(path=[str(self.folder)])
        return [p for dist in found for p in dist.entry_points if p.group == "tileops.backends"]

    def install(self, name, source, *, module=None, distribution=None, version="1.0"):
        """Write a module and the metadata of its distribution, with one entry point *name*."""
        module = module or f"backend_{name}"
        distribution = distribution or name
        (self.folder / f"{module}.py").write_text(f"from tileops_backend import *\n{source}\n")
        info = self.folder / f"{distribution}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        )
        (info / "entry_points.txt").write_text(f"[tileops.backends]\n{name} = {module}\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed backends; what it lets be imported is forgotten afterwards."""
    made = Site(tmp_path)
    surface = types.ModuleType("tileops_backend")
    for name in REGISTERING:
        setattr(surface, name, getattr(made.registry, name))
    monkeypatch.setitem(sys.modules, "tileops_backend", surface)
    monkeypatch.syspath_prepend(tmp_path)
    yield made
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in str(getattr(module, "__file__", None)):
            del sys.modules[name]
