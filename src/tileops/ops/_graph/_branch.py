"""The effect branches of an op: which arguments a call writes, and which results are new."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tileops.manifest import Expression, Scope, Signature, TensorDecl
from tileops.ops._signature import CallChecks
from tileops.ops._signature._describe import manifest_value

__all__ = ["Branch", "branch_of"]

_ARGUMENT_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "dtype": "ScalarType",
    "tuple[int, ...]": "int[]",
}

_ALWAYS, _NEVER = Expression.parse(True), Expression.parse(False)


@dataclass(frozen=True)
class Branch:
    """What is declared to torch of calls with the same effects.

    Attributes:
        written: The inputs written in place.
        outputs: The outputs returned.
        buffers: The keywords of the buffers given.
        execution: The execution arguments given.
    """

    written: tuple[str, ...]
    outputs: tuple[str, ...]
    buffers: tuple[str, ...]
    execution: tuple[str, ...]

    def name(self, op: str, signature: Signature) -> str:
        """Return the custom operator's name: the op's, and what distinguishes the branch."""
        every = tuple(decl.name for decl in signature.outputs)
        parts = {
            "writes": self.written,
            "returns": () if self.outputs == every else self.outputs or ("nothing",),
            "into": self.buffers,
            "with": self.execution,
        }
        words = [word for verb, names in parts.items() if names for word in (verb, *names)]
        return "_".join([op, *words])

    def sources(self, signature: Signature) -> tuple[int | str | None, ...]:
        """Return where every output comes from: an input's place, a buffer's keyword, or new."""
        places = {decl.name: place for place, decl in enumerate(signature.inputs)}
        buffers = {decl.output: decl.name for decl in signature.buffers}
        found: list[int | str | None] = []
        for decl in signature.outputs:
            if decl.name in self.outputs:
                buffer = buffers.get(decl.name)
                given = buffer if buffer in self.buffers else None
                found.append(given if decl.alias is None else places[decl.alias])
        return tuple(found)

    def schema(self, signature: Signature) -> str:
        """Return the arguments and results as torch's operator schema.

        The parameters follow the tensors as text, and the instance's number comes last.
        """
        effects = (f"(a{number}!)" for number in range(len(self.written) + len(self.buffers)))
        arguments = [
            f"Tensor{next(effects) if decl.name in self.written else ''}"
            f"{'?' if _optional(decl) else ''} {decl.name}"
            for decl in signature.inputs
        ]
        arguments += [f"Tensor{next(effects)} {name}" for name in self.buffers]
        for decl in signature.execution:
            if decl.name in self.execution:
                optional = "?" if decl.type.nullable else ""
                arguments.append(f"{_ARGUMENT_TYPES[decl.type.kind]}{optional} {decl.name}")
        arguments += ["str params", "SymInt instance"]
        new = ["Tensor"] * self.sources(signature).count(None)
        results = new[0] if len(new) == 1 else f"({', '.join(new)})"
        return f"({', '.join(arguments)}) -> {results}"


def branch_of(checks: CallChecks, given: Collection[str], keywords: Collection[str]) -> Branch:
    """Return the branch of calls that pass these inputs and keywords."""
    signature = checks.signature
    values = {name: manifest_value(value) for name, value in checks.params.items()}
    scope = Scope(values, frozenset(given))
    return Branch(
        written=tuple(
            decl.name
            for decl in signature.inputs
            if decl.name in given and decl.written.evaluate(scope)
        ),
        outputs=tuple(decl.name for decl in signature.outputs if decl.when.evaluate(scope)),
        buffers=tuple(decl.name for decl in signature.buffers if decl.name in keywords),
        execution=tuple(decl.name for decl in signature.execution if decl.name in keywords),
    )


def _optional(decl: TensorDecl) -> bool:
    return decl.optional != _NEVER or decl.when != _ALWAYS
