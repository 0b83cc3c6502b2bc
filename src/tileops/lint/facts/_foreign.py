"""Packages that are known to have no part in the contract."""

import sys

__all__ = ["is_foreign"]

_PACKAGES = sys.stdlib_module_names | {
    "builtins",
    "msgspec",
    "numpy",
    "pytest",
    "tilelang",
    "torch",
    "triton",
    "tvm",
    "typing_extensions",
}


def is_foreign(name: str) -> bool:
    """Say whether a dotted name lies in a package without classes of the contract."""
    return name.partition(".")[0] in _PACKAGES
