"""The rule `entry-for-not-classmethod`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import FunctionFacts
from tileops.lint.index import ClassNode, Kind, Project

_METHODS = ("entry_for", "refusal")
_WRONG = ("builtins.staticmethod", "builtins.property", "functools.cached_property")


class EntryForNotClassmethod(Rule):
    """``entry_for`` and ``refusal`` are class methods.

    Both are asked of the class, before anything is built.

    Why:
        Without ``@classmethod`` the call spec would be taken for the class. Constructing an op with
        such an implementation raises.

    Limits:
        Decorators that cannot be resolved are trusted. The fix adds the decorator, and renames a
        first parameter ``self`` that the body does not use; where the body uses it, the fix is
        unsafe.
    """

    id = "entry-for-not-classmethod"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    VALID = (
        Valid(
            "class methods",
            "class AKernel(Kernel):\n"
            "    @classmethod\n    def refusal(cls, call): ...\n\n"
            "    @classmethod\n    def entry_for(cls, call): ...\n",
        ),
        Valid(
            "no kernel",
            "class AFwdOp(Op):\n    def entry_for(self, interface, call): ...\n",
        ),
        Valid(
            "a decorator that cannot be resolved",
            "from acme import served\n\n"
            "class AKernel(Kernel):\n    @served\n    def refusal(cls, call): ...\n",
        ),
        Valid(
            "a stack with classmethod in it",
            "class AKernel(Kernel):\n"
            "    @classmethod\n    @abstractmethod\n    def refusal(cls, call): ...\n",
        ),
        Valid(
            "suppressed",
            "class AKernel(Kernel):\n"
            "    def refusal(cls, call):  # tileops: ignore[entry-for-not-classmethod] -- shown\n"
            "        ...\n"
            "    refusal = classmethod(refusal)\n",
        ),
    )
    INVALID = (
        Invalid(
            "no decorator",
            "class AKernel(Kernel):\n    def [|entry_for|](cls, call):\n        return call, 1\n",
            "AKernel.entry_for is not a class method",
            fixed="class AKernel(Kernel):\n"
            "    @classmethod\n    def entry_for(cls, call):\n        return call, 1\n",
        ),
        Invalid(
            "self that is not used",
            "class AKernel(Kernel):\n\n    # Why.\n    def [|refusal|](self, call):\n"
            "        return None\n",
            "AKernel.refusal is not a class method",
            fixed="class AKernel(Kernel):\n\n"
            "    # Why.\n    @classmethod\n    def refusal(cls, call):\n        return None\n",
        ),
        Invalid(
            "self that is used",
            "class AKernel(Kernel):\n"
            "    def [|refusal|](self, call):\n"
            "        return self.limit(call.n) or super().refusal(call)\n",
            "AKernel.refusal is not a class method",
            fixed="class AKernel(Kernel):\n"
            "    @classmethod\n"
            "    def refusal(cls, call):\n"
            "        return cls.limit(call.n) or super().refusal(call)\n",
        ),
        Invalid(
            "a static method",
            "class AKernel(Kernel):\n    @staticmethod\n    def [|refusal|](call):\n"
            "        return None\n",
            "AKernel.refusal is not a class method",
        ),
        Invalid(
            "an implementation in another file than its base",
            {
                "src/tileops/kernels/a/base.py": (
                    "from tileops.backend import Kernel\n\n\nclass Base(Kernel): ...\n"
                ),
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class AKernel(Base):\n    def [|entry_for|](cls, call): ...\n"
                ),
            },
            "AKernel.entry_for is not a class method",
            fixed={
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class AKernel(Base):\n    @classmethod\n    def entry_for(cls, call): ...\n"
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report methods whose decorators are known and make no class method."""
        for node in project.of_kind(Kind.KERNEL, Kind.IMPLEMENTATION):
            for method in node.facts.methods:
                if method.name in _METHODS and _is_classmethod(project, node, method) is False:
                    yield self.report(
                        node.module,
                        method.name_span,
                        f"{node.name}.{method.name} is not a class method",
                        symbol=f"{node.name}.{method.name}",
                        repair=_repair(node, method),
                    )


def _is_classmethod(project: Project, node: ClassNode, method: FunctionFacts) -> bool | None:
    """Say whether the decorators make a class method; None when one of them cannot be resolved."""
    names = [project.imported(node.module, decorator) for decorator in method.decorators]
    if names and names[0] in _WRONG:
        return False
    if "builtins.classmethod" in names:
        return True
    return None if names else False


def _repair(node: ClassNode, method: FunctionFacts) -> Repair | None:
    """Return the fix for a method without decorators that takes the class or itself first."""
    names = [param.name for param in method.params if param.kind == "positional"]
    if method.decorators or len(names) != 2 or names[0] not in ("cls", "self"):
        return None
    uses = any(read.param == "self" for read in method.reads) or "self" in method.escapes
    applicability = Applicability.UNSAFE if uses else Applicability.SAFE
    return Repair(applicability, "add @classmethod", partial(_edits, node, method))


def _edits(node: ClassNode, method: FunctionFacts, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import decorator, rename_local

    source = sources[node.module.path]
    yield decorator(source, method.name_span[0], "classmethod")
    if method.params[0].name == "self":
        yield from rename_local(source, node.facts, method, "self", "cls")
