"""The value that every reader of a decision shares: op, errors, command line, trace, tests."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tileops.errors import (
    AmbiguousDispatchError,
    DefectiveRefusalError,
    OpNotAvailableError,
    SelectionError,
    UnservedCallError,
)
from tileops.selection._candidate import Call
from tileops.selection._table import SelectionTable
from tileops.selection._verdict import Outcome, Stage, Verdict


@dataclass(frozen=True)
class Selection:
    """The outcome of one call and the verdict on every key, in declaration order."""

    table: SelectionTable
    call: Call
    verdicts: tuple[Verdict, ...]
    outcome: Outcome

    @property
    def selected(self) -> Verdict | None:
        """The verdict of the selected key, or None."""
        return next((one for one in self.verdicts if one.stage is Stage.SELECTED), None)

    def winner(self) -> str:
        """Return the selected key.

        Raises:
            OpNotAvailableError: No key runs on the call's device type.
            UnservedCallError: No key is both available and applicable.
            AmbiguousDispatchError: Several keys apply and none has precedence.
            DefectiveRefusalError: A refusal raised; the cause is chained.
        """
        selected = self.selected
        if selected is None:
            raised = next((one.error for one in self.verdicts if one.error is not None), None)
            raise self.error() from raised
        return selected.key

    def error(self) -> SelectionError:
        """Build the error of an outcome other than SELECTED."""
        common = {
            "selection": self,
            "op": self.table.op,
            "interface": self.table.interface,
            "facts": self.call.describe(),
            "reproduction": self.reproduction(),
        }
        if self.outcome is Outcome.NO_DEVICE:
            return OpNotAvailableError(**common, **_missing_device(self))
        if self.outcome is Outcome.UNSERVED:
            reasons = "\n".join(f"  {v.key}: {v.reason}" for v in self.verdicts)
            return UnservedCallError(**common, reasons=reasons)
        if self.outcome is Outcome.AMBIGUOUS:
            tied = [v for v in self.verdicts if v.stage is Stage.TIED]
            return AmbiguousDispatchError(
                **common,
                keys=", ".join(v.key for v in tied),
                winner=tied[0].candidate.name,
                loser=tied[1].key,
            )
        raised = next(v for v in self.verdicts if v.stage is Stage.RAISED)
        return DefectiveRefusalError(
            **common, key=raised.key, implementation=raised.candidate.name, problem=raised.reason
        )

    def command(self) -> str | None:
        """Return the ``tileops explain`` command that shows this outcome, stating every fact.

        Returns:
            The command, or None when a class it needs cannot be imported by another process.
        """
        origins = [self.table.origin, *(one.origin for one in self.table.candidates)]
        modules = sorted({one.module for one in origins if one.module is not None})
        inside_functions = any("<locals>" in one.name for one in self.table.candidates)
        if inside_functions or not all(origin.importable for origin in origins):
            return None
        words = ["tileops", "explain", self.table.op, "--interface", self.table.interface]
        for module in modules:
            words += ["--import", module]
        return shlex.join([*words, *self.call.options()])

    def reproduction(self) -> str:
        """Return the last line of an error: the command, or why there is none."""
        command = self.command()
        if command is None:
            return (
                "This cannot be reproduced from a shell: a class of this op is defined in a script "
                "or inside a function, which no other process can import"
            )
        return f"Reproduce it with: {command}"


def _missing_device(selection: Selection) -> dict[str, str]:
    """Say where the call would run, where the keys run, and both remedies."""
    devices = sorted({d for v in selection.verdicts for d in v.candidate.implementation.devices})
    device_type = selection.call.device_type
    if device_type is None:
        return {
            "where": "this machine, which has no accelerator",
            "devices": ", ".join(devices) or "no device",
            "remedy": "Run it on a machine that has such a device, or state device facts such as "
            "arch=90 to ask about one: tileops explain takes --gpu h200",
        }
    return {
        "where": f"{device_type} devices",
        "devices": ", ".join(devices) or "no device",
        "remedy": f"Move the tensors to one of these, or register an implementation for "
        f"{device_type} with tileops.backend.register_kernel_type",
    }
