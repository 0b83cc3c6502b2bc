"""The facts of one function, and the calls in it that concern the contract."""

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tileops.lint.facts._foreign import is_foreign
from tileops.lint.facts._records import FunctionFacts, Param, Read, Site, Span, Value
from tileops.lint.facts._values import dotted, span_of, value_of

__all__ = [
    "FunctionWalk",
    "children",
    "docstring_of",
    "function_facts",
    "header_of",
    "name_span_of",
]

_VOCABULARY = frozenset(
    {
        "entry_for",
        "kernel_for",
        "key_for",
        "register_detector",
        "register_device_facts",
        "register_kernel_builder",
        "register_kernel_type",
        "replace",
    }
)
# Calls that matter only where importing a module runs them.
_COMPILERS = frozenset({"compile", "jit"})
_BUILTINS = frozenset(dir(builtins))
_SILENT = (
    "ctx",
    "op",
    "ops",
    "kind",
    "type_comment",
    "type_ignores",
    "id",
    "attr",
    "name",
    "names",
)
# Which fields of a node hold nodes, so that a walk touches neither contexts nor operators.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _SILENT)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_FIELDS[ast.Constant] = ()
Function = ast.FunctionDef | ast.AsyncFunctionDef


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes directly below one, in source order."""
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))


def is_class_like(name: str) -> bool:
    """Say whether the last part of a dotted name reads as a class: a capital and a small letter."""
    last = name.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() and not last.isupper() and last not in _BUILTINS


@dataclass(slots=True)
class FunctionWalk:
    """What one pass over the statements of a function collects.

    ``loose`` says that the statements stand outside any function.
    """

    reads: dict[str, list[tuple[str, Span, bool]]] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)
    calls: dict[str, None] = field(default_factory=dict)
    sites: list[tuple[ast.Call, str]] = field(default_factory=list)
    targets: dict[int, str] = field(default_factory=dict)
    bound: dict[str, ast.expr] = field(default_factory=dict)
    bindings: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    pairs: list[ast.Tuple] = field(default_factory=list)
    nested: list[ast.ClassDef] = field(default_factory=list)
    generator: bool = False
    loose: bool = False

    def walk(self, nodes: Iterable[ast.AST], raises: str = "") -> None:
        """Collect from the nodes and everything below them."""
        stack = list(nodes)
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name:
                self._name(node)  # type: ignore[arg-type]
            elif kind is ast.Attribute:
                self._attribute(node, stack)  # type: ignore[arg-type]
            elif kind is ast.Constant:
                if type(node.value) is str:  # type: ignore[attr-defined]
                    self.texts.add(node.value)  # type: ignore[attr-defined]
            elif kind is ast.Call:
                self._call(node, stack, raises)  # type: ignore[arg-type]
            elif kind in (ast.With, ast.AsyncWith):
                self._with(node, raises)  # type: ignore[arg-type]
            elif kind is ast.ClassDef:
                self.nested.append(node)  # type: ignore[arg-type]
            else:
                self._statement(node)
                for name in _FIELDS[kind]:
                    value = getattr(node, name, None)
                    if type(value) is list:
                        stack.extend(item for item in value if isinstance(item, ast.AST))
                    elif isinstance(value, ast.AST):
                        stack.append(value)

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.loads.add(node.id)
        else:
            self.bindings[node.id] += 1

    def _attribute(self, node: ast.Attribute, stack: list[ast.AST]) -> None:
        self.names.add(node.attr)
        inner = node.value
        if type(inner) is ast.Name:
            self.reads.setdefault(inner.id, []).append((node.attr, span_of(node), False))
            return
        if type(inner) is ast.Call:
            self.targets.setdefault(id(inner), f".{node.attr}")
        stack.append(inner)

    def _call(self, node: ast.Call, stack: list[ast.AST], raises: str) -> None:
        name = dotted(node.func)
        if name:
            self.calls.setdefault(name)
            last = name.rpartition(".")[2]
            if last in _VOCABULARY or is_class_like(name) or (self.loose and last in _COMPILERS):
                self.sites.append((node, raises))
        elif type(node.func) is ast.Call:
            self.targets.setdefault(id(node.func), "()")
        elif type(node.func) is ast.Attribute and node.func.attr in _VOCABULARY:
            self.sites.append((node, raises))
        if name == "getattr" and self._guarded(node):
            return
        stack.append(node.func)
        stack.extend(node.args)
        stack.extend(keyword.value for keyword in node.keywords)

    def _guarded(self, node: ast.Call) -> bool:
        match node.args:
            case [ast.Name(id=param), ast.Constant(value=str(attribute)), *default]:
                self.names.add(attribute)
                read = (attribute, span_of(node), bool(default))
                self.reads.setdefault(param, []).append(read)
                return not default or isinstance(default[0], ast.Constant)
        return False

    def _with(self, node: ast.With | ast.AsyncWith, raises: str) -> None:
        inside = raises
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and dotted(call.func) in ("pytest.raises", "raises"):
                inside = "match" if any(k.arg == "match" for k in call.keywords) else "bare"
            target = item.optional_vars
            self.walk([call] if target is None else [call, target], raises)
        self.walk(node.body, inside)

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._bind(target, value)
            case ast.Return(value=ast.Call() as call):
                self.targets.setdefault(id(call), "return")
            case ast.Tuple(elts=[_, _]):
                self.pairs.append(node)
            case ast.Yield() | ast.YieldFrom():
                self.generator = True
            case ast.ExceptHandler(name=str(name)) | ast.Import(names=[ast.alias(name=name)]):
                self.bindings[name] += 1

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        name = dotted(target)
        if isinstance(target, ast.Subscript):
            name = f"{dotted(target.value)}[]"
        if isinstance(target, ast.Name):
            self.bound[target.id] = value
        if isinstance(value, ast.Call):
            self.targets.setdefault(id(value), name)

    def site_facts(
        self, owner: str, function: str, taken: frozenset[str], imports: Mapping[str, str]
    ) -> Iterator[Site]:
        """Yield the collected calls in source order; ``taken`` names are the parameters.

        In a function, instances of what a parameter holds or a foreign package defines are left
        out: a kernel program is made of them, and none concerns the contract.
        """
        for node, raises in sorted(self.sites, key=lambda site: span_of(site[0])):
            root, _, rest = dotted(node.func).partition(".")
            if function and rest.rpartition(".")[2] not in _VOCABULARY:
                outside = root in taken and root not in ("self", "cls")
                if outside or is_foreign(imports.get(root, ".")):
                    continue
            target = self.targets.get(id(node), "")
            members = self.reads.get(target, []) if self.bindings[target] == 1 else []
            yield Site(
                value_of(node),
                owner,
                function,
                target,
                raises,
                tuple((attribute, span) for attribute, span, _ in members),
                dict(self._mentioned(_parts(node), taken)),
            )

    def request_facts(self, owner: str, taken: frozenset[str]) -> Iterator[Site]:
        """Yield the pairs of a ``requests`` method in source order."""
        for node in sorted(self.pairs, key=span_of):
            if not isinstance(node.elts[0], ast.Tuple | ast.Call):
                bindings = dict(self._mentioned(node.elts, taken))
                yield Site(value_of(node), owner, "requests", bindings=bindings)

    def _mentioned(
        self, parts: list[ast.expr], taken: frozenset[str]
    ) -> Iterator[tuple[str, Value]]:
        for part in parts:
            name = dotted(part.value if isinstance(part, ast.Starred) else part).partition(".")[0]
            if name in self.bound and self.bindings[name] == 1 and name not in taken:
                yield name, value_of(self.bound[name])


def function_facts(node: Function, walk: FunctionWalk, lines: list[bytes]) -> FunctionFacts:
    """Return the facts of a function whose body ``walk`` has collected."""
    params = tuple(_params(node.args))
    reads = [
        Read(param.name, attribute, span, guarded)
        for param in params
        for attribute, span, guarded in walk.reads.get(param.name, ())
    ]
    return FunctionFacts(
        name=node.name,
        span=(_first_line(node), node.col_offset, *span_of(node)[2:]),
        name_span=name_span_of(node, lines),
        header=header_of(node, lines),
        params=params,
        decorators=tuple(value_of(decorator) for decorator in node.decorator_list),
        returns=None if node.returns is None else value_of(node.returns),
        docstring=docstring_of(node),
        trivial=all(_says_nothing(statement) for statement in node.body),
        asynchronous=isinstance(node, ast.AsyncFunctionDef),
        generator=walk.generator,
        reads=tuple(sorted(reads, key=lambda read: read.span)),
        escapes=tuple(param.name for param in params if param.name in walk.loads),
        calls=tuple(sorted(walk.calls)),
    )


def _parts(node: ast.Call) -> list[ast.expr]:
    return [node.func, *node.args, *(keyword.value for keyword in node.keywords)]


def _params(arguments: ast.arguments) -> Iterator[Param]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        yield _param(argument, "positional", default)
    if arguments.vararg is not None:
        yield _param(arguments.vararg, "variadic", None)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _param(argument, "keyword", default)
    if arguments.kwarg is not None:
        yield _param(arguments.kwarg, "mapping", None)


def _param(argument: ast.arg, kind: str, default: ast.expr | None) -> Param:
    annotation = None if argument.annotation is None else value_of(argument.annotation)
    stated = None if default is None else value_of(default)
    return Param(argument.arg, kind, span_of(argument), annotation, stated)


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def docstring_of(node: Function | ast.ClassDef) -> str | None:
    """Return the docstring as written; characters no codec can write are replaced."""
    text = ast.get_docstring(node, clean=False)
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _first_line(node: Function | ast.ClassDef) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def header_of(node: ast.stmt, lines: list[bytes]) -> tuple[int, int]:
    """Return the first and last line of a statement's header, decorators included.

    The header of a statement without a body is all of it.
    """
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = decorators[0].lineno if decorators else node.lineno
    body: list[ast.stmt] = getattr(node, "body", [])
    if not body:
        return first, node.end_lineno or node.lineno
    inner: list[ast.expr] = getattr(body[0], "decorator_list", [])
    start = inner[0].lineno if inner else body[0].lineno
    alone = not lines[start - 1][: body[0].col_offset].strip() or inner
    return first, max(node.lineno, start - 1 if alone else start)


def name_span_of(node: Function | ast.ClassDef, lines: list[bytes]) -> Span:
    """Return where the name of a definition stands; `ast` does not say."""
    name = node.name.encode()
    keyword = {ast.ClassDef: 6, ast.FunctionDef: 4, ast.AsyncFunctionDef: 10}[type(node)]
    start = node.col_offset + keyword
    line = lines[node.lineno - 1]
    if line[start : start + len(name)] != name:
        # More than one blank, or a name that Unicode normalisation changed.
        start = max(line.find(name, start), start)
    return (node.lineno, start, node.lineno, start + len(name))
