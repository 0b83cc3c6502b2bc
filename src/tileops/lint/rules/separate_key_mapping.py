"""The rule `separate-key-mapping`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import displays, distinct, entries
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import Value
from tileops.lint.index import Kind, OpTable, Project

_HEAD = """\
class TrainFwdInterface(KernelInterface): ...


class NormKernel(Kernel, TrainFwdInterface): ...


class WideKernel(Kernel, TrainFwdInterface): ...


"""
_OP = """\
class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "wide": WideKernel}
    interfaces = {"train": TrainFwdInterface}
"""
_SAID = (
    "%s maps keys of NormFwdOp to their interfaces, which the classes they name say already; "
    "remove it, and ask the class"
)


class SeparateKeyMapping(Rule):
    """No second dict says which interface each key of an op belongs to.

    A dict on the op, or at the top of its module, is one when all its keys are keys of
    ``kernel_types`` and all its values are the op's interfaces or their names.

    Why:
        A key belongs to the interface its class subclasses. A second mapping can only repeat that,
        or contradict it.

    Limits:
        Dicts with computed keys or values, or with a single pair, are unknown. The rule is a guess
        about meaning, so it is off unless it is selected.
    """

    id = "separate-key-mapping"
    severity = Severity.PEDANTIC
    cross_file = True

    VALID = (
        Valid("no other dict", _HEAD + _OP),
        Valid(
            "another meaning",
            _HEAD + _OP + '    widths = {"norm": 256, "wide": 4096}\n',
        ),
        Valid(
            "the interfaces themselves, in a constant",
            _HEAD
            + 'INTERFACES = {"norm": TrainFwdInterface, "wide": TrainFwdInterface}\n\n\n'
            + _OP.replace('{"train": TrainFwdInterface}', "INTERFACES"),
        ),
        Valid(
            "suppressed",
            _HEAD
            + _OP
            + '    owner = {"norm": "train", "wide": "train"}'
            + "  # tileops: ignore[separate-key-mapping] -- for the docs\n",
        ),
    )
    INVALID = (
        Invalid(
            "an attribute of the op",
            _HEAD
            + _OP
            + '    owner = [|{"norm": TrainFwdInterface, "wide": TrainFwdInterface}|]\n',
            _SAID % "owner",
        ),
        Invalid(
            "names of interfaces",
            _HEAD + _OP + '    owner: dict[str, str] = [|{"norm": "train", "wide": "train"}|]\n',
            _SAID % "owner",
        ),
        Invalid(
            "a constant of the op's module",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n" + _HEAD
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import NormKernel, TrainFwdInterface, WideKernel\n"
                    "from tileops.ops.op import Op\n\n"
                    '_OWNER = [|{"norm": TrainFwdInterface, "wide": TrainFwdInterface}|]\n\n\n'
                    + _OP
                ),
            },
            _SAID % "_OWNER",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the dicts that repeat which key belongs to which interface."""
        for table in distinct(project):
            if table.op.module.external:
                continue
            stated = [m for m in (table.kernel_types, table.interfaces) if m is not None]
            own = {id(where.value) for mapping in stated for where in displays(project, mapping)}
            for name, value in _dicts(table):
                if id(value) not in own and _maps_keys(project, table, value):
                    message = (
                        f"{name} maps keys of {table.op.name} to their interfaces, which the "
                        "classes they name say already; remove it, and ask the class"
                    )
                    yield self.report(table.op.module, value.span, message, symbol=table.op.name)


def _dicts(table: OpTable) -> Iterator[tuple[str, Value]]:
    """Yield the dict displays with several pairs on an op and at the top of its module."""
    stated = [(a.name, a.value) for a in table.op.facts.attributes]
    stated += table.op.module.facts.constants.items()
    for name, value in stated:
        if value is not None and value.kind == "dict" and len(value.pairs) > 1:
            yield name, value


def _maps_keys(project: Project, table: OpTable, value: Value) -> bool:
    module = table.op.module
    keys = {entry.key for entry in entries(table)}
    names = {entry.key for entry in table.interfaces.entries} if table.interfaces else set()
    for key, item in value.pairs:
        text = project.evaluate(module, key).value.text
        named = project.evaluate(module, item).value.text
        found = project.resolve_class(module, item)
        belongs = named in names if named is not None else found and found.kind is Kind.INTERFACE
        if text is None or text not in keys or not belongs:
            return False
    return True
