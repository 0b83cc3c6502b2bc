"""The rule `build-identity-omits-fact`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import BodyRule, Repair, Report, Sources
from tileops.lint.facts import FunctionFacts, Note, Span
from tileops.lint.index import ClassNode, Kind, Project

if TYPE_CHECKING:
    from tileops.lint._body import Body

_CLASS = "class AKernel(Kernel):\n    @classmethod\n    def entry_for(cls, call):\n"


class BuildIdentityOmitsFact(BodyRule):
    """The build identity of ``entry_for`` determines every call fact its factory reads.

    A fact is determined when the identity holds the call, the fact, or a local that is bound once
    to the fact or to a display of facts. A value computed from a fact determines only itself.
    ``device`` determines the device facts of ``CallSpec``. Where the factory hands on the whole
    call, the facts the constructor reads of it count.

    Why:
        Two calls with equal identities share one built kernel. If they differ in a fact the factory
        reads, the second runs the kernel built for the first.

    Limits:
        A call that the constructor passes on, an identity made by a helper and a factory that is
        no lambda, local function or call are not followed. A kernel that depends on the current
        device without its factory saying so cannot be seen. A factory that reads only ``device``
        beyond its identity is a warning, since it may do so just to check it.
    """

    id = "build-identity-omits-fact"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)
    methods = frozenset({"entry_for"})
    kinds = frozenset({Kind.KERNEL, Kind.IMPLEMENTATION})

    VALID = (
        Valid(
            "the facts themselves",
            _CLASS + "        identity = (call.n, call.eps)\n"
            "        return identity, lambda: cls(*identity)\n",
        ),
        Valid("the whole call", _CLASS + "        return call, lambda: cls(call.n, call.dtype)\n"),
        Valid(
            "locals, a dict and the device idiom",
            _CLASS + "        index = call.device.index if call.device is not None else None\n"
            "        args = dict(n=call.n, k=call.k)\n"
            "        return (*args.values(), index), lambda: cls(**args, arch=call.arch)\n",
        ),
        Valid(
            "a derived element the factory uses as such",
            _CLASS + "        split = pick(call.k)\n"
            "        return (split, call.n // 2), lambda: cls(split, call.n // 2)\n",
        ),
        Valid("somebody else's entry", _CLASS + "        return other.entry_for(call)\n"),
        Valid(
            "an identity made by a helper",
            _CLASS + "        return cls.identity(call), lambda: cls(call.n)\n",
        ),
        Valid(
            "the constructor reads determined facts",
            _CLASS + "        return (call.n, call.k), lambda: cls(call)\n\n"
            "    def __init__(self, call):\n        self.n = call.n + call.k\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "        # n is 1 here\n"
            "        return (  # tileops: ignore[build-identity-omits-fact] -- n is 1\n"
            "            call.k,\n        ), lambda: cls(call.n)\n",
        ),
    )
    INVALID = (
        Invalid(
            "a fact left out",
            _CLASS
            + "        return [|(call.n, call.eps)|], lambda: cls(call.n, call.eps, call.dtype)\n",
            "the factory reads call.dtype, which this build identity does not determine",
            fixed=_CLASS + "        return (call.n, call.eps, call.dtype), "
            "lambda: cls(call.n, call.eps, call.dtype)\n",
        ),
        Invalid(
            "through a local and a local function",
            _CLASS + "        tile = 64 if call.k > 4 else 32\n\n"
            "        def build():\n            return cls(call.n, tile)\n\n"
            "        return [|(call.n,)|], build\n",
            "the factory reads call.k, which this build identity does not determine",
            fixed=_CLASS + "        tile = 64 if call.k > 4 else 32\n\n"
            "        def build():\n            return cls(call.n, tile)\n\n"
            "        return (call.n, call.k), build\n",
        ),
        Invalid(
            "a bucket of the fact",
            _CLASS + "        bucket = pick(call.m)\n"
            "        return [|bucket|], lambda: cls(bucket, call.m)\n",
            "the factory reads call.m, which this build identity does not determine",
            fixed=_CLASS + "        bucket = pick(call.m)\n"
            "        return (bucket, call.m), lambda: cls(bucket, call.m)\n",
        ),
        Invalid(
            "an identity bound to a local",
            _CLASS + "        identity = call.n, call.k\n"
            "        return [|identity|], lambda: cls(*identity, call.dtype)\n",
            "the factory reads call.dtype, which this build identity does not determine",
        ),
        Invalid(
            "only the device",
            _CLASS
            + "        return [|(call.n, call.k)|], lambda: cls(call.n, index=call.device.index)\n",
            "the factory reads call.device.index, which this build identity does not determine",
            severity=Severity.WARNING,
            fixed=_CLASS + "        return (call.n, call.k, call.device), "
            "lambda: cls(call.n, index=call.device.index)\n",
        ),
        Invalid(
            "read by an inherited constructor in another file",
            {
                "src/tileops/kernels/a/base.py": (
                    "from tileops.backend import Kernel\n\n\n"
                    "class Base(Kernel):\n    def __init__(self, spec):\n"
                    "        self.k, self.n = spec.k, spec.n\n"
                ),
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class AKernel(Base):\n    @classmethod\n    def entry_for(cls, call):\n"
                    "        return [|(call.n,)|], lambda: cls(call)\n"
                ),
            },
            "the constructor reads call.k, which this build identity does not determine",
            fixed={
                "src/tileops/kernels/a/a.py": (
                    "from tileops.kernels.a.base import Base\n\n\n"
                    "class AKernel(Base):\n    @classmethod\n    def entry_for(cls, call):\n"
                    "        return (call.n, call.k), lambda: cls(call)\n"
                ),
            },
        ),
    )

    def visit(self, body: "Body") -> Iterator[Note]:
        """Note the facts each factory reads beyond its identity."""
        from tileops.lint._entry import Reads, entries

        reads = Reads(body.function)
        for entry in entries(body.function):
            identity = reads.identity(entry.identity)
            needed = reads.needs(entry.factory, identity) if identity.known else None
            if needed:
                yield body.note(
                    self.id,
                    entry.identity,
                    call=reads.call,
                    needed=sorted(needed),
                    facts=sorted(identity.facts),
                    handed=reads.handed(entry.factory),
                    extensible=reads.is_extensible(entry.identity),
                )

    def judge(self, project: Project, owner: ClassNode, note: Note) -> Iterator[Report]:
        """Report what neither the device, a property nor the constructor accounts for."""
        known = _Known(project, owner, frozenset(note.data["facts"]))
        needed = {fact: "factory" for fact in note.data["needed"] if fact}
        if "" in note.data["needed"]:
            needed = dict.fromkeys(_constructor_reads(owner, note), "constructor") | needed
        missing = {fact: reader for fact, reader in needed.items() if not known.determines(fact)}
        repair = _repair(owner, note, sorted(missing)) if note.data["extensible"] else None
        only_device = all(known.is_device_fact(fact) for fact in missing)
        for fact, reader in missing.items():
            yield self.report(
                owner.module,
                note.span,
                f"the {reader} reads {note.data['call']}.{fact}, "
                "which this build identity does not determine",
                symbol=f"{owner.name}.entry_for",
                repair=repair,
                severity=Severity.WARNING if only_device else None,
            )


class _Known:
    """What a build identity determines, once the call specs are known."""

    def __init__(self, project: Project, owner: ClassNode, facts: frozenset[str]) -> None:
        root = project.roots["call_spec"]
        self._facts = facts
        self._device_facts = {a.name for a in root.facts.attributes} if root else set()
        self._specs = [project.request(interface) for interface in project.interfaces_of(owner)]
        self._has_device = any(self._first(fact) == "device" for fact in facts)

    def determines(self, fact: str, depth: int = 0) -> bool:
        """Say whether a fact follows from the identity, directly or as a property of the spec."""
        first = self._first(fact)
        if fact in self._facts or first in self._facts:
            return True
        if self.is_device_fact(fact):
            return self._has_device
        properties = [spec.lookup(first).method for spec in self._specs if spec]
        return (
            depth < 4
            and bool(properties)
            and all(method is not None and self._derives(method, depth) for method in properties)
        )

    def is_device_fact(self, fact: str) -> bool:
        """Say whether a fact is the device or one `CallSpec` derives from it."""
        return self._first(fact) in self._device_facts

    def _derives(self, method: FunctionFacts, depth: int) -> bool:
        reads = {read.attribute for read in method.reads}
        return not method.escapes and all(self.determines(name, depth + 1) for name in reads)

    @staticmethod
    def _first(fact: str) -> str:
        return fact.partition(".")[0]


def _constructor_reads(owner: ClassNode, note: Note) -> list[str]:
    """Return the facts the constructor reads of a call handed to it whole.

    Nothing is returned when the call goes further than that.
    """
    found = owner.lookup("__init__")
    handed = note.data["handed"]
    if found.method is None or not handed:
        return []
    facts: dict[str, None] = {}
    for position, keyword in handed:
        positional = [p for p in found.method.params[1:] if p.kind == "positional"]
        taken = [p for i, p in enumerate(positional) if p.name == keyword or i == position]
        if len(taken) != 1 or taken[0].name in found.method.escapes:
            return []
        facts |= {r.attribute: None for r in found.method.reads if r.param == taken[0].name}
    return list(facts)


def _repair(owner: ClassNode, note: Note, missing: list[str]) -> Repair:
    call = note.data["call"]
    facts = dict.fromkeys(fact.partition(".")[0] for fact in missing)
    texts = [f"{call}.{fact}" for fact in facts]
    build = partial(_edits, owner, note.span, texts)
    return Repair(Applicability.UNSAFE, f"add {', '.join(texts)} to the identity", build)


def _edits(owner: ClassNode, span: Span, texts: list[str], sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    added = [cst.Element(cst.parse_expression(text)) for text in texts]

    def change(node: cst.BaseExpression) -> cst.BaseExpression:
        if not isinstance(node, cst.Tuple):
            return cst.Tuple([cst.Element(node), *added])
        *head, last = node.elements
        after = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        spread = isinstance(last.comma, cst.Comma) and not isinstance(
            last.comma.whitespace_after, cst.SimpleWhitespace
        )
        tail = added[-1].with_changes(comma=last.comma) if spread else added[-1]
        return node.with_changes(
            elements=[*head, last.with_changes(comma=after), *added[:-1], tail]
        )

    return rewrite(sources[owner.module.path], span, change)
