"""The rule `call-spec-unknown-field`."""

import difflib
from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import dataclass_decorator, device_facts, fields
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Site, Span
from tileops.lint.index import ClassNode, Kind, Module, Project

_NO_DEVICE = frozenset({"bool", "dict", "float", "int", "list", "set", "tuple"})
_HEAD = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n"
_SPEC = _HEAD + "    m: int = 0\n    trans_b: bool = True\n\n"


class CallSpecUnknownField(Rule):
    """A call spec is constructed with its fields, by keyword.

    ``device`` may be passed by position; what stands behind it by position are the device facts.

    Why:
        A misspelt keyword raises ``TypeError``, and ``GemmCall(64, 128)`` takes 64 for the device
        and 128 for the architecture.

    Limits:
        A spread mapping is not looked into. Specs with a constructor of their own, or a decorator
        or a base that cannot be resolved, are not judged, nor is anything inside
        ``pytest.raises``. The fix picks the most similar field.
    """

    id = "call-spec-unknown-field"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.UNSAFE,)

    VALID = (
        Valid(
            "fields, own and inherited",
            _SPEC + "GemmCall(m=4, trans_b=False, device='cpu', arch=90)\nGemmCall('cpu', m=4)\n"
            "GemmCall(None)\nGemmCall(torch.device('cpu'))\n",
        ),
        Valid(
            "spread",
            _SPEC + "facts = {}\nGemmCall(**facts, m=4)\nGemmCall(*facts)\n",
        ),
        Valid(
            "a constructor, a decorator and a base that may take anything",
            "from acme import Facts, spec\n\n"
            "@dataclass(frozen=True)\nclass OwnCall(CallSpec):\n"
            "    def __init__(self, **facts): ...\n\n"
            "@spec\nclass SpecCall(CallSpec): ...\n\n"
            "@dataclass(frozen=True)\nclass AnyCall(CallSpec, Facts): ...\n\n"
            "OwnCall(k=1)\nSpecCall(k=1)\nAnyCall(k=1)\n",
        ),
        Valid(
            "a test that expects the error",
            "import pytest\n\n" + _SPEC + "def test():\n    with pytest.raises(TypeError):\n"
            "        GemmCall(k=4)\n",
        ),
        Valid(
            "suppressed",
            _SPEC + "GemmCall(k=4)  # tileops: ignore[call-spec-unknown-field] -- shown\n",
        ),
    )
    INVALID = (
        Invalid(
            "a misspelt field",
            _SPEC
            + "def call(flag):\n    return GemmCall(\n        m=4, tran_b=[|flag|],  # b\n    )\n",
            "GemmCall has no field tran_b, so this raises; did you mean trans_b?",
            fixed=_SPEC + "def call(flag):\n"
            "    return GemmCall(\n        m=4, trans_b=flag,  # b\n    )\n",
        ),
        Invalid(
            "nothing like it, and one given twice",
            _SPEC + "GemmCall(window=[|7|])\nGemmCall('cpu', device=[|'cpu'|])\n",
            (
                "GemmCall has no field window, so this raises; remove it or add the field",
                "GemmCall is given device by position as well, so this raises; keep one of them",
            ),
        ),
        Invalid(
            "facts by position",
            _SPEC + "def call(m):\n    GemmCall([|64|], 128)\n    GemmCall(None, [|m|])\n"
            "    GemmCall('cpu', arch=90, m=m)\n    return GemmCall(None, [|1|], 2, 3, 4)\n",
            (
                "by position this is GemmCall.device; pass facts by keyword",
                "by position this is GemmCall.arch; pass facts by keyword",
                "by position this is GemmCall.arch; pass facts by keyword",
            ),
        ),
        Invalid(
            "a spec of another file",
            {
                "src/tileops/kernels/gemm/call_spec.py": (
                    "from dataclasses import dataclass\n\n"
                    "from tileops.backend import CallSpec\n\n\n"
                    "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"
                ),
                "src/tileops/kernels/gemm/__init__.py": (
                    "from .call_spec import GemmCall as GemmCall\n"
                ),
                "tests/test_gemm.py": (
                    "from tileops.kernels import gemm\n\nCALL = gemm.GemmCall(archs=[|90|])\n"
                ),
            },
            "GemmCall has no field archs, so this raises; did you mean arch?",
            fixed={
                "tests/test_gemm.py": (
                    "from tileops.kernels import gemm\n\nCALL = gemm.GemmCall(arch=90)\n"
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report arguments of call specs that are no fields, or land in the wrong one."""
        known: dict[ClassNode, tuple[str, ...] | None] = {}
        facts = device_facts(project)
        for module, site, spec in project.constructed:
            if spec.kind is not Kind.CALL_SPEC or site.raises:
                continue
            if spec not in known:
                known[spec] = _fields(project, spec)
            names = known[spec]
            if names is not None:
                yield from self._keywords(module, site, spec, names)
                yield from self._positional(module, site, spec, names, len(facts))

    def _keywords(
        self, module: Module, site: Site, spec: ClassNode, names: tuple[str, ...]
    ) -> Iterator[Report]:
        spread = any(value.kind == "starred" for value in site.call.arguments)
        taken = () if spread else names[: len(site.call.arguments)]
        for name, value in site.call.keywords:
            repair = None
            if name in taken:
                message = (
                    f"{spec.name} is given {name} by position as well, so this raises; "
                    "keep one of them"
                )
            elif name in names or name == "**":
                continue
            else:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else "remove it or add the field"
                message = f"{spec.name} has no field {name}, so this raises; {hint}"
                if near and near[0] not in site.call.names:
                    build = partial(_edit, module, site.call.span, name, near[0])
                    repair = Repair(Applicability.UNSAFE, f"pass {near[0]}", build)
            yield self.report(module, value.span, message, symbol=_symbol(site), repair=repair)

    def _positional(
        self, module: Module, site: Site, spec: ClassNode, names: tuple[str, ...], facts: int
    ) -> Iterator[Report]:
        for position, value in enumerate(site.call.arguments):
            if value.kind == "starred":
                return
            if position == 0 and value.kind not in _NO_DEVICE:
                continue
            if position < min(facts, len(names)):
                message = f"by position this is {spec.name}.{names[position]}"
            else:
                message = f"{spec.name} has no field at this position"
            message += "; pass facts by keyword"
            yield self.report(module, value.span, message, symbol=_symbol(site))
            return


def _fields(project: Project, spec: ClassNode) -> tuple[str, ...] | None:
    """Return the parameters of a spec's constructor, None when they are not certain."""
    if not spec.complete:
        return None
    for base in spec.mro:
        if base.kind is not Kind.ROOT and not _is_plain(project, base):
            return None
    return tuple(fields(project, spec))


def _is_plain(project: Project, base: ClassNode) -> bool:
    """Say whether the constructor of a class is the one `dataclass` makes, or an inherited one."""
    if base.defines("__init__") is not None or base.defines("__new__") is not None:
        return False
    return not base.facts.decorators or dataclass_decorator(project, base) is not None


def _symbol(site: Site) -> str:
    return ".".join(filter(None, (site.owner, site.function)))


def _edit(module: Module, span: Span, name: str, near: str, sources: Sources) -> Iterator[Edit]:
    import libcst as cst

    from tileops.lint._edits import rewrite

    def change(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call):
            return None
        renamed = [
            arg.with_changes(keyword=cst.Name(near))
            if arg.keyword is not None and arg.keyword.value == name
            else arg
            for arg in node.args
        ]
        return node.with_changes(args=renamed)

    return rewrite(sources[module.path], span, change)
