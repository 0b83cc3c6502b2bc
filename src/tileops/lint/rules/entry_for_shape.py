"""The rule `entry-for-shape`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"


class EntryForShape(BodyRule):
    """``entry_for`` returns a pair: the build identity and a factory that can be called.

    A literal that is no pair is flagged, and so is a pair whose second element is a constant, a
    display or the kernel itself.

    Why:
        Selection unpacks the pair and calls the factory. Anything else raises at the first call
        that selects the implementation.

    Limits:
        The result of a call and names that are bound more than once may be a pair, and are taken
        to be one.
    """

    id = "entry-for-shape"
    severity = Severity.ERROR
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid("a pair", _CLASS + "        return call, lambda: cls(call)\n"),
        Valid("the pair of a helper", _CLASS + "        return entry_of(cls, call)\n"),
        Valid(
            "a local function, a bound method and a partial",
            "import functools\n\n"
            + _CLASS
            + "        def build():\n            return cls(call)\n\n"
            + "        if call.n == 1:\n            return call.n, build\n"
            + "        if call.n == 2:\n            return call.n, cls.make\n"
            + "        return call.n, functools.partial(cls, call)\n",
        ),
        Valid(
            "a starred pair, and a local that holds one",
            _CLASS + "        entry = call, cls.make\n        if call.n:\n"
            "            return entry\n        return (*entry,)\n",
        ),
        Valid("no kernel", "class AFwdOp(Op):\n    def entry_for(self, call):\n        return 1\n"),
        Valid(
            "suppressed",
            _CLASS + "        return None  # tileops: ignore[entry-for-shape] -- never selected\n",
        ),
    )
    INVALID = (
        Invalid(
            "three elements",
            _CLASS + "        return [|call.n, call.k, lambda: cls(call)|]\n",
            "AKernel.entry_for returns a tuple of 3 where selection unpacks an identity and a "
            "factory; return identity, lambda: cls(...)",
        ),
        Invalid(
            "no value, a dict, and a local that holds a list",
            _CLASS + "        if call.n == 1:\n            [|return|]\n"
            "        if call.n == 2:\n            return [|{'n': call.n}|]\n"
            "        entry = [call, cls]\n        return [|entry|]\n",
            (
                "AKernel.entry_for returns None where selection unpacks an identity and a factory; "
                "return identity, lambda: cls(...)",
                "AKernel.entry_for returns a dict where selection unpacks an identity and a "
                "factory; return identity, lambda: cls(...)",
                "AKernel.entry_for returns a list where selection unpacks an identity and a "
                "factory; return identity, lambda: cls(...)",
            ),
        ),
        Invalid(
            "the kernel instead of a factory",
            _CLASS + "        return call, [|cls(call)|]\n",
            "the factory AKernel.entry_for returns is cls(call), a kernel that is already built; "
            "return lambda: cls(call)",
        ),
        Invalid(
            "a constant instead of a factory",
            _CLASS + "        return call, [|None|]\n",
            "the factory AKernel.entry_for returns is None, which cannot be called; return "
            "lambda: cls(...)",
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the returns that are certainly no pair, and factories that cannot be called."""
        import libcst as cst

        from tileops.lint._syntax import bindings, returns

        for node in returns(body.function):
            value = node.value
            if isinstance(value, cst.Name):
                values = bindings(body.function).get(value.value, [])
                value = values[0] or value if len(values) == 1 else value
            kind = "None" if value is None else _kind(value)
            if kind:
                yield body.note(self.id, node.value or node, kind=kind, factory="")
            match value:
                case cst.Tuple(elements=[cst.Element(), cst.Element(value=factory)]):
                    yield from self._factory(body, factory)

    def _factory(self, body: "Body", node: "cst.BaseExpression") -> Iterator[Note]:
        import libcst as cst

        from tileops.lint._syntax import dotted
        from tileops.lint._wording import brief

        built = isinstance(node, cst.Call) and dotted(node.func) == "cls"
        if built or _kind(node) or isinstance(node, cst.Tuple):
            yield body.note(self.id, node, kind="built" if built else "", factory=brief(node))

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note: the class is a kernel."""
        kind, factory = note.data["kind"], note.data["factory"]
        where = f"{owner.name}.entry_for"
        if not factory:
            message = (
                f"{where} returns {kind} where selection unpacks an identity and a factory; "
                "return identity, lambda: cls(...)"
            )
        elif kind:
            message = (
                f"the factory {where} returns is {factory}, a kernel that is already built; "
                f"return lambda: {factory}"
            )
        else:
            message = (
                f"the factory {where} returns is {factory}, which cannot be called; return "
                "lambda: cls(...)"
            )
        yield self.report(owner.module, note.span, message, symbol=where)


def _kind(node: "cst.BaseExpression") -> str:  # noqa: PLR0911
    """Return what a literal is when it is certainly no pair and no callable, or ""."""
    import libcst as cst

    match node:
        case cst.Tuple(elements=elements):
            fixed = all(isinstance(element, cst.Element) for element in elements)
            return f"a tuple of {len(elements)}" if fixed and len(elements) != 2 else ""
        case cst.Name(value=("None" | "True" | "False") as name):
            return name
        case cst.SimpleString() | cst.FormattedString() | cst.ConcatenatedString():
            return "a string"
        case cst.Integer() | cst.Float() | cst.Imaginary():
            return "a number"
        case cst.Dict() | cst.DictComp():
            return "a dict"
        case cst.List() | cst.ListComp():
            return "a list"
        case cst.Set() | cst.SetComp():
            return "a set"
    return ""
