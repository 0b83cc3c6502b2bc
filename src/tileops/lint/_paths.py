"""Which paths through a ``refusal`` answer without having asked the base class.

A path is good when it has called ``super().refusal(...)``, or an accepted
``Ancestor.refusal(...)``, before it returns a value that may be None. Imported only where a slice
was parsed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import libcst as cst

from tileops.lint._syntax import children, dotted, is_none

__all__ = ["Paths", "named_ancestors", "strict_paths"]

_STRINGS = (cst.FormattedString, cst.ConcatenatedString)
_TEXT_CALLS = ("str", "repr", "format", "ascii")


@dataclass(frozen=True, slots=True)
class _State:
    """One path so far: whether it has asked the base, and which locals are certainly not None."""

    asked: bool = False
    present: frozenset[str] = frozenset()


class Paths:
    """The paths of one function.

    Attributes:
        bad: The ``return`` statements that may answer None without having asked.
        falls_through: Whether the end can be reached without having asked.
    """

    def __init__(self, function: cst.FunctionDef, accepted: Collection[str]) -> None:
        self._accepted = accepted
        self._exits: list[set[_State]] = []
        self.bad: list[cst.Return] = []
        states = self._suite(function.body, {_State()})
        self.falls_through = any(not state.asked for state in states)

    def _suite(self, suite: cst.BaseSuite, states: set[_State]) -> set[_State]:
        return self._block(suite.body, states)

    def _block(self, body: Sequence[cst.CSTNode], states: set[_State]) -> set[_State]:
        for statement in body:
            if not states:
                break
            states = self._statement(statement, states)
        return states

    def _statement(self, node: cst.CSTNode, states: set[_State]) -> set[_State]:  # noqa: PLR0911
        match node:
            case cst.SimpleStatementLine():
                return self._block(node.body, states)
            case cst.Return():
                self._return(node, states)
                return set()
            case cst.Raise():
                return set()
            case cst.Break() | cst.Continue():
                if self._exits:
                    self._exits[-1] |= states
                return set()
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                return {self._bound(state, name, value) for state in states}
            case cst.If():
                return self._if(node, states)
            case cst.For() | cst.While():
                return self._loop(node, states)
            case cst.Try() | cst.TryStar():
                return self._try(node, states)
            case cst.With():
                asked = self._evaluated(states, [item.item for item in node.items])
                return self._suite(node.body, asked)
            case cst.Match():
                return self._match(node, states)
            case cst.FunctionDef() | cst.ClassDef():
                return states
        return self._evaluated(states, [node])

    def _return(self, node: cst.Return, states: set[_State]) -> None:
        for state in states:
            if self._may_be_unasked_none(node.value, state):
                self.bad.append(node)
                return

    def _if(self, node: cst.If, states: set[_State]) -> set[_State]:
        states = self._evaluated(states, [node.test])
        then, otherwise = _narrowed(node.test)
        out = self._suite(node.body, {_with(state, then) for state in states})
        rest = {_with(state, otherwise) for state in states}
        if isinstance(node.orelse, cst.If):
            return out | self._if(node.orelse, rest)
        return out | (rest if node.orelse is None else self._suite(node.orelse.body, rest))

    def _loop(self, node: cst.For | cst.While, states: set[_State]) -> set[_State]:
        head = node.iter if isinstance(node, cst.For) else node.test
        states = self._evaluated(states, [head])
        self._exits.append(set())
        out = self._suite(node.body, states)
        exits = self._exits.pop()
        endless = isinstance(node, cst.While) and dotted(node.test) == "True"
        after = exits if endless else states | out | exits
        return after if node.orelse is None else self._suite(node.orelse.body, after)

    def _try(self, node: cst.Try | cst.TryStar, states: set[_State]) -> set[_State]:
        out = self._suite(node.body, states)
        if node.orelse is not None:
            out = self._suite(node.orelse.body, out)
        for handler in node.handlers:
            out |= self._suite(handler.body, states)
        return out if node.finalbody is None else self._suite(node.finalbody.body, out)

    def _match(self, node: cst.Match, states: set[_State]) -> set[_State]:
        states = self._evaluated(states, [node.subject])
        out: set[_State] = set()
        complete = False
        for case in node.cases:
            out |= self._suite(case.body, states)
            wild = isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None
            complete = complete or (wild and case.guard is None)
        return out if complete else out | states

    def _bound(self, state: _State, name: str, value: cst.BaseExpression) -> _State:
        text = _is_text(value)
        present = state.present | {name} if text else state.present - {name}
        return _State(state.asked or self._asks(value), present)

    def _evaluated(self, states: set[_State], nodes: Iterable[cst.CSTNode]) -> set[_State]:
        if any(self._asks(node) for node in nodes):
            return {replace(state, asked=True) for state in states}
        return states

    def _asks(self, node: cst.CSTNode) -> bool:
        """Say whether evaluating a node certainly asks the base."""
        match node:
            case cst.Call() if self._is_question(node):
                return True
            case cst.BooleanOperation():
                return self._asks(node.left)
            case cst.IfExp():
                both = self._asks(node.body) and self._asks(node.orelse)
                return both or self._asks(node.test)
            case (
                cst.Lambda() | cst.ListComp() | cst.SetComp() | cst.DictComp() | cst.GeneratorExp()
            ):
                return False
        return any(self._asks(child) for child in children(node))

    def _is_question(self, node: cst.Call) -> bool:
        match node.func:
            case cst.Attribute(
                value=cst.Call(func=cst.Name(value="super")), attr=cst.Name(value=name)
            ):
                return name == "refusal"
            case cst.Attribute(value=owner, attr=cst.Name(value="refusal")):
                return dotted(owner) in self._accepted
        return False

    def _may_be_unasked_none(self, node: cst.BaseExpression | None, state: _State) -> bool:  # noqa: PLR0911
        """Say whether a value may be None on a path that has not asked when it is known."""
        if state.asked or (node is not None and self._asks(node)):
            return False
        match node:
            case cst.IfExp():
                if self._asks(node.test):
                    return False
                then, otherwise = _narrowed(node.test)
                return self._may_be_unasked_none(
                    node.body, _with(state, then)
                ) or self._may_be_unasked_none(node.orelse, _with(state, otherwise))
            case cst.BooleanOperation(operator=cst.Or()):
                return self._may_be_unasked_none(node.right, state)
            case cst.NamedExpr():
                return self._may_be_unasked_none(node.value, state)
            case cst.Name(value=name):
                return name not in state.present
        return node is None or not _is_text(node)


@lru_cache(maxsize=2)
def strict_paths(function: cst.FunctionDef) -> Paths:
    """Return the paths of a function on which only ``super()`` counts as asking."""
    return Paths(function, ())


def named_ancestors(function: cst.FunctionDef) -> list[str]:
    """Return the dotted names other than the class itself whose ``refusal`` a function calls."""
    found: dict[str, None] = {}
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        node = stack.pop()
        stack.extend(children(node))
        match node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="refusal"))):
                name = dotted(owner)
                if name and name not in ("cls", "self"):
                    found.setdefault(name)
    return sorted(found)


def _is_text(node: cst.BaseExpression) -> bool:
    """Say whether an expression is certainly a string."""
    match node:
        case cst.SimpleString():
            return True
        case cst.Call(func=cst.Attribute(value=owner)):
            return _is_text(owner)
        case cst.Call(func=cst.Name(value=name)):
            return name in _TEXT_CALLS
        case cst.BinaryOperation():
            return _is_text(node.left) or _is_text(node.right)
        case cst.IfExp():
            return _is_text(node.body) and _is_text(node.orelse)
    return isinstance(node, _STRINGS)


def _narrowed(test: cst.BaseExpression) -> tuple[frozenset[str], frozenset[str]]:  # noqa: PLR0911
    """Return the locals a test shows not to be None: where it holds, and where it fails."""
    none: frozenset[str] = frozenset()
    match test:
        case cst.Name(value=name) | cst.NamedExpr(target=cst.Name(value=name)):
            return frozenset({name}), none
        case cst.UnaryOperation(operator=cst.Not()):
            then, otherwise = _narrowed(test.expression)
            return otherwise, then
        case cst.BooleanOperation(operator=cst.And()):
            return _narrowed(test.left)[0] | _narrowed(test.right)[0], none
        case cst.BooleanOperation(operator=cst.Or()):
            return none, _narrowed(test.left)[1] | _narrowed(test.right)[1]
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget() as target]):
            name = _local(left)
            if name and is_none(target.comparator):
                if isinstance(target.operator, cst.IsNot | cst.NotEqual):
                    return frozenset({name}), none
                if isinstance(target.operator, cst.Is | cst.Equal):
                    return none, frozenset({name})
    return none, none


def _local(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.NamedExpr):
        node = node.target
    return node.value if isinstance(node, cst.Name) else ""


def _with(state: _State, names: frozenset[str]) -> _State:
    return replace(state, present=state.present | names)
