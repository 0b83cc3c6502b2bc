"""The rule `refusal-side-effect`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Report
from tileops.lint.facts import Note, Value
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    import libcst as cst

    from tileops.lint._body import Body

_WRITERS = ("delattr", "exec", "input", "open", "print", "setattr")
_LOGGERS = ("critical", "debug", "error", "exception", "info", "log", "warn", "warning")
_MUTATORS = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
    | {"reverse", "setdefault", "sort", "update"}
)
_CONTAINERS = ("Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set")
_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def refusal(cls, call):\n"


def _message(text: str) -> str:
    return (
        f"AKernel.refusal does more than answer: {text}; it is asked any number of times and in "
        "any order, also just to explain a selection; only look at the call and return the reason"
    )


class RefusalSideEffect(BodyRule):
    """``refusal`` only looks at the call: it changes nothing and writes nothing.

    Flagged are assignments to attributes and items of the class, of the call and of globals,
    ``global``, methods that change a container of these, ``print``, ``open`` and logging.

    Why:
        Selection asks every implementation, remembers answers, and asks again to explain them. What
        a refusal changes or prints would depend on the order and number of questions.

    Limits:
        Helpers are not followed, and an alias of a container of the class is taken for a local.
        ``warnings.warn`` is a warning only.
    """

    id = "refusal-side-effect"
    severity = Severity.ERROR
    methods = frozenset({"refusal"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "locals",
            _CLASS + "        limits = {}\n        limits['n'] = call.n\n        found = []\n"
            "        found.append(call.k)\n"
            "        for name, limit in limits.items():\n            limit += 1\n"
            "        return None if found else 'serves k'\n",
        ),
        Valid(
            "reading",
            "_LIMITS = {1: 2}\n\n"
            + _CLASS
            + "        known = cls.limits.get(call.n) or _LIMITS.get(call.n)\n"
            + "        return None if known else 'serves the sizes in the table'\n",
        ),
        Valid(
            "methods of that name on something else",
            "import acme\n\n"
            + _CLASS
            + "        return acme.log(call.n) or acme.shape.update(call.n) or call.warning()\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        print(call)  # tileops: ignore[refusal-side-effect] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "assignments",
            "_SEEN = {}\n\n"
            + _CLASS
            + "        [|cls.last|] = call\n        [|call.n|] += 1\n"
            + "        n, [|_SEEN[call.n]|] = 1, True\n        del [|cls.tiles[0]|]\n",
            tuple(
                _message(f"it changes {text}")
                for text in ("cls.last", "call.n", "_SEEN[call.n]", "cls.tiles[0]")
            ),
        ),
        Invalid(
            "containers of the class and of the module",
            "_SEEN = set()\n\n"
            + _CLASS
            + "        [|_SEEN.add(call.n)|]\n        [|cls.reasons.append('n')|]\n",
            (
                _message("it changes _SEEN through _SEEN.add(call.n)"),
                _message("it changes cls.reasons through cls.reasons.append('n')"),
            ),
        ),
        Invalid(
            "output",
            "import logging\n\nlogger = logging.getLogger(__name__)\n\n"
            + _CLASS
            + "        [|print(call)|]\n        [|logger.debug('asked')|]\n"
            + "        [|logging.info('asked')|]\n        return [|open('limits')|].read()\n",
            tuple(
                _message(f"it calls {text}")
                for text in (
                    "print(call)",
                    "logger.debug('asked')",
                    "logging.info('asked')",
                    "open('limits')",
                )
            ),
        ),
        Invalid(
            "a global",
            "_ASKED = 0\n\n" + _CLASS + "        [|global _ASKED|]\n        _ASKED += 1\n",
            _message("it binds the global _ASKED"),
        ),
        Invalid(
            "a warning",
            "import warnings\n\n" + _CLASS + "        [|warnings.warn('slow')|]\n",
            _message("it calls warnings.warn('slow')"),
            severity=Severity.WARNING,
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note what may change or write something, with the name that decides."""
        import libcst as cst

        from tileops.lint._syntax import bindings, code, own, parameter
        from tileops.lint._wording import brief

        given = {parameter(body.function, 0), parameter(body.function, 1)}
        local = set(bindings(body.function)) - given
        for node in own(body.function):
            for target in _targets(node):
                if _root(target) and _root(target) not in local:
                    text = f"it changes {brief(target)}"
                    yield body.note(self.id, target, kind="", name="", text=text)
            if isinstance(node, cst.Global):
                names = ", ".join(code(item.name) for item in node.names)
                text = f"it binds the global {names}"
                yield body.note(self.id, node, kind="", name="", text=text)
            elif isinstance(node, cst.Call):
                kind, name = _called(node, local, given)
                if kind is not None:
                    verb = f"changes {name} through" if name and kind != "logs" else "calls"
                    text = f"it {verb} {brief(node)}"
                    yield body.note(self.id, node, kind=kind, name=name, text=text)

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report the note unless the name turns out to be harmless."""
        name = note.data["name"]
        severity = None
        match note.data["kind"]:
            case "logs":
                if _is_warning(project, owner, name):
                    severity = Severity.WARNING
                elif not _is_logging(project, owner, name):
                    return
            case "mutates":
                if not _is_container(project, owner, name):
                    return
        message = (
            f"{owner.name}.refusal does more than answer: {note.data['text']}; it is asked any "
            "number of times and in any order, also just to explain a selection; only look at the "
            "call and return the reason"
        )
        symbol = f"{owner.name}.refusal"
        yield self.report(owner.module, note.span, message, symbol=symbol, severity=severity)


def _targets(node: "cst.CSTNode") -> Iterator["cst.BaseExpression"]:
    """Yield the attributes and items a statement assigns or deletes."""
    import libcst as cst

    match node:
        case cst.Assign(targets=targets):
            for target in targets:
                yield from _parts(target.target)
        case cst.AugAssign(target=expression) | cst.AnnAssign(target=expression):
            yield from _parts(expression)
        case cst.Del(target=expression):
            yield from _parts(expression)


def _parts(node: "cst.BaseExpression") -> Iterator["cst.BaseExpression"]:
    import libcst as cst

    if isinstance(node, cst.Attribute | cst.Subscript):
        yield node
    elif isinstance(node, cst.Tuple | cst.List):
        for element in node.elements:
            yield from _parts(element.value)


def _root(node: "cst.CSTNode") -> str:
    """Return the name at the start of a chain of attributes and items, "" when it has none."""
    import libcst as cst

    while isinstance(node, cst.Attribute | cst.Subscript):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _called(node: "cst.Call", local: set[str], given: set[str]) -> tuple[str | None, str]:
    """Return how a call may have an effect, None when it has none, and the name that decides.

    Kinds are "" for certain, "logs" when the name may be a logger's method or ``warnings.warn``,
    and "mutates" when the name may be a container of the module.
    """
    import libcst as cst

    from tileops.lint._syntax import code, dotted

    match node.func:
        case cst.Name(value=name):
            return ("", "") if name in _WRITERS and name not in local else (None, "")
        case cst.Attribute(value=receiver, attr=cst.Name(value=method)):
            root = _root(receiver)
            if not root or root in local:
                return None, ""
            if root in given:
                inner = not isinstance(receiver, cst.Name)
                return ("", code(receiver)) if method in _MUTATORS and inner else (None, "")
            name = dotted(receiver)
            if name and method in _MUTATORS:
                return "mutates", name
            if name and method in _LOGGERS:
                return "logs", f"{name}.{method}"
    return None, ""


def _is_warning(project: Project, owner: ClassNode, name: str) -> bool:
    return project.imported(owner.module, _name(name)) == "warnings.warn"


def _is_logging(project: Project, owner: ClassNode, name: str) -> bool:
    if project.imported(owner.module, _name(name)).startswith("logging."):
        return True
    logger = project.evaluate(owner.module, _name(name.rpartition(".")[0]))
    made = logger.value
    if made.kind != "call":
        return False
    return project.imported(logger.module, made.items[0]) == "logging.getLogger"


def _is_container(project: Project, owner: ClassNode, name: str) -> bool:
    """Say whether a name is a constant of some module that can change."""
    value = project.evaluate(owner.module, _name(name)).value
    if value.kind == "call":
        return value.callee.rpartition(".")[2] in _CONTAINERS
    return value.kind in ("dict", "list", "set", "comprehension")


def _name(name: str) -> Value:
    return Value("name", (1, 0, 1, 0), name)
