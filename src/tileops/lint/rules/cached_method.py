"""The rule `cached-method`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.facts import FunctionFacts, Value
from tileops.lint.index import ClassNode, Kind, Project

_CACHES = ("functools.cache", "functools.lru_cache")
_UNBOUND = ("builtins.classmethod", "builtins.staticmethod")


def _message(name: str, decorator: str) -> str:
    return (
        f"{name} is cached by {decorator}, whose keys hold self, so that no instance it was called "
        "on is ever freed; keep the value on the instance, or make it a class or static method"
    )


class CachedMethod(Rule):
    """Instance methods of ops and kernels are not cached by ``functools``.

    ``cache`` and ``lru_cache`` on a method keep ``self`` as a part of every key.

    Why:
        The cache belongs to the class and lives as long as it. Kernels and ops, with the device
        memory and compiled programs they hold, stay alive after their last user is gone.

    Limits:
        Class methods and static methods are fine, and so is ``cached_property``, which keeps its
        value on the instance. Other caching decorators are not known.
    """

    id = "cached-method"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid(
            "class and static methods",
            "import functools\n\n"
            "class AKernel(Kernel):\n"
            "    @classmethod\n    @functools.cache\n    def tiles(cls, n): ...\n\n"
            "    @staticmethod\n    @functools.lru_cache(maxsize=8)\n    def pick(n): ...\n",
        ),
        Valid(
            "on the instance, and a function of the module",
            "from functools import cache, cached_property\n\n@cache\ndef tiles(n): ...\n\n"
            "class AFwdOp(Op):\n    @cached_property\n    def scale(self): ...\n",
        ),
        Valid(
            "a class outside the contract",
            "from functools import cache\n\nclass Table:\n    @cache\n    def row(self, n): ...\n",
        ),
        Valid(
            "suppressed",
            "from functools import cache\n\nclass AFwdOp(Op):\n"
            "    @cache  # tileops: ignore[cached-method] -- one op per process\n"
            "    def scale(self): ...\n",
        ),
    )
    INVALID = (
        Invalid(
            "a kernel's method",
            "import functools\n\nclass AKernel(Kernel):\n"
            "    @[|functools.cache|]\n    def tiles(self, n): ...\n",
            _message("AKernel.tiles", "functools.cache"),
        ),
        Invalid(
            "with arguments, below another decorator",
            "import functools as ft\n\nclass AFwdOp(Op):\n"
            "    @property\n    @[|ft.lru_cache(maxsize=None)|]\n    def scale(self): ...\n",
            _message("AFwdOp.scale", "functools.lru_cache"),
        ),
        Invalid(
            "an op whose base is in another file",
            {
                "src/tileops/ops/norm/row.py": (
                    "from tileops.ops.op import Op\n\n\nclass RowOp(Op): ...\n"
                ),
                "src/tileops/ops/norm/layer.py": (
                    "from functools import lru_cache\n\n"
                    "from tileops.ops.norm.row import RowOp\n\n\n"
                    "class LayerFwdOp(RowOp):\n    @[|lru_cache|]\n    def rows(self, n): ...\n"
                ),
            },
            _message("LayerFwdOp.rows", "functools.lru_cache"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the caching decorators of methods that take an instance."""
        kinds = (Kind.OP, Kind.KERNEL, Kind.IMPLEMENTATION, Kind.INTERFACE)
        for node in project.of_kind(*kinds):
            for method in node.facts.methods:
                if method.decorators:
                    yield from self._judge(project, node, method)

    def _judge(self, project: Project, node: ClassNode, method: FunctionFacts) -> Iterator[Report]:
        names = [_name(project, node, decorator) for decorator in method.decorators]
        if any(name in _UNBOUND for name in names):
            return
        for name, decorator in zip(names, method.decorators, strict=True):
            if name in _CACHES:
                where = f"{node.name}.{method.name}"
                message = (
                    f"{where} is cached by {name}, whose keys hold self, so that no instance it "
                    "was called on is ever freed; keep the value on the instance, or make it a "
                    "class or static method"
                )
                yield self.report(node.module, decorator.span, message, symbol=where)


def _name(project: Project, node: ClassNode, decorator: Value) -> str:
    value = decorator.items[0] if decorator.kind == "call" else decorator
    return project.imported(node.module, value)
