"""The rule `build-identity-has-tensor`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note, Span, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
_SPEC = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    n: int = 0
    scale: torch.Tensor | None = None

class GemmFwdInterface(KernelInterface):
    request = GemmCall

"""
_TENSORS = frozenset(
    f"torch.{name}"
    for name in (
        *("arange", "as_tensor", "empty", "empty_like", "from_numpy", "full", "full_like"),
        *("linspace", "ones", "ones_like", "rand", "randn", "tensor", "zeros", "zeros_like"),
    )
)


class BuildIdentityHasTensor(BodyRule):
    """A build identity holds values, not tensors or objects that equal only themselves.

    Flagged are tensors, ``id(...)``, ``data_ptr()``, ``self``, kernels, and lambdas or generators.
    A tensor is known by the annotation of the fact it is, or by the torch function that makes it.

    Why:
        Two calls share a build when their identities are equal. A tensor has no single truth value
        to compare by, and an address or a fresh object is new on every call, so every call would
        build again.

    Limits:
        Types are known no deeper than annotations of facts and class methods, and a local is
        followed to the value it is bound to once.
    """

    id = "build-identity-has-tensor"
    severity = Severity.ERROR
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "plain facts",
            _CLASS + "        return (call.n, call.dtype, str(call.dtype)), lambda: cls(call)\n",
        ),
        Valid(
            "what a tensor looks like",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def entry_for(cls, call):\n"
            "        return (call.n, call.scale is None, call.scale.dtype), lambda: cls(call)\n",
        ),
        Valid(
            "a class method that returns a value",
            "class AKernel(Kernel):\n"
            "    @classmethod\n    def tiles(cls, call) -> tuple[int, int]: ...\n\n"
            "    @classmethod\n    def entry_for(cls, call):\n"
            "        return cls.tiles(call), lambda: cls(call)\n",
        ),
        Valid(
            "a tensor the factory makes",
            _CLASS + "        return call.n, lambda: cls(torch.zeros(call.n))\n",
        ),
        Valid(
            "suppressed",
            _CLASS
            + "        return id(call), None  # tileops: ignore[build-identity-has-tensor]\n",
        ),
    )
    INVALID = (
        Invalid(
            "addresses",
            _CLASS + "        return ([|id(call)|], [|call.w.data_ptr()|]), lambda: cls(call)\n",
            (
                "the build identity of AKernel holds id(call), an address, which says nothing of "
                "its contents; hold the facts the build depends on",
                "the build identity of AKernel holds call.w.data_ptr(), an address, which says "
                "nothing of its contents; hold the facts the build depends on",
            ),
        ),
        Invalid(
            "a fact that is a tensor",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    @classmethod\n    def entry_for(cls, call):\n"
            "        wide = call.scale is None\n"
            "        return (call.n, wide, [|call.scale|]), lambda: cls(call, call.scale)\n",
            "the build identity of GemmKernel holds call.scale, a tensor, which does not compare "
            "as a key; hold the facts the build depends on",
        ),
        Invalid(
            "a tensor in a local",
            _CLASS + "        scale = torch.ones(call.n)\n"
            "        return (call.n, [|scale|]), lambda: cls(scale)\n",
            "the build identity of AKernel holds scale, a tensor, which does not compare as a key; "
            "hold the facts the build depends on",
        ),
        Invalid(
            "objects that equal only themselves",
            "class AKernel(Kernel):\n"
            '    @classmethod\n    def best(cls, call) -> "AKernel": ...\n\n'
            "    @classmethod\n    def entry_for(cls, call):\n"
            "        return ([|cls.best(call)|], [|lambda: 1|], [|(n for n in call.k)|]), cls\n",
            tuple(
                f"the build identity of AKernel holds {text}, an object that equals only itself, "
                "so every call builds again; hold the facts the build depends on"
                for text in ("cls.best(call)", "lambda: 1", "(n for n in call.k)")
            ),
        ),
        Invalid(
            "self, where the method is none of the class",
            "class AKernel(Kernel):\n    def entry_for(self, call):\n"
            "        return (call.n, [|self|]), lambda: self\n",
            "the build identity of AKernel holds self, an object that equals only itself, so every "
            "call builds again; hold the facts the build depends on",
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what an identity holds that may be no value.

        Nearly every identity holds facts, so these share one note that costs no positions: which
        read of each fact it is says where it stands.
        """
        import libcst as cst

        from tileops.lint._entry import held
        from tileops.lint._syntax import parameter
        from tileops.lint._wording import brief

        call = parameter(body.function, 1)
        facts: list[cst.CSTNode] = []
        for part in held(body.function):
            why, name = _suspect(part.value, call)
            if why == "fact" and part.stated is part.value:
                facts.append(part.value)
            elif why:
                yield body.note(self.id, part.stated, why=why, name=name, text=brief(part.stated))
        if facts and body.method is not None:
            places = _places(body.of(cst.Attribute), facts, call)
            yield body.note(self.id, body.method.name_span, why="", call=call, places=places)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note when its type is known to be wrong."""
        if note.data["why"]:
            what = _what(project, owner, note.data["why"], note.data["name"])
            if what:
                yield self._report(owner, note.span, note.data["text"], what)
            return
        method = owner.facts.method("entry_for")
        for name, ordinal in note.data["places"]:
            what = _what(project, owner, "fact", name)
            if what and method is not None:
                call = note.data["call"]
                own = (read for read in method.reads if read.param == call and not read.guarded)
                spans = [read.span for read in own if read.attribute == name]
                if ordinal < len(spans):
                    yield self._report(owner, spans[ordinal], f"{call}.{name}", what)

    def _report(self, owner: ClassNode, span: Span, text: str, what: str) -> Report:
        message = (
            f"the build identity of {owner.name} holds {text}, {what}; hold the facts the build "
            "depends on"
        )
        return self.report(owner.module, span, message, symbol=f"{owner.name}.entry_for")


def _places(
    attributes: Sequence["cst.Attribute"], facts: Sequence["cst.CSTNode"], call: str
) -> list[tuple[str, int]]:
    """Return the name of each fact, and which of the reads of that name it is."""
    from tileops.lint._syntax import dotted

    wanted = {id(node) for node in facts}
    seen: Counter[str] = Counter()
    found: list[tuple[str, int]] = []
    for node in attributes:
        if dotted(node.value) == call:
            name = node.attr.value
            if id(node) in wanted:
                found.append((name, seen[name]))
            seen[name] += 1
    return found


def _suspect(node: "cst.BaseExpression", call: str) -> tuple[str, str]:  # noqa: PLR0911
    """Return why a part of an identity may be no value, and the name that decides."""
    import libcst as cst

    from tileops.lint._syntax import dotted

    match node:
        case cst.Lambda() | cst.GeneratorExp() | cst.Name(value="self"):
            return "object", ""
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="data_ptr"))):
            return "address", ""
        case cst.Call(func=func):
            name = dotted(func)
            if name in ("id", "object"):
                return {"id": "address", "object": "object"}[name], ""
            if name == "cls":
                return "object", ""
            first, _, last = name.partition(".")
            if first == "cls" and "." not in last:
                return "method", last
            return ("function", name) if name else ("", "")
        case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=fact)) if name == call:
            return "fact", fact
    return "", ""


