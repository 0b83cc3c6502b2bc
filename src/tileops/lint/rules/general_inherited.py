"""The rule `general-inherited`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.index import ClassNode, Project

_HEAD = """\
from tileops.backend import Kernel, KernelInterface
from tileops.ops.op import Op


class DecodeFwdInterface(KernelInterface): ...


class DecodeKernel(Kernel, DecodeFwdInterface):
    general = True


"""
_OP = """

class DecodeFwdOp(Op):
    kernel_types = {"decode": DecodeKernel, "fast": FastKernel}
    interfaces = {"decode": DecodeFwdInterface}
"""
_MESSAGE = (
    'FastKernel inherits general = True from DecodeKernel, which is the general key "decode" of '
    "DecodeFwdOp; state general = False"
)


class GeneralInherited(Rule):
    """A registered subclass of a registered general implementation restates ``general``.

    Where both are keys of one interface, the subclass would be a second general implementation.

    Why:
        Constructing the op raises ``has more than one general implementation``, and the class
        that causes it says nothing about ``general``.

    Limits:
        Classes registered under different interfaces, or inheriting from a general base that is not
        registered, are fine.
    """

    id = "general-inherited"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid(
            "restated",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class FastKernel(DecodeKernel):\n    general: bool = False\n"
                + _OP,
            },
        ),
        Valid(
            "the base is not general",
            {
                "src/tileops/ops/decode.py": _HEAD.replace("general = True", "general = False")
                + "class FastKernel(DecodeKernel): ...\n"
                + _OP,
            },
        ),
        Valid(
            "no subclass",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class FastKernel(Kernel, DecodeFwdInterface): ...\n"
                + _OP,
            },
        ),
        Valid(
            "suppressed",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class FastKernel(DecodeKernel):  # tileops: ignore[general-inherited] -- shown\n"
                + "    pass\n"
                + _OP,
            },
        ),
    )
    INVALID = (
        Invalid(
            "a direct subclass",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class [|FastKernel|](DecodeKernel):\n    supported_archs = [90]\n"
                + _OP,
            },
            _MESSAGE,
            fixed={
                "src/tileops/ops/decode.py": _HEAD
                + "class FastKernel(DecodeKernel):\n"
                + "    general = False\n    supported_archs = [90]\n"
                + _OP,
            },
        ),
        Invalid(
            "below a docstring",
            {
                "src/tileops/ops/decode.py": _HEAD
                + 'class [|FastKernel|](DecodeKernel):\n\t"""Long rows."""\n'
                + _OP,
            },
            _MESSAGE,
            fixed={
                "src/tileops/ops/decode.py": _HEAD
                + 'class FastKernel(DecodeKernel):\n\t"""Long rows."""\n\tgeneral = False\n'
                + _OP,
            },
        ),
        Invalid(
            "above a decorated method",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class [|FastKernel|](DecodeKernel):\n"
                + "    # Rows of any length.\n"
                + "    @classmethod\n    def limits(cls, call): ...\n"
                + _OP,
            },
            _MESSAGE,
            fixed={
                "src/tileops/ops/decode.py": _HEAD
                + "class FastKernel(DecodeKernel):\n"
                + "    # Rows of any length.\n"
                + "    general = False\n"
                + "    @classmethod\n    def limits(cls, call): ...\n"
                + _OP,
            },
        ),
        Invalid(
            "a body on the header line",
            {
                "src/tileops/ops/decode.py": _HEAD
                + "class [|FastKernel|](DecodeKernel): ...\n"
                + _OP,
            },
            _MESSAGE,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report implementations that are general only because a registered ancestor is."""
        for dispatch in project.dispatches:
            for key, from_key in project.inherited_general(dispatch).items():
                node, parent = dispatch.entries[key].target, dispatch.entries[from_key].target
                assert node is not None
                assert parent is not None
                message = (
                    f"{node.name} inherits general = True from {parent.name}, which is the general "
                    f'key "{from_key}" of {dispatch.op.name}; state general = False'
                )
                yield self.report(
                    node.module,
                    node.facts.name_span,
                    message,
                    symbol=node.name,
                    repair=Repair(
                        Applicability.SAFE, "state general = False", partial(_insert, node)
                    ),
                )


def _insert(node: ClassNode, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import insert_member

    return insert_member(sources[node.module.path], node.facts, "general = False")
