"""The rule `op-overrides-entry-for`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Kind, Project


class OpOverridesEntryFor(Rule):
    """An op does not define ``entry_for``.

    Building is the business of implementations, which state it as a class method of their own.

    Why:
        Selection and the cache of built kernels ask the selected implementation for its entry; an
        op that answers in its place is passed over, or bypasses both.

    Limits:
        Names bound outside the class body are not seen.
    """

    id = "op-overrides-entry-for"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "an implementation",
            "class GemmKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call): ...\n",
        ),
        Valid("an op without", "class GemmFwdOp(Op):\n    def requests(self, *inputs): ...\n"),
        Valid("no op", "class GemmPlan:\n    def entry_for(self, interface, call): ...\n"),
        Valid(
            "suppressed",
            "class GemmFwdOp(Op):\n"
            "    def entry_for(self):  # tileops: ignore[op-overrides-entry-for] -- shown\n"
            "        ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "a method",
            "class GemmFwdOp(Op):\n    def [|entry_for|](self, interface, call): ...\n",
            "GemmFwdOp defines entry_for, which would go round selection and the cache of built "
            "kernels; define it in the implementation",
        ),
        Invalid(
            "a name",
            "def build(self, interface, call): ...\n\n"
            "class GemmFwdOp(Op):\n    [|entry_for|] = build\n",
            "GemmFwdOp defines entry_for, which would go round selection and the cache of built "
            "kernels; define it in the implementation",
        ),
        Invalid(
            "an op derived from one of another file",
            {
                "src/tileops/ops/gemm.py": (
                    "from tileops.ops.op import Op\n\n\nclass GemmFwdOp(Op): ...\n"
                ),
                "src/tileops/ops/wide.py": (
                    "from tileops.ops import gemm\n\n\nclass WideFwdOp(gemm.GemmFwdOp):\n"
                    "    @classmethod\n    def [|entry_for|](cls, call): ...\n"
                ),
            },
            "WideFwdOp defines entry_for, which would go round selection and the cache of built "
            "kernels; define it in the implementation",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report op classes whose body binds ``entry_for``."""
        for node in project.of_kind(Kind.OP):
            found = node.defines("entry_for")
            if found is not None:
                message = (
                    f"{node.name} defines entry_for, which would go round selection and the cache "
                    "of built kernels; define it in the implementation"
                )
                symbol = f"{node.name}.entry_for"
                yield self.report(node.module, found.name_span, message, symbol=symbol)