_TENSOR = "a tensor, which does not compare as a key"
_OBJECT = "an object that equals only itself, so every call builds again"


def _what(project: Project, owner: ClassNode, why: str, name: str) -> str:
    """Return what a part of an identity certainly is, "" when that is not known."""
    match why:
        case "address":
            return "an address, which says nothing of its contents"
        case "object":
            return _OBJECT
        case "function":
            made = project.imported(owner.module, Value("name", (1, 0, 1, 0), name))
            return _TENSOR if made in _TENSORS else ""
        case "method":
            found = owner.lookup(name)
            if found.owner is None or found.method is None:
                return ""
            return _stated(project, found.owner, found.method.returns)
    specs = [project.request(interface) for interface in project.interfaces_of(owner)]
    stated = [spec.lookup(name) if spec else None for spec in specs]
    whats = {
        _stated(project, found.owner, found.attribute.annotation)
        if found and found.owner and found.attribute
        else ""
        for found in stated
    }
    return whats.pop() if len(whats) == 1 else ""


def _stated(project: Project, owner: ClassNode, annotation: Value | None) -> str:
    """Return what an annotation says is no value, "" when it says nothing of the kind."""
    if annotation is None:
        return ""
    if annotation.kind == "binary":
        return next((w for side in annotation.items if (w := _stated(project, owner, side))), "")
    if annotation.text is not None:
        annotation = Value("name", annotation.span, annotation.text)
    if project.imported(owner.module, annotation) == "torch.Tensor":
        return _TENSOR
    found = project.resolve_class(owner.module, annotation)
    kernel = found is not None and found.kind in (Kind.KERNEL, Kind.IMPLEMENTATION)
    return _OBJECT if kernel else ""
