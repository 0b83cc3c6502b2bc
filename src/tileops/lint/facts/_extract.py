"""From a parsed module to its facts, in one pass."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tileops.lint.facts._classes import class_facts
from tileops.lint.facts._functions import Function, FunctionWalk, function_facts
from tileops.lint.facts._ignores import ignores_of
from tileops.lint.facts._records import ClassFacts, FileFacts, FunctionFacts, Site, Value
from tileops.lint.facts._values import value_of

__all__ = ["extract"]

_LINE_END = re.compile(rb"\r\n|\r|\n")


def extract(data: bytes, tree: ast.Module, *, newer: bool = False) -> FileFacts:
    """Return the facts of a module whose UTF-8 text is ``data``; others add the notes of rules.

    ``newer`` says that the text stands for one in syntax newer than the running Python.
    """
    pass_ = _Module(_LINE_END.split(data))
    pass_.block(tree.body, "module")
    asks = "key_for" in pass_.names
    return FileFacts(
        imports=pass_.imports,
        stars=tuple(pass_.stars),
        constants={n: v for n, v in pass_.constants.items() if pass_.bindings[n] == 1},
        classes=tuple(pass_.classes),
        functions=tuple(pass_.functions),
        sites=tuple(pass_.sites),
        requests=tuple(pass_.requests),
        names=tuple(sorted(pass_.names)),
        texts=tuple(sorted(filter(str.isidentifier, pass_.texts))) if asks else (),
        ignores=ignores_of(data, tree, pass_.lines),
        newer=newer,
        calls=tuple(sorted(pass_.calls)),
    )


class _Module:
    """The state of the pass."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.constants: dict[str, Value] = {}
        self.bindings: Counter[str] = Counter()
        self.classes: list[ClassFacts] = []
        self.functions: list[FunctionFacts] = []
        self.sites: list[Site] = []
        self.requests: list[Site] = []
        self.names: set[str] = set()
        self.calls: set[str] = set()
        self.texts: set[str] = set()
        self.where = ""

    def block(self, body: list[ast.stmt], scope: str) -> None:
        """Take the statements of the module and of its conditional blocks, in source order."""
        rest = [(statement, scope, "") for statement in reversed(body)]
        while rest:
            statement, scope, self.where = rest.pop()
            match statement:
                case ast.ClassDef():
                    self.classes.append(self._class(statement, scope))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions.append(self._function(statement, ""))
                case ast.Import() | ast.ImportFrom():
                    self._import(statement)
                case ast.If() | ast.Try() | ast.TryStar() | ast.With() | ast.For() | ast.While():
                    self._loose(_heads(statement))
                    inner = [one for block in _blocks(statement) for one in block]
                    place = "__main__" if _is_script(statement) else self.where
                    rest += [(one, "conditional", place) for one in reversed(inner)]
                case _:
                    self._constant(statement)
                    self._loose([statement])

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.asname:
                    self.imports[alias.asname] = alias.name
                else:
                    root = alias.name.partition(".")[0]
                    self.imports[root] = root
            return
        origin = "." * statement.level + (statement.module or "")
        joint = "" if origin.endswith(".") else "."
        for alias in statement.names:
            if alias.name == "*":
                self.stars.append(origin)
            else:
                self.imports[alias.asname or alias.name] = f"{origin}{joint}{alias.name}"

    def _constant(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                # What is added to later is no constant.
                self.bindings[name] += 2

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.bindings[target.id] += 1
            self.constants[target.id] = value_of(value)

    def _loose(self, nodes: list[ast.AST]) -> None:
        """Take the calls of statements outside any function."""
        walk = FunctionWalk(loose=True)
        walk.walk(nodes)
        self.names |= walk.names
        self.calls.update(walk.calls)
        self.texts |= walk.texts
        self.classes.extend(self._class(inner, "class") for inner in walk.nested)
        self.sites.extend(walk.site_facts("", self.where, frozenset(), self.imports))

    def _function(self, node: Function, owner: str) -> FunctionFacts:
        walk = FunctionWalk()
        walk.walk([*node.decorator_list, node.args, *node.body])
        facts = function_facts(node, walk, self.lines)
        self.names |= walk.names
        self.texts |= walk.texts
        self.classes.extend(self._class(inner, "function") for inner in walk.nested)
        params = frozenset(param.name for param in facts.params)
        self.sites.extend(walk.site_facts(owner, node.name, params, self.imports))
        if node.name == "requests":
            self.requests.extend(walk.request_facts(owner, params))
        return facts

    def _class(self, node: ast.ClassDef, scope: str) -> ClassFacts:
        plain = [s for s in node.body if not isinstance(s, Function)]
        self._loose([*node.decorator_list, *plain])

        def method(inner: Function) -> FunctionFacts:
            return self._function(inner, node.name)

        return class_facts(node, scope, method, self.lines)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    yield getattr(statement, "body", [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for name in ("orelse", "finalbody"):
        yield getattr(statement, name, [])


def _is_script(statement: ast.stmt) -> bool:
    """Say whether a statement is ``if __name__ == "__main__":``."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()])):
            return True
    return False


def _heads(statement: ast.stmt) -> list[ast.AST]:
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated):
            return [iterated]
        case ast.With(items=items):
            return list(items)
    return []
