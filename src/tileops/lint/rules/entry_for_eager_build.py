"""The rule `entry-for-eager-build`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import Note, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
_KINDS = (Kind.KERNEL, Kind.IMPLEMENTATION)
_MESSAGE = (
    "AKernel.entry_for calls {} on every lookup, where its factory would build only once per "
    "identity; build inside the factory"
)


class EntryForEagerBuild(BodyRule):
    """``entry_for`` builds nothing: a kernel is constructed only inside the factory.

    A call of ``cls`` or of an implementation class is flagged unless it stands in a lambda or a
    local function.

    Why:
        ``entry_for`` runs whenever a call is looked up, the factory only the first time an identity
        appears. A kernel built eagerly is built, and compiled, again and again.

    Limits:
        A helper that builds is not followed. The fix wraps the call in a lambda, where it is the
        second element of the returned pair.
    """

    id = "entry-for-eager-build"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)
    methods = frozenset({"entry_for"})
    kinds = frozenset(_KINDS)

    VALID = (
        Valid("inside a lambda", _CLASS + "        return call, lambda: cls(call)\n"),
        Valid(
            "inside a local function",
            _CLASS + "        def build():\n            return cls(call)\n\n"
            "        return call, build\n",
        ),
        Valid(
            "another class's entry, and a record",
            "@dataclass(frozen=True)\nclass Tiles:\n    n: int\n\n"
            "class BaseKernel(Kernel): ...\n\n"
            "class AKernel(BaseKernel):\n    @classmethod\n    def entry_for(cls, call):\n"
            "        if call.n:\n            return BaseKernel.entry_for(call)\n"
            "        tiles = Tiles(call.n)\n        return tiles, lambda: cls(tiles)\n",
        ),
        Valid(
            "suppressed",
            _CLASS
            + "        probe = cls(call)  # tileops: ignore[entry-for-eager-build] -- cheap\n"
            "        return probe.n, lambda: cls(call)\n",
        ),
    )
    INVALID = (
        Invalid(
            "in place of the factory",
            _CLASS + "        return (call.n,), [|cls(call.n)|]\n",
            _MESSAGE.format("cls(call.n)"),
            fixed=_CLASS + "        return (call.n,), lambda: cls(call.n)\n",
        ),
        Invalid(
            "a local the factory hands out",
            _CLASS + "        kernel = [|cls(call)|]\n        return call, lambda: kernel\n",
            _MESSAGE.format("cls(call)"),
        ),
        Invalid(
            "in the identity",
            _CLASS + "        return ([|cls(call)|].tile, call.n), lambda: cls(call)\n",
            _MESSAGE.format("cls(call)"),
        ),
        Invalid(
            "another implementation, across lines and files",
            {
                "src/tileops/kernels/a/wide.py": (
                    "from tileops.backend import Kernel\n\n\nclass WideKernel(Kernel): ...\n"
                ),
                "src/tileops/kernels/a/a.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.a import wide\n\n\n"
                    "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
                    "        return call.n, [|wide.WideKernel(\n            call.n,  # rows\n"
                    "        )|]\n"
                ),
            },
            _MESSAGE.format("wide.WideKernel( call.n, # rows )"),
            fixed={
                "src/tileops/kernels/a/a.py": (
                    "from tileops.backend import Kernel\n"
                    "from tileops.kernels.a import wide\n\n\n"
                    "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
                    "        return call.n, lambda: wide.WideKernel(\n"
                    "            call.n,  # rows\n        )\n"
                ),
            },
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the calls outside the factory whose callee reads as a class."""
        import libcst as cst

        from tileops.lint._entry import entries
        from tileops.lint._syntax import dotted, own
        from tileops.lint._wording import brief

        factories = {id(entry.factory) for entry in entries(body.function)}
        for node in own(body.function):
            if not isinstance(node, cst.Call):
                continue
            name = dotted(node.func)
            last = name.rpartition(".")[2].lstrip("_")
            if name == "cls" or last[:1].isupper():
                wraps = id(node) in factories
                yield body.note(self.id, node, name=name, text=brief(node), wraps=wraps)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note when what is called is the class or another kernel."""
        name, text = note.data["name"], note.data["text"]
        if name != "cls":
            built = project.resolve_class(owner.module, Value("name", note.span, name))
            if built is None or built.kind not in _KINDS:
                return
        repair = None
        if note.data["wraps"]:
            build = partial(_edits, owner, note)
            repair = Repair(Applicability.SAFE, "build inside a lambda", build)
        message = (
            f"{owner.name}.entry_for calls {text} on every lookup, where its factory would build "
            "only once per identity; build inside the factory"
        )
        symbol = f"{owner.name}.entry_for"
        yield self.report(owner.module, note.span, message, symbol=symbol, repair=repair)


def _edits(owner: ClassNode, note: Note, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    def change(node: cst.BaseExpression) -> cst.BaseExpression:
        return cst.Lambda(cst.Parameters(), node)

    return rewrite(sources[owner.module.path], note.span, change)
