"""The rule `call-spec-mutable-field`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import (
    annotation_of,
    dataclass_decorator,
    freezes,
    origin_of,
    own_fields,
    unquoted,
)
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Attribute, Value
from tileops.lint.index import ClassNode, Kind, Module, Project

_LIST = ("a list", "hold a tuple")
_DICT = ("a mapping", "hold a tuple of pairs")
_SET = ("a set", "hold a frozenset")
_TENSOR = ("a tensor", "hold the facts of it that matter")
_CALLABLE = ("a callable", "hold an enum or a str that names it")
_MUTABLE = {
    "builtins.list": _LIST,
    "builtins.dict": _DICT,
    "builtins.set": _SET,
    "builtins.bytearray": ("a bytearray", "hold a tuple of ints"),
    "collections.OrderedDict": _DICT,
    "collections.defaultdict": _DICT,
    "collections.deque": ("a deque", "hold a tuple"),
    "collections.abc.Callable": _CALLABLE,
    "collections.abc.Mapping": _DICT,
    "collections.abc.MutableMapping": _DICT,
    "collections.abc.MutableSequence": _LIST,
    "collections.abc.MutableSet": _SET,
    "numpy.ndarray": ("an array", "hold the facts of it that matter"),
    "torch.Tensor": _TENSOR,
    "torch.nn.Parameter": _TENSOR,
    "typing.Any": ("anything", "state an immutable type"),
    "typing.Callable": _CALLABLE,
    "typing.Dict": _DICT,
    "typing.List": _LIST,
    "typing.Mapping": _DICT,
    "typing.MutableMapping": _DICT,
    "typing.MutableSequence": _LIST,
    "typing.MutableSet": _SET,
    "typing.Set": _SET,
}
# What is transparent: the arguments say what the field holds.
_WRAPPERS = frozenset(
    {
        "builtins.frozenset",
        "builtins.tuple",
        "typing.FrozenSet",
        "typing.Optional",
        "typing.Tuple",
        "typing.Union",
    }
)
_DISPLAYS = {"list": _LIST, "dict": _DICT, "set": _SET}
_TENSORS = frozenset(
    f"torch.{name}"
    for name in ("arange", "as_tensor", "empty", "full", "ones", "rand", "randn", "tensor", "zeros")
)
_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
_SHAPE = "GemmCall.shape can hold a list, which cannot key a dispatch cache; hold a tuple"


class CallSpecMutableField(Rule):
    """The fields of a call spec hold immutable values.

    Keyable are None, bool, int, float, str, dtypes, devices, enums, frozen dataclasses, and tuples
    and frozensets of these.

    Why:
        The spec of a call is a key of the dispatch cache. A field that can change, or that is
        compared by identity, makes the first call with it raise.

    Limits:
        The annotation is believed. Types that cannot be resolved, and abstract ones that some
        immutable type satisfies, such as ``Sequence``, are not judged. The fix turns ``list[...]``
        into ``tuple[..., ...]``; whoever constructs the spec has to pass a tuple from then on.
    """

    id = "call-spec-mutable-field"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "immutable values",
            "import enum\nfrom typing import Annotated, ClassVar, Literal, Optional\n\n"
            "class Mode(enum.Enum):\n    ROWS = 1\n\n"
            "@dataclass(frozen=True)\nclass Layout:\n    rows: int = 0\n\n"
            + _SPEC
            + "    n: Annotated[int, [1, 2]] = 0\n"
            "    eps: float | None = None\n"
            "    shape: tuple[int, ...] = ()\n"
            '    axes: "frozenset[int]" = frozenset()\n'
            "    rest: Optional[tuple] = None\n"
            '    kind: Literal["a", "b"] = "a"\n'
            "    dtype: torch.dtype = torch.float16\n"
            "    mode: Mode = Mode.ROWS\n"
            "    layout: Layout = Layout()\n"
            "    known: ClassVar[list[int]] = []\n",
        ),
        Valid(
            "types that cannot be resolved",
            "from acme import Layout\nfrom collections.abc import Sequence\n\n"
            + _SPEC
            + "    layout: Layout | None = None\n    sizes: Sequence[int] = ()\n",
        ),
        Valid("no call spec", "@dataclass(frozen=True)\nclass Tile:\n    m: list[int]\n"),
        Valid(
            "suppressed",
            _SPEC
            + "    shape: list[int] = ()  # tileops: ignore[call-spec-mutable-field] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "a list",
            _SPEC + "    shape: [|list[int]|] = ()  # of the product\n",
            _SHAPE,
            fixed=_SPEC + "    shape: tuple[int, ...] = ()  # of the product\n",
        ),
        Invalid(
            "a list that a factory makes",
            _SPEC + "    shape: None | [|list[int]|] = dataclasses.field(default_factory=list)\n",
            _SHAPE,
            fixed=_SPEC + "    shape: None | tuple[int, ...] = ()\n",
        ),
        Invalid(
            "inside a tuple, in quotes",
            _SPEC + '    shape: [|"tuple[list[int], int] | None"|] = None\n',
            _SHAPE,
        ),
        Invalid(
            "only the default",
            "from acme import Sizes\n\n"
            + _SPEC
            + "    sizes: Sizes = dataclasses.field(default_factory=[|dict|])\n"
            "    shape: Sizes = [|[1, 2]|]\n"
            "    scale: Sizes = [|torch.ones(4)|]\n",
            (
                "GemmCall.sizes can hold a mapping, which cannot key a dispatch cache; "
                "hold a tuple of pairs",
                _SHAPE,
                "GemmCall.scale can hold a tensor, which cannot key a dispatch cache; "
                "hold the facts of it that matter",
            ),
        ),
        Invalid(
            "tensors, callables and anything",
            "from collections.abc import Callable\nfrom typing import Any\n\n"
            + _SPEC
            + "    scale: [|torch.Tensor|] | None = None\n"
            "    pick: [|Callable[[int], int]|] = int\n"
            "    extra: [|Any|] = None\n",
            (
                "GemmCall.scale can hold a tensor, which cannot key a dispatch cache; "
                "hold the facts of it that matter",
                "GemmCall.pick can hold a callable, which cannot key a dispatch cache; "
                "hold an enum or a str that names it",
                "GemmCall.extra can hold anything, which cannot key a dispatch cache; "
                "state an immutable type",
            ),
        ),
        Invalid(
            "a dataclass of another file that is not frozen",
            {
                "src/tileops/kernels/gemm/layout.py": (
                    "from dataclasses import dataclass\n\n\n"
                    "@dataclass\nclass Layout:\n    rows: int = 0\n"
                ),
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec\n"
                    "from tileops.kernels.gemm.layout import Layout\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
                    "    layout: [|Layout|] | None = None\n"
                ),
            },
            "GemmCall.layout can hold a Layout, which cannot key a dispatch cache; freeze Layout",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the fields whose annotation or default is certainly mutable."""
        for spec in project.of_kind(Kind.CALL_SPEC):
            for attribute in own_fields(project, spec):
                found = _held(project, spec.module, attribute)
                if found is None:
                    continue
                what, advice, span = found[0], found[1], found[2].span
                repair = _repair(project, spec, attribute, found[2])
                annotation = attribute.annotation
                if annotation is not None and annotation.kind == "str" and not found[3]:
                    span, repair = annotation.span, None
                message = (
                    f"{spec.name}.{attribute.name} can hold {what}, "
                    f"which cannot key a dispatch cache; {advice}"
                )
                symbol = f"{spec.name}.{attribute.name}"
                yield self.report(spec.module, span, message, symbol=symbol, repair=repair)


