"""The examples a rule carries: they are its tests and its documentation.

A case is one module, or several as a mapping from path to source. A single module stands at
`CASE_PATH` and starts with `PRELUDE`; modules of a mapping state their own imports. ``[|`` and
``|]`` around a stretch of an invalid case mark the range of its finding; they are taken out
before linting.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tileops.findings import Range, Severity

__all__ = ["CASE_PATH", "CONTRACT", "PRELUDE", "Case", "Invalid", "Valid", "strip_marks"]

CASE_PATH = "src/tileops/kernels/case.py"

PRELUDE = """\
import dataclasses
from abc import abstractmethod
from dataclasses import dataclass

import torch

from tileops.backend import CallSpec, Kernel, KernelInterface, register_kernel_type
from tileops.ops.op import Op

"""

CONTRACT: Mapping[str, str] = MappingProxyType(
    {
        "src/tileops/__init__.py": "",
        "src/tileops/call_spec.py": """\
import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class CallSpec:
    device: torch.device | None = None
    arch: int = 0
    sm_count: int = 0
    smem_budget: int = 0
""",
        "src/tileops/kernels/__init__.py": "",
        "src/tileops/kernels/interface.py": """\
from tileops.call_spec import CallSpec


class KernelInterface:
    request: type[CallSpec]
""",
        "src/tileops/kernels/kernel.py": """\
class Kernel:
    devices = frozenset({"cuda"})
    supported_archs = None
    general = False
    preferred_over = frozenset()

    def __init__(self, *args): ...

    @classmethod
    def refusal(cls, call):
        return None

    @classmethod
    def entry_for(cls, call):
        return call, lambda: cls(call)

    def __call__(self, *args):
        return self.forward(*args)

    def request_tune(self): ...
""",
        "src/tileops/ops/__init__.py": "",
        "src/tileops/ops/op.py": """\
class Op:
    kernel_types = {}
    interfaces = {}

    def entry_for(self, interface, call): ...

    def kernel_for(self, interface, call): ...

    def key_for(self, interface, call): ...
""",
        "src/tileops/backend/__init__.py": """\
from tileops.backend._registry import (
    register_detector,
    register_device_facts,
    register_kernel_builder,
    register_kernel_type,
)
from tileops.call_spec import CallSpec
from tileops.kernels.interface import KernelInterface
from tileops.kernels.kernel import Kernel
""",
        "src/tileops/backend/_registry.py": """\
def register_detector(*, target, detect): ...


def register_device_facts(device_type, facts): ...


def register_kernel_builder(*, op, target, build_kernel): ...


def register_kernel_type(op, key, kernel_type): ...
""",
    }
)
"""The least of the library that a case is linted with: what the rules know it by."""

_MARK = re.compile(r"\[\||\|\]")

Files = str | Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """One example; ``name`` says in a few words what it shows."""

    name: str
    files: Files

    def sources(self) -> dict[str, str]:
        """Return the case's modules, marks included, each at its path."""
        if isinstance(self.files, str):
            return {CASE_PATH: PRELUDE + self.files}
        return dict(self.files)


@dataclass(frozen=True)
class Valid(Case):
    """Code the rule says nothing about."""


@dataclass(frozen=True)
class Invalid(Case):
    """Code the rule flags: one message per marked range, in the order of the output.

    ``fixed`` is the source after all fixes of the rule, unsafe ones included; for a mapping, only
    the files that change. None means that the rule must not fix it. ``severity`` is stated where
    it differs from the rule's.
    """

    messages: str | tuple[str, ...] = ()
    fixed: Files | None = None
    severity: Severity | None = None

    def expected(self) -> tuple[str, ...]:
        """Return the messages as a tuple."""
        return (self.messages,) if isinstance(self.messages, str) else self.messages

    def outcome(self) -> dict[str, str] | None:
        """Return every module after the fixes, or None."""
        if self.fixed is None:
            return None
        before = {path: strip_marks(text)[0] for path, text in self.sources().items()}
        if isinstance(self.fixed, str):
            return before | {CASE_PATH: PRELUDE + self.fixed}
        return before | dict(self.fixed)


def strip_marks(text: str) -> tuple[str, list[Range]]:
    """Return a source without its marks, and the ranges they enclosed in order.

    Raises:
        ValueError: A mark has no partner.
    """
    pieces: list[str] = []
    ranges: list[Range] = []
    opened: list[tuple[int, int]] = []
    done, line, column = 0, 1, 1
    for match in _MARK.finditer(text):
        piece = text[done : match.start()]
        pieces.append(piece)
        breaks = piece.count("\n")
        line += breaks
        column = len(piece) - piece.rfind("\n") if breaks else column + len(piece)
        done = match.end()
        if match.group() == "[|":
            opened.append((line, column))
        elif opened:
            ranges.append(Range(*opened.pop(), line, column))
        else:
            raise ValueError(f"'|]' on line {line} closes nothing")
    if opened:
        raise ValueError(f"'[|' on line {opened[-1][0]} is never closed")
    return "".join([*pieces, text[done:]]), sorted(ranges)
