"""What can go wrong between a program and its results on the CPU, each under its own name."""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "CompilationError",
    "EmulatorError",
    "HostFunctionError",
    "KernelFaultError",
    "UnsupportedSourceError",
]


class EmulatorError(Exception):
    """Any of the errors here."""


class KernelFaultError(EmulatorError):
    """The kernel did something that it must not, or hangs.

    Attributes:
        kernel: The kernel's name.
        report: What happened, in which block and thread, on which line of the CUDA source.
    """

    def __init__(self, kernel: str, report: str) -> None:
        self.kernel, self.report = kernel, report
        super().__init__(f"{kernel}: {report}")


class CompilationError(EmulatorError):
    """g++ refuses what became of the source.

    Attributes:
        stage: What was compiled.
        log: What g++ says.
    """

    def __init__(self, stage: str, log: str) -> None:
        self.stage, self.log = stage, log
        errors = [line for line in log.splitlines() if "error" in line][:20]
        super().__init__("\n".join([f"g++ refuses the {stage}", *(errors or [log[:3000]])]))


class UnsupportedSourceError(EmulatorError):
    """The emulator does not know something in a kernel's source or in a host function.

    Attributes:
        construct: What it does not know.
    """

    def __init__(self, construct: str) -> None:
        self.construct = construct
        super().__init__(
            f"the emulator does not know this; teach it, or write it otherwise: {construct}"
        )


class HostFunctionError(EmulatorError):
    """The program's host function refuses its arguments.

    Attributes:
        reason: Why.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the program refuses its arguments: {reason}")


class ArgumentError(EmulatorError):
    """An argument is nothing that a kernel on the CPU can take.

    Attributes:
        problem: What it is.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"a kernel on the CPU cannot take this: {problem}")
