"""The rule `general-with-preference`."""

from collections.abc import Iterator
from functools import partial

from tileops.findings import Applicability, Edit, Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._members import delete_attribute, inherited_value
from tileops.lint._rule import Repair, Report, Rule, Sources
from tileops.lint.facts import Attribute
from tileops.lint.index import ClassNode, Dispatch, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class FastKernel(Kernel, NormFwdInterface): ...


"""
_OP = """

class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "fast": FastKernel}
    interfaces = {"norm": NormFwdInterface}
"""
_MESSAGE = (
    'NormKernel, key "norm" of NormFwdOp, is general and ranks below every other key, so '
    'preferring it over "fast" raises; remove preferred_over'
)


class GeneralWithPreference(Rule):
    """A general implementation is preferred over nothing.

    Both members count, stated or inherited, of the classes registered under a key.

    Why:
        ``general = True`` marks the fallback that ranks below every other key. With a
        preference the declarations contradict each other, and constructing the op raises.

    Limits:
        Computed values are unknown. The fix removes ``preferred_over`` where the class itself
        states it.
    """

    id = "general-with-preference"
    severity = Severity.ERROR
    cross_file = True
    fixes = (Applicability.SAFE,)

    VALID = (
        Valid(
            "general alone",
            _HEAD + "class NormKernel(Kernel, NormFwdInterface):\n    general = True\n" + _OP,
        ),
        Valid(
            "a preference alone",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + '    preferred_over = frozenset({"fast"})\n'
            + _OP,
        ),
        Valid(
            "an empty preference",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n"
            + "    general = True\n    preferred_over = frozenset()\n"
            + _OP,
        ),
        Valid(
            "not registered",
            _HEAD
            + "class Base(Kernel, NormFwdInterface):\n"
            + '    general = True\n    preferred_over = frozenset({"fast"})\n\n\n'
            + "class NormKernel(Base):\n    general = False\n"
            + _OP,
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n    general = True\n"
            + '    preferred_over = frozenset({"fast"})'
            + "  # tileops: ignore[general-with-preference] -- shows the error\n"
            + _OP,
        ),
    )
    INVALID = (
        Invalid(
            "both stated",
            _HEAD
            + "class NormKernel(Kernel, NormFwdInterface):\n    general = True\n"
            + '    [|preferred_over|] = frozenset({"fast"})\n'
            + _OP,
            _MESSAGE,
            fixed=_HEAD + "class NormKernel(Kernel, NormFwdInterface):\n    general = True\n" + _OP,
        ),
        Invalid(
            "general inherited",
            _HEAD
            + "class Base(Kernel, NormFwdInterface):\n    general = True\n\n\n"
            + "class NormKernel(Base):\n"
            + '    [|preferred_over|] = frozenset({"fast"})\n'
            + _OP,
            _MESSAGE,
            fixed=_HEAD
            + "class Base(Kernel, NormFwdInterface):\n    general = True\n\n\n"
            + "class NormKernel(Base):\n    pass\n"
            + _OP,
        ),
        Invalid(
            "the preference inherited from another file",
            {
                "src/tileops/kernels/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n\n\n"
                    "class Base(Kernel, NormFwdInterface):\n"
                    '    preferred_over = frozenset({"fast"})\n\n\n'
                    "class FastKernel(Kernel, NormFwdInterface): ...\n\n\n"
                    "class [|NormKernel|](Base):\n    general = True\n"
                ),
                "src/tileops/ops/norm.py": (
                    "from tileops.kernels.norm import FastKernel, NormFwdInterface, NormKernel\n"
                    "from tileops.ops.op import Op\n" + _OP
                ),
            },
            _MESSAGE.replace("remove", "restate"),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the general keys that are preferred over another."""
        for dispatch in project.dispatches:
            for key, entry in dispatch.entries.items():
                node = entry.target
                if node is None or not project.is_general(node):
                    continue
                stated = project.preferred(node) or ()
                named = [text for _, value in stated if (text := value.value.text) is not None]
                if named:
                    yield self._report(project, dispatch, key, node, named)

    def _report(
        self, project: Project, dispatch: Dispatch, key: str, node: ClassNode, named: list[str]
    ) -> Report:
        attribute = node.facts.attribute("preferred_over")
        others = " and ".join(f'"{name}"' for name in named)
        verb = "restate" if attribute is None else "remove"
        message = (
            f'{node.name}, key "{key}" of {dispatch.op.name}, is general and ranks below every '
            f"other key, so preferring it over {others} raises; {verb} preferred_over"
        )
        if attribute is None:
            return self.report(node.module, node.facts.name_span, message, symbol=node.name)
        repair = None
        above = inherited_value(project, node, "preferred_over")
        if above is not None and above.value.callee == "frozenset" and not above.value.arguments:
            build = partial(_delete, node, attribute)
            repair = Repair(Applicability.SAFE, "remove preferred_over", build)
        return self.report(
            node.module, attribute.name_span, message, symbol=node.name, repair=repair
        )


def _delete(node: ClassNode, attribute: Attribute, sources: Sources) -> Iterator[Edit]:
    return delete_attribute(sources[node.module.path], node.facts, attribute)
