"""The rule `redundant-preference`."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Span
from tileops.lint.index import ClassNode, Entry, Located, Project

if TYPE_CHECKING:
    import libcst as cst

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface):
    general = True


class WideKernel(Kernel, NormFwdInterface): ...


class ShortKernel(Kernel, NormFwdInterface):
    preferred_over = %s


class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "wide": WideKernel, "short": ShortKernel}
    interfaces = {"norm": NormFwdInterface}
"""
_SAID = (
    'ShortKernel is preferred over "norm", which is general and ranks below every key of '
    "NormFwdOp anyway; leave it out"
)


class RedundantPreference(Rule):
    """``preferred_over`` does not name the general implementation.

    Reported where the key is general in every op the class is registered in.

    Why:
        The general implementation ranks below every other one without a declaration. Naming it
        suggests that something would change otherwise.

    Limits:
        Only preferences that the class itself states. Silent where ``general`` is computed.
    """

    id = "redundant-preference"
    severity = Severity.PEDANTIC
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid("another key", _HEAD % 'frozenset({"wide"})'),
        Valid("none", _HEAD % "frozenset()"),
        Valid(
            "general in one op only",
            _HEAD % 'frozenset({"norm"})'
            + "\n\nclass ShortFwdOp(Op):\n"
            + '    kernel_types = {"norm": WideKernel, "short": ShortKernel}\n'
            + '    interfaces = {"norm": NormFwdInterface}\n',
        ),
        Valid(
            "suppressed",
            _HEAD
            % 'frozenset({"norm"})  # tileops: ignore[redundant-preference] -- norm may change',
        ),
    )
    INVALID = (
        Invalid(
            "the general key alone",
            _HEAD % 'frozenset({[|"norm"|]})',
            _SAID,
            fixed=_HEAD % "frozenset()",
        ),
        Invalid(
            "among others",
            _HEAD % 'frozenset({"wide", [|"norm"|]})',
            _SAID,
            fixed=_HEAD % 'frozenset({"wide"})',
        ),
        Invalid(
            "before others, in a tuple",
            _HEAD % 'frozenset(([|"norm"|], "wide",))',
            _SAID,
            fixed=_HEAD % 'frozenset(("wide",))',
        ),
        Invalid(
            "registered by a backend, key in a constant",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n"
                    'NORM = "norm"\n\n\n' + _HEAD % "frozenset()"
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NORM, NormFwdInterface\n\n\n"
                    "class AcmeNorm(Kernel, NormFwdInterface):\n"
                    "    preferred_over = frozenset({[|NORM|]})\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
                ),
            },
            _SAID.replace("ShortKernel", "AcmeNorm"),
            fixed={
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NORM, NormFwdInterface\n\n\n"
                    "class AcmeNorm(Kernel, NormFwdInterface):\n"
                    "    preferred_over = frozenset()\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
                ),
            },
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the general keys that a class names wherever it is registered."""
        found: dict[tuple[int, str], tuple[ClassNode, str, Located]] = {}
        needed: set[tuple[int, str]] = set()
        for dispatch in project.dispatches:
            general = _general(project, dispatch.entries.items())
            for entry in dispatch.entries.values():
                node = entry.target
                if node is None or node.facts.attribute("preferred_over") is None:
                    continue
                for stated, value in project.preferred(node) or ():
                    named = value.value.text
                    if named in general and entry.target is not general[named]:
                        found.setdefault((id(node), named), (node, dispatch.op.name, stated))
                    elif named is not None:
                        needed.add((id(node), named))
        for key, (node, op, stated) in found.items():
            if key not in needed:
                yield self._report(node, op, key[1], stated)

    def _report(self, node: ClassNode, op: str, named: str, stated: Located) -> Report:
        message = (
            f'{node.name} is preferred over "{named}", which is general and ranks below every key '
            f"of {op} anyway; leave it out"
        )
        attribute = node.facts.attribute("preferred_over")
        repair = None
        if attribute is not None and attribute.value is not None and stated.module is node.module:
            build = partial(_edit, node, attribute.value.span, stated.value.span)
            repair = Repair(Applicability.SAFE, "leave it out", build)
        span = stated.value.span
        return self.report(stated.module, span, message, symbol=node.name, repair=repair)


def _general(project: Project, entries: Iterable[tuple[str, Entry]]) -> dict[str, ClassNode]:
    """Return the keys that are certainly general, with their classes."""
    found = ((key, entry.target) for key, entry in entries)
    return {key: node for key, node in found if node is not None and project.is_general(node)}


def _edit(node: ClassNode, whole: Span, key: Span, sources: Sources) -> Iterator[Edit]:
    """Yield the edit that takes one element out of the display inside ``frozenset(...)``."""
    import libcst as cst

    from tileops.lint._edits import rewrite

    source = sources[node.module.path]
    text = source.slice(key)

    def change(found: cst.BaseExpression) -> cst.BaseExpression | None:
        match found:
            case cst.Call(args=[cst.Arg(value=cst.Set() | cst.Tuple() | cst.List() as display)]):
                kept = [e for e in display.elements if _text(e.value) != text]
                if len(kept) + 1 != len(display.elements):
                    return None
                if not kept:
                    return found.with_changes(args=[])
                kept[-1] = kept[-1].with_changes(comma=display.elements[-1].comma)
                changed = display.with_changes(elements=kept)
                return found.with_changes(args=[found.args[0].with_changes(value=changed)])
        return None

    return rewrite(source, whole, change)


def _text(node: "cst.BaseExpression") -> str:
    from tileops.lint._syntax import code

    return code(node)
