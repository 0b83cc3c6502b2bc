"""The rule `dtype-compared-to-string`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import ClassFacts, FunctionFacts, Note, Param, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_METHODS = ("refusal", "entry_for", "__init__")
_PROPERTIES = ("property", "functools.cached_property", "cached_property", "classmethod")
_SPEC = """\
@dataclass(frozen=True)
class GemmCall(CallSpec):
    dtype: torch.dtype = torch.float16
    scale_dtype: "torch.dtype | None" = None
    layout: str = "nt"

class GemmFwdInterface(KernelInterface):
    request = GemmCall

"""
_CLASS = _SPEC + (
    "class GemmKernel(Kernel, GemmFwdInterface):\n    @classmethod\n    def refusal(cls, call):\n"
)


class DtypeComparedToString(BodyRule):
    """A dtype is compared with a dtype, not with its name.

    Flagged are comparisons of a ``torch.dtype`` with a string or strings, of its ``.name``, and of
    the text ``str`` makes of it. Using that text otherwise, to name a type in a program, is fine.

    Why:
        ``torch.float16 == "float16"`` is False, always, so that the branch never runs; ``.name``
        raises; and ``str`` gives "torch.float16", which a comparison with "float16" misses.

    Limits:
        The type has to be known: from the annotation of the parameter, or of the fact in the call
        spec. Comparing the text of a dtype is a warning only, since it can be right.
    """

    id = "dtype-compared-to-string"
    severity = Severity.ERROR
    cross_file = True
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION, Kind.CALL_SPEC, Kind.OP})

    VALID = (
        Valid(
            "dtypes",
            _CLASS + "        if call.dtype not in (torch.float16, torch.bfloat16):\n"
            "            return f'serves 16 bits, not {call.dtype}'\n"
            "        return None if call.layout == 'nt' else 'serves nt'\n",
        ),
        Valid(
            "a name for a program",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    def __init__(self, dtype: torch.dtype):\n"
            "        self.type_name = str(dtype).split('.')[-1]\n",
        ),
        Valid(
            "a fact that is a string, and one of unknown type",
            "@dataclass(frozen=True)\nclass NamedCall(CallSpec):\n    dtype: str = 'float16'\n\n"
            "    @property\n    def wide(self):\n        return self.dtype == 'float32'\n\n"
            "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"
            "        return None if call.dtype == 'float16' else 'serves float16'\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        # Never holds.\n"
            "        if call.dtype == 'int4':  # tileops: ignore[dtype-compared-to-string]\n"
            "            return 'serves floats'\n",
        ),
    )
    INVALID = (
        Invalid(
            "a fact of the call",
            _CLASS + "        if [|call.dtype != 'float16'|]:\n"
            "            return 'serves float16'\n"
            "        served = [|call.scale_dtype in ('float32', 'torch.bfloat16')|]\n"
            "        return None if served else 'serves scales'\n",
            (
                "call.dtype is a torch.dtype and never equals 'float16'; compare with "
                "torch.float16",
                "call.scale_dtype is a torch.dtype and never equals 'float32'; compare with "
                "torch.float32",
            ),
        ),
        Invalid(
            "its name, and its text",
            _CLASS + "        return None if [|call.dtype.name == 'half'|] else 'serves half'\n",
            "call.dtype is a torch.dtype, which has no attribute name; compare with torch.half",
        ),
        Invalid(
            "the text of a parameter",
            _SPEC + "class GemmKernel(Kernel, GemmFwdInterface):\n"
            "    def __init__(self, dtype: torch.dtype):\n"
            "        self.short = [|'float8' in str(dtype)|]\n"
            "        self.half = [|str(dtype).split('.')[-1] == 'float16'|]\n",
            (
                "this compares the text of dtype, a torch.dtype, with 'float8', which breaks on "
                "aliases and prefixes; compare with dtypes of torch",
                "this compares the text of dtype, a torch.dtype, with 'float16', which breaks on "
                "aliases and prefixes; compare with torch.float16",
            ),
            severity=Severity.WARNING,
        ),
        Invalid(
            "a property of a spec in another file than its base",
            {
                "src/tileops/kernels/gemm/facts.py": (
                    "from dataclasses import dataclass\n\nimport torch\n\n"
                    "from tileops.backend import CallSpec\n\n\n"
                    "@dataclass(frozen=True)\nclass TypedCall(CallSpec):\n"
                    "    dtype: torch.dtype = torch.float16\n"
                ),
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.kernels.gemm.facts import TypedCall\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(TypedCall):\n"
                    "    @property\n    def is_half(self):\n"
                    "        return [|self.dtype == 'float16'|]\n"
                ),
            },
            "self.dtype is a torch.dtype and never equals 'float16'; compare with torch.float16",
        ),
    )

    def wants(self, owner: ClassFacts, method: FunctionFacts | None) -> bool:
        """Say whether a method may compare a dtype it is given or reads of a parameter."""
        if method is None:
            return False
        made = any(decorator.name in _PROPERTIES for decorator in method.decorators)
        if method.name not in _METHODS and not made:
            return False
        return any("dtype" in read.attribute for read in method.reads) or any(
            param.annotation is not None and "dtype" in param.annotation.name
            for param in method.params
        )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note comparisons of what may be a dtype with strings."""
        import libcst as cst

        for node in body.of(cst.Comparison):
            sides = [node.left, *(target.comparator for target in node.comparisons)]
            text = next((found for side in sides if (found := _string(side)) is not None), None)
            if text is None:
                continue
            for side in sides:
                name, form = _subject(side)
                if name:
                    yield body.note(self.id, node, name=name, form=form, text=text)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note when what is compared is known to be a dtype."""
        name, form, text = note.data["name"], note.data["form"], note.data["text"]
        method = owner.facts.method(note.method)
        if method is None or not _is_dtype(project, owner, method, name):
            return
        plain = text.removeprefix("torch.")
        better = "dtypes of torch" if plain not in _DTYPES else f"torch.{plain}"
        severity = None
        match form:
            case "name":
                message = f"{name} is a torch.dtype, which has no attribute name; compare with "
            case "text":
                severity = Severity.WARNING
                message = (
                    f"this compares the text of {name}, a torch.dtype, with {text!r}, which breaks "
                    "on aliases and prefixes; compare with "
                )
            case _:
                message = f"{name} is a torch.dtype and never equals {text!r}; compare with "
        symbol = f"{owner.name}.{note.method}"
        yield self.report(
            owner.module, note.span, message + better, symbol=symbol, severity=severity
        )


_DTYPES = frozenset(
    {"bfloat16", "bool", "double", "float", "float16", "float32", "float64", "half", "int", "long"}
    | {"int8", "int16", "int32", "int64", "short", "uint8", "uint16", "uint32", "uint64"}
    | {"complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"}
    | {"float8_e5m2fnuz", "float8_e8m0fnu"}
)


def _string(node: "cst.BaseExpression") -> str | None:
    """Return the string an expression is, or the first of a display of strings only."""
    import libcst as cst

    match node:
        case cst.SimpleString(evaluated_value=str(text)):
            return text
        case (
            cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements)
        ):
            texts = [_string(element.value) for element in elements]
            return texts[0] if texts and None not in texts else None
    return None


def _subject(node: "cst.BaseExpression") -> tuple[str, str]:
    """Return the name of what may be a dtype, and how it is compared: itself, its name or text."""
    import libcst as cst

    from tileops.lint._syntax import dotted

    inner: cst.CSTNode = node
    while isinstance(inner, cst.Attribute | cst.Subscript | cst.Call):
        if isinstance(inner, cst.Call) and dotted(inner.func) == "str" and len(inner.args) == 1:
            return dotted(inner.args[0].value), "text"
        inner = inner.func if isinstance(inner, cst.Call) else inner.value
    name = dotted(node)
    return (name.removesuffix(".name"), "name") if name.endswith(".name") else (name, "itself")


def _is_dtype(project: Project, owner: ClassNode, method: FunctionFacts, name: str) -> bool:
    """Say whether a parameter, or a fact read of one, is annotated as a dtype."""
    first, _, fact = name.partition(".")
    position = next((i for i, p in enumerate(method.params) if p.name == first), None)
    if position is None or "." in fact:
        return False
    param = method.params[position]
    if not fact:
        return _says_dtype(project, owner, param.annotation)
    classes = _classes(project, owner, param, position)
    return bool(classes) and all(node and _fact_is_dtype(project, node, fact) for node in classes)


def _classes(
    project: Project, owner: ClassNode, param: Param, position: int
) -> list[ClassNode | None]:
    """Return what a parameter may be: the class itself, its annotation, or any requested spec."""
    if position == 0:
        return [owner]
    if param.annotation is not None:
        stated = project.resolve_class(owner.module, param.annotation)
        if stated is not None:
            return [stated]
    takes_spec = position == 1 and owner.kind is Kind.IMPLEMENTATION
    interfaces = project.interfaces_of(owner) if takes_spec else []
    return [project.request(interface) for interface in interfaces]


def _fact_is_dtype(project: Project, node: ClassNode, fact: str) -> bool:
    found = node.lookup(fact)
    if found.owner is None:
        return False
    stated = found.attribute.annotation if found.attribute else None
    if found.method is not None:
        stated = found.method.returns
    return _says_dtype(project, found.owner, stated)


def _says_dtype(project: Project, owner: ClassNode, annotation: Value | None) -> bool:
    """Say whether an annotation is ``torch.dtype``, or that or None."""
    if annotation is None:
        return False
    if annotation.kind == "binary":
        kinds = [
            side.kind == "none" or _says_dtype(project, owner, side) for side in annotation.items
        ]
        return all(kinds)
    if annotation.text is not None:
        parts = [part.strip() for part in annotation.text.split("|")]
        names = [Value("name", annotation.span, part) for part in parts if part != "None"]
        return bool(names) and all(_says_dtype(project, owner, name) for name in names)
    return project.imported(owner.module, annotation) == "torch.dtype"