def _held(
    project: Project, module: Module, attribute: Attribute
) -> tuple[str, str, Value, bool] | None:
    """Return what mutable thing a field holds, what to do, where, and if the default shows it."""
    annotation = annotation_of(attribute)
    assert annotation is not None
    found = _typed(project, module, annotation)
    if found is not None:
        return (*found, False)
    if attribute.value is None:
        return None
    stated = _defaulted(project, module, attribute.value)
    return None if stated is None else (*stated, True)


def _typed(project: Project, module: Module, annotation: Value) -> tuple[str, str, Value] | None:
    """Return the first mutable type an annotation names."""
    if annotation.kind == "binary" and annotation.data == "BitOr":
        arms = (_typed(project, module, side) for side in annotation.items)
        return next((arm for arm in arms if arm is not None), None)
    if annotation.kind == "str":
        return _typed(project, module, unquoted(annotation))
    origin = origin_of(project, module, annotation)
    if origin in _MUTABLE:
        return (*_MUTABLE[origin], annotation)
    if annotation.kind == "subscript":
        index = annotation.items[1]
        inner = index.items if index.kind == "tuple" else (index,)
        inner = inner[:1] if origin == "typing.Annotated" else inner
        if origin in _WRAPPERS or origin == "typing.Annotated":
            parts = (_typed(project, module, part) for part in inner)
            return next((part for part in parts if part is not None), None)
    node = project.resolve_class(module, annotation)
    if node is not None and dataclass_decorator(project, node) and freezes(project, node) is False:
        return f"a {node.name}", f"freeze {node.name}", annotation
    return None


def _defaulted(project: Project, module: Module, value: Value) -> tuple[str, str, Value] | None:
    """Return what mutable thing a default is or makes."""
    if value.kind == "call" and project.imported(module, value.items[0]) == "dataclasses.field":
        factory, default = value.keyword("default_factory"), value.keyword("default")
        if factory is not None:
            made = factory.items[0] if factory.kind == "lambda" else factory
            origin = project.imported(module, made)
            if origin in _MUTABLE:
                return (*_MUTABLE[origin], factory)
            value = made
        elif default is not None:
            value = default
    kind = str(value.data) if value.kind == "comprehension" else value.kind
    if kind in _DISPLAYS:
        return (*_DISPLAYS[kind], value)
    called = project.imported(module, value.items[0]) if value.kind == "call" else ""
    if called in _TENSORS:
        return (*_TENSOR, value)
    return (*_MUTABLE[called], value) if called in _MUTABLE else None


def _repair(project: Project, spec: ClassNode, attribute: Attribute, found: Value) -> Repair | None:
    """Return the fix of an annotated list whose default a tuple can replace."""
    if found.kind != "subscript" or origin_of(project, spec.module, found) != "builtins.list":
        return None
    value, factory = attribute.value, None
    if value is not None and (stated := _defaulted(project, spec.module, value)) is not None:
        factory = value.keyword("default_factory") if value.kind == "call" else None
        alone = value.kind == "call" and value.names == ("default_factory",)
        if not alone or stated[2] is not factory or factory.name != "list":
            return None
    build = partial(_edits, spec, found, None if factory is None else value)
    return Repair(Applicability.UNSAFE, "hold a tuple", build)


def _edits(
    spec: ClassNode, annotation: Value, default: Value | None, sources: Sources
) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import replace, rewrite
    from tileops.lint._syntax import code

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
            return None
        return cst.parse_expression(f"tuple[{code(node.slice[0].slice)}, ...]")

    source = sources[spec.module.path]
    yield from rewrite(source, annotation.span, change)
    if default is not None:
        yield replace(source, default.span, "()")
