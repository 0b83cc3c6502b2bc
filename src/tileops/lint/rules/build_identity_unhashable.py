"""The rule `build-identity-unhashable`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"
_INSTEAD = {
    "list": "a tuple",
    "set": "a frozenset",
    "dict": "a tuple of its items",
    "bytearray": "bytes",
}
_MAKERS = {name: name for name in _INSTEAD} | {"sorted": "list"}


class BuildIdentityUnhashable(BodyRule):
    """A build identity can be hashed: it holds no list, set or dict.

    The identity itself and the elements of its tuples are looked at; a local is followed to the
    value it is bound to once. Unpacking a list or a dict into the identity is fine.

    Why:
        Built kernels are looked up by their identity, so an identity that cannot be hashed raises
        at the first call that selects the implementation.

    Limits:
        What a helper returns and what a fact of the call is are not known. Only displays that stand
        in the identity itself are rewritten, to a tuple or a frozenset.
    """

    id = "build-identity-unhashable"
    severity = Severity.ERROR
    fixes = (Applicability.SAFE,)
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "tuples and frozensets",
            _CLASS + "        sizes = tuple([call.n, call.k])\n"
            "        return (sizes, frozenset({call.n}), (call.k,)), lambda: cls(call)\n",
        ),
        Valid(
            "the items of a local dict",
            _CLASS + "        args = dict(n=call.n, k=call.k)\n"
            "        return (*args.values(), *[call.m]), lambda: cls(**args)\n",
        ),
        Valid(
            "a list the factory makes",
            _CLASS + "        return call, lambda: cls([call.n, call.k])\n",
        ),
        Valid(
            "a local bound twice",
            _CLASS + "        sizes = [call.n]\n        sizes = tuple(sizes)\n"
            "        return sizes, lambda: cls(*sizes)\n",
        ),
        Valid(
            "suppressed",
            _CLASS
            + "        return [call.n], None  # tileops: ignore[build-identity-unhashable]\n",
        ),
    )
    INVALID = (
        Invalid(
            "a list as the identity",
            _CLASS + "        return [|[call.n, call.k]|], lambda: cls(call)\n",
            "the build identity of AKernel holds [call.n, call.k]; a list cannot be hashed, so "
            "looking the kernel up raises; hold a tuple",
            fixed=_CLASS + "        return (call.n, call.k), lambda: cls(call)\n",
        ),
        Invalid(
            "displays among the elements",
            _CLASS
            + "        return (call.n, [|[call.k]|], ([|{call.m, 1}|],)), lambda: cls(call)\n",
            (
                "the build identity of AKernel holds [call.k]; a list cannot be hashed, so looking "
                "the kernel up raises; hold a tuple",
                "the build identity of AKernel holds {call.m, 1}; a set cannot be hashed, so "
                "looking the kernel up raises; hold a frozenset",
            ),
            fixed=_CLASS + "        return (call.n, (call.k,), (frozenset({call.m, 1}),)), "
            "lambda: cls(call)\n",
        ),
        Invalid(
            "a list over several lines",
            _CLASS
            + "        return [|[\n            call.n,  # rows\n            call.k,\n        ]|]"
            ", lambda: cls(call)\n",
            "the build identity of AKernel holds [ call.n, # rows call.k, ]; a list cannot be "
            "hashed, so looking the kernel up raises; hold a tuple",
            fixed=_CLASS + "        return (\n            call.n,  # rows\n            call.k,\n"
            "        ), lambda: cls(call)\n",
        ),
        Invalid(
            "made by calls and comprehensions",
            _CLASS + "        return (\n            [|list(call.shape)|],\n"
            "            [|[n for n in call.shape]|],\n            [|call.offsets.tolist()|],\n"
            "        ), lambda: cls(call)\n",
            (
                "the build identity of AKernel holds list(call.shape); a list cannot be hashed, so "
                "looking the kernel up raises; hold a tuple",
                "the build identity of AKernel holds [n for n in call.shape]; a list cannot be "
                "hashed, so looking the kernel up raises; hold a tuple",
                "the build identity of AKernel holds call.offsets.tolist(); a list cannot be "
                "hashed, so looking the kernel up raises; hold a tuple",
            ),
        ),
        Invalid(
            "through locals",
            _CLASS + "        args = dict(n=call.n)\n        identity = (call.k, [|args|])\n"
            "        return identity, lambda: cls(**args)\n",
            "the build identity of AKernel holds args; a dict cannot be hashed, so looking the "
            "kernel up raises; hold a tuple of its items",
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what an identity holds that cannot be hashed."""
        import libcst as cst

        from tileops.lint._entry import held
        from tileops.lint._wording import brief

        for part in held(body.function):
            kind = _kind(part.value)
            if kind:
                display = part.direct and isinstance(part.value, cst.List | cst.Set)
                text = brief(part.stated)
                yield body.note(self.id, part.stated, kind=kind, text=text, display=display)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        kind = note.data["kind"]
        repair = None
        if note.data["display"]:
            title = f"hold {_INSTEAD[kind]}"
            repair = Repair(Applicability.SAFE, title, partial(_edits, owner, note))
        message = (
            f"the build identity of {owner.name} holds {note.data['text']}; a {kind} cannot be "
            f"hashed, so looking the kernel up raises; hold {_INSTEAD[kind]}"
        )
        symbol = f"{owner.name}.entry_for"
        yield self.report(owner.module, note.span, message, symbol=symbol, repair=repair)


def _kind(node: "cst.BaseExpression") -> str:
    """Return the mutable type an expression certainly is of, or ""."""
    import libcst as cst

    match node:
        case cst.List() | cst.ListComp():
            return "list"
        case cst.Set() | cst.SetComp():
            return "set"
        case cst.Dict() | cst.DictComp():
            return "dict"
        case cst.Call(func=cst.Name(value=name)):
            return _MAKERS.get(name, "")
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="tolist"))):
            return "list"
    return ""


def _edits(owner: ClassNode, note: Note, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if isinstance(node, cst.Set):
            return cst.Call(cst.Name("frozenset"), [cst.Arg(node)])
        if not isinstance(node, cst.List):
            return None
        opening = cst.LeftParen(node.lbracket.whitespace_after)
        closing = cst.RightParen(node.rbracket.whitespace_before)
        return cst.Tuple(node.elements, [*node.lpar, opening], [closing, *node.rpar])

    return rewrite(sources[owner.module.path], note.span, change)
