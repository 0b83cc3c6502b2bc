"""The rule `call-spec-mutable-argument`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Span, Value
from tileops.lint.index import Kind, Module, Project

_FORMS = {
    "dict": ("a dict", "a tuple of pairs", ""),
    "generator": ("a generator", "a tuple", "tuple"),
    "list": ("a list", "a tuple", "tuple"),
    "set": ("a set", "a frozenset", "frozenset"),
}
_BUILTINS = {
    "builtins.bytearray": ("a bytearray", "a tuple of ints", "tuple"),
    "builtins.dict": _FORMS["dict"],
    "builtins.list": _FORMS["list"],
    "builtins.set": _FORMS["set"],
    "builtins.sorted": _FORMS["list"],
}
_SPEC = (
    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    shape: tuple[int, ...] = ()\n"
    "    axes: frozenset[int] = frozenset()\n\n"
)
_MESSAGE = (
    "GemmCall.shape is given a list, and a call spec that holds one cannot key a dispatch cache; "
    "pass a tuple"
)


class CallSpecMutableArgument(Rule):
    """The fields of a call spec are given immutable values.

    ``tuple(x.shape)`` and ``x.shape`` are fine, ``list(x.shape)`` is not.

    Why:
        The spec is constructed without complaint; the call it is for then raises ``cannot key a
        dispatch cache``.

    Limits:
        Displays, comprehensions, calls of the mutable builtins and ``.tolist()`` are seen, not
        locals that hold one. Nothing inside ``pytest.raises`` is judged. A dict has no evident
        immutable form, so the fix leaves it alone.
    """

    id = "call-spec-mutable-argument"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid(
            "tuples",
            _SPEC + "def call(x):\n    GemmCall(shape=tuple(x.shape), axes=frozenset({1}))\n"
            "    GemmCall(shape=x.shape)\n    return GemmCall(shape=(1, *x.shape))\n",
        ),
        Valid(
            "what is not known",
            _SPEC + "def call(x):\n    GemmCall(shape=shape_of([1, 2]))\n"
            "    return GemmCall(shape=x.sizes(), **{'axes': [1]})\n",
        ),
        Valid(
            "no call spec",
            "class Tile:\n    def __init__(self, shape): ...\n\nTile(shape=[1, 2])\n",
        ),
        Valid(
            "a test that expects the error",
            "import pytest\n\n" + _SPEC + "def test():\n    with pytest.raises(TypeError):\n"
            "        Op().kernel_for('gemm', GemmCall(shape=[1]))\n",
        ),
        Valid(
            "suppressed",
            _SPEC + "GemmCall(shape=[1])  # tileops: ignore[call-spec-mutable-argument] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "lists",
            _SPEC + "def call(x):\n    GemmCall(shape=[|[1, 2]|])\n"
            "    GemmCall(shape=[|list(x.shape)|])\n    GemmCall(shape=[|x.lens.tolist()|])\n"
            "    return GemmCall(shape=[|[n + 1 for n in x.shape]|])\n",
            (_MESSAGE,) * 4,
            fixed=_SPEC + "def call(x):\n    GemmCall(shape=tuple([1, 2]))\n"
            "    GemmCall(shape=tuple(x.shape))\n    GemmCall(shape=tuple(x.lens.tolist()))\n"
            "    return GemmCall(shape=tuple([n + 1 for n in x.shape]))\n",
        ),
        Invalid(
            "sets",
            _SPEC + "GemmCall(axes=[|{1, 2}|])\nGemmCall(axes=[|set()|])\n",
            (
                "GemmCall.axes is given a set, and a call spec that holds one cannot key a "
                "dispatch cache; pass a frozenset",
            )
            * 2,
            fixed=_SPEC + "GemmCall(axes=frozenset({1, 2}))\nGemmCall(axes=frozenset())\n",
        ),
        Invalid(
            "a generator and a list in a tuple",
            _SPEC + "GemmCall(shape=[|(n for n in (1, 2))|])\nGemmCall(shape=(1, [|[2]|]))\n",
            (
                "GemmCall.shape is given a generator, and a call spec that holds one cannot key a "
                "dispatch cache; pass a tuple",
                _MESSAGE,
            ),
            fixed=_SPEC + "GemmCall(shape=tuple(n for n in (1, 2)))\n"
            "GemmCall(shape=(1, tuple([2])))\n",
        ),
        Invalid(
            "a dict, for a spec of another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from tileops.backend import CallSpec\n\n\nclass GemmCall(CallSpec): ...\n"
                ),
                "src/tileops/ops/gemm.py": (
                    "from tileops.kernels.gemm.call_spec import GemmCall\n\n"
                    "CALL = GemmCall(shape=[|{'m': 1}|])\n"
                ),
            },
            "GemmCall.shape is given a dict, and a call spec that holds one cannot key a dispatch "
            "cache; pass a tuple of pairs",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the keyword arguments of call specs that are certainly mutable."""
        for module, site, spec in project.constructed:
            if spec.kind is not Kind.CALL_SPEC or site.raises:
                continue
            for name, value in site.call.keywords:
                if name == "**":
                    continue
                for span, (what, instead, wrapper) in _mutable(project, module, value):
                    message = (
                        f"{spec.name}.{name} is given {what}, and a call spec that holds one "
                        f"cannot key a dispatch cache; pass {instead}"
                    )
                    symbol = ".".join(filter(None, (site.owner, site.function)))
                    repair = None
                    if wrapper:
                        build = partial(_edits, module, span, wrapper)
                        repair = Repair(Applicability.SAFE, f"make it {instead}", build)
                    yield self.report(module, span, message, symbol=symbol, repair=repair)


def _mutable(
    project: Project, module: Module, value: Value
) -> Iterator[tuple[Span, tuple[str, str, str]]]:
    """Yield where a value is mutable, with what it is, what to pass and what to wrap it in."""
    if value.kind == "tuple":
        for item in value.items:
            yield from _mutable(project, module, item)
        return
    kind = str(value.data) if value.kind == "comprehension" else value.kind
    if kind in _FORMS:
        yield value.span, _FORMS[kind]
    elif value.kind == "call":
        callee = value.items[0]
        last = str(callee.data) if callee.kind == "attribute" else callee.name.rpartition(".")[2]
        made = _BUILTINS.get(project.imported(module, callee))
        if made is not None:
            yield value.span, made
        elif last == "tolist" and callee.name != "tolist":
            yield value.span, _FORMS["list"]


def _edits(module: Module, span: Span, wrapper: str, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    name = cst.Name(wrapper)

    def change(node: cst.BaseExpression) -> cst.BaseExpression:
        match node:
            case cst.Call(func=cst.Name(value="list" | "set")):
                return node.with_changes(func=name)
        if isinstance(node, cst.GeneratorExp):
            return cst.Call(name, [cst.Arg(node.with_changes(lpar=[], rpar=[]))])
        return cst.Call(name, [cst.Arg(node)])

    return rewrite(sources[module.path], span, change)
