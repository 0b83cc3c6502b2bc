"""The rule `refusal-signature`."""

import re
from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint._wording import parameters
from tileops.lint.facts import FunctionFacts
from tileops.lint.index import ClassNode, Kind, Project

_NAMES = ("cls", "call")
_CLASS = "class AKernel(Kernel):\n    @classmethod\n"
_TAIL = "where selection passes (cls, call); take exactly these"
_RENAME = (
    "AKernel.refusal names its parameters ({}) where the contract says (cls, call), so a caller "
    "that names them gets a TypeError; rename them"
)
_ENDLESS = (
    "AKernel.refusal is a {}, so that what it returns is never None and every call is refused; "
    "make it a plain method that returns its reason"
)


class RefusalSignature(Rule):
    """``refusal`` is a plain class method that takes ``(cls, call)``.

    It is no coroutine and no generator, and both parameters can be passed by position.

    Why:
        Selection calls ``refusal(call)`` and compares the result with None. A coroutine or a
        generator is never None, so every call is refused; a parameter that is missing or left over
        raises in the middle of selection.

    Limits:
        Only methods under ``@classmethod`` are judged. Names other than ``cls`` and ``call``, and
        parameters that selection never passes, are warnings. The fix renames the two parameters,
        unless the method uses the name already or some file passes the old one by keyword.
    """

    id = "refusal-signature"
    severity = Severity.ERROR
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid(
            "any form of annotation",
            "from typing import Optional\n\n"
            + _CLASS
            + "    def refusal(cls, call: CallSpec) -> Optional[str]: ...\n\n"
            + "class BKernel(AKernel):\n    @classmethod\n"
            + '    def refusal(cls, call) -> "str | None":\n        return None\n',
        ),
        Valid(
            "positional only",
            _CLASS + "    def refusal(cls, call, /): ...\n",
        ),
        Valid("an op's own method", "class AFwdOp(Op):\n    async def refusal(self): ...\n"),
        Valid(
            "no class method, which is another rule's",
            "class AKernel(Kernel):\n    @staticmethod\n    def refusal(call): ...\n",
        ),
        Valid(
            "suppressed",
            _CLASS + "    def refusal(cls): ...  # tileops: ignore[refusal-signature] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "no call",
            _CLASS + "    def [|refusal|](cls): ...\n",
            f"AKernel.refusal takes (cls) {_TAIL}",
        ),
        Invalid(
            "one more, and by keyword only",
            _CLASS + "    def [|refusal|](cls, call, arch): ...\n\n"
            "class BKernel(Kernel):\n    @classmethod\n    def [|refusal|](cls, *, call): ...\n",
            (
                f"AKernel.refusal takes (cls, call, arch) {_TAIL}",
                f"BKernel.refusal takes (cls, *, call) {_TAIL}",
            ),
        ),
        Invalid(
            "a coroutine",
            _CLASS + "    async def [|refusal|](cls, call):\n        return None\n",
            _ENDLESS.format("coroutine"),
        ),
        Invalid(
            "a generator",
            _CLASS + "    def [|refusal|](cls, call):\n        yield 'serves n of 4'\n",
            _ENDLESS.format("generator"),
        ),
        Invalid(
            "a parameter selection never passes",
            _CLASS + "    def [|refusal|](cls, call, strict=False): ...\n",
            f"AKernel.refusal takes (cls, call, strict=...) {_TAIL}",
            severity=Severity.WARNING,
        ),
        Invalid(
            "other names",
            _CLASS + "    def [|refusal|](klass, spec):\n"
            "        return klass.check(spec.n, spec=spec, other=call_of.spec)\n",
            _RENAME.format("klass, spec"),
            severity=Severity.WARNING,
            fixed=_CLASS + "    def refusal(cls, call):\n"
            "        return cls.check(call.n, spec=call, other=call_of.spec)\n",
        ),
        Invalid(
            "another name that a caller uses",
            _CLASS + "    def [|refusal|](cls, spec):\n        return None\n\n"
            "def served(call):\n    return AKernel.refusal(spec=call) is None\n",
            _RENAME.format("cls, spec"),
            severity=Severity.WARNING,
        ),
        Invalid(
            "another name beside a local of the right one",
            _CLASS
            + "    def [|refusal|](cls, spec):\n        call = spec.n\n        return call\n",
            _RENAME.format("cls, spec"),
            severity=Severity.WARNING,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the class methods named ``refusal`` that take or return something else."""
        for node in project.of_kind(Kind.KERNEL, Kind.IMPLEMENTATION):
            method = node.facts.method("refusal")
            if method is None:
                continue
            names = [project.imported(node.module, d) for d in method.decorators]
            if "builtins.classmethod" in names:
                yield from self._judge(node, method)

    def _judge(self, node: ClassNode, method: FunctionFacts) -> Iterator[Report]:
        where = f"{node.name}.refusal"
        severity, repair = None, None
        if method.asynchronous or method.generator:
            kind = "coroutine" if method.asynchronous else "generator"
            message = (
                f"{where} is a {kind}, so that what it returns is never None and every call is "
                "refused; make it a plain method that returns its reason"
            )
        elif not _is_pair(method):
            given = parameters(method.params)
            message = (
                f"{where} takes {given} where selection passes (cls, call); take exactly these"
            )
            severity = Severity.WARNING if _takes_pair(method) else None
        else:
            names = tuple(param.name for param in method.params)
            if names == _NAMES:
                return
            message = (
                f"{where} names its parameters ({', '.join(names)}) where the contract says "
                "(cls, call), so a caller that names them gets a TypeError; rename them"
            )
            severity = Severity.WARNING
            build = partial(_edits, node, method)
            repair = Repair(Applicability.SAFE, "rename them to (cls, call)", build)
        yield self.report(
            node.module,
            method.name_span,
            message,
            symbol=where,
            repair=repair,
            severity=severity,
        )


def _is_pair(method: FunctionFacts) -> bool:
    return [param.kind for param in method.params] == ["positional", "positional"]


def _takes_pair(method: FunctionFacts) -> bool:
    """Say whether two arguments by position are enough."""
    positional = [param for param in method.params if param.kind == "positional"]
    required = [p for p in method.params if p.kind == "keyword" and p.default is None]
    variadic = any(param.kind == "variadic" for param in method.params)
    enough = len(positional) >= 2 or variadic
    return enough and not required and all(p.default is not None for p in positional[2:])


def _edits(node: ClassNode, method: FunctionFacts, sources: Sources) -> Iterator[Edit]:
    from tileops.lint._edits import rename_local

    source = sources[node.module.path]
    first, last = source.starts[method.span[0] - 1], source.starts[method.span[2] - 1]
    body = source.text[first:last] + source.line(method.span[2])
    for param, name in zip(method.params, _NAMES, strict=True):
        if param.name == name:
            continue
        keyword = re.compile(rf"\brefusal\(\s*{param.name}\s*=")
        taken = re.search(rf"(?<!\.)\b{name}\b", body)
        if taken or any(keyword.search(sources[path].text) for path in sources):
            return
    for param, name in zip(method.params, _NAMES, strict=True):
        if param.name != name:
            yield from rename_local(source, node.facts, method, param.name, name)
