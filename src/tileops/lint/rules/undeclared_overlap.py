"""The rule `undeclared-overlap`."""

from collections.abc import Iterator
from itertools import combinations

from tileops.findings import Severity
from tileops.lint._availability import meet
from tileops.lint._case import Invalid, Valid
from tileops.lint._registrations import origin
from tileops.lint._rule import Report, Rule
from tileops.lint.index import ClassNode, Dispatch, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface):
    supported_archs = [80, 90]


"""
_REFUSES = """\
    @classmethod
    def refusal(cls, call):
        return None if call.n <= 256 else f"serves up to 256 columns, got {call.n}"
"""
_OP = """

class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "short": %s}
    interfaces = {"norm": NormFwdInterface}
"""


class UndeclaredOverlap(Rule):
    """Where an implementation that refuses nothing overlaps another, one of the two yields.

    One declares ``preferred_over`` the other's key, directly or through a chain, or one is
    ``general``.

    Why:
        Where both apply, neither has precedence over the other, and the call raises ``dispatch is
        ambiguous``.

    Limits:
        Reported only for two keys of one op and interface that certainly share a device type and
        an architecture, one of which inherits ``Kernel.refusal``. Two classes that both
        refuse something are not compared, nor are registrations of two distributions, nor a
        class whose ``preferred_over`` names no other key.
    """

    id = "undeclared-overlap"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "a preference",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n"
            + '    preferred_over = frozenset({"norm"})\n\n'
            + _REFUSES
            + _OP % "ShortKernel",
        ),
        Valid(
            "a general implementation",
            _HEAD.replace("supported_archs = [80, 90]", "general = True")
            + "class ShortKernel(Kernel, NormFwdInterface): ...\n"
            + _OP % "ShortKernel",
        ),
        Valid(
            "other architectures",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n    supported_archs = [100]\n"
            + _OP % "ShortKernel",
        ),
        Valid(
            "other devices, and devices that are computed",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n"
            + '    devices = frozenset({"acme"})\n'
            + _OP % "ShortKernel"
            + "\n\nclass AnyKernel(Kernel, NormFwdInterface):\n"
            + "    devices = frozenset({torch.device(run_device()).type})\n\n\n"
            + 'register_kernel_type("NormFwdOp", "any", AnyKernel)\n',
        ),
        Valid(
            "both refuse",
            _HEAD
            + _REFUSES
            + "\n\nclass ShortKernel(Kernel, NormFwdInterface):\n"
            + _REFUSES
            + _OP % "ShortKernel",
        ),
        Valid(
            "a preference that cannot be read",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n    preferred_over = keys()\n"
            + _OP % "ShortKernel",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface): ...\n\n\n"
            + "class NormFwdOp(Op):\n"
            + '    interfaces = {"norm": NormFwdInterface}\n'
            + '    kernel_types = {"norm": NormKernel, "short": ShortKernel}'
            + "  # tileops: ignore[undeclared-overlap] -- shows the error\n",
        ),
    )
    INVALID = (
        Invalid(
            "one refuses nothing",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n"
            + _REFUSES
            + _OP % "[|ShortKernel|]",
            'keys "norm" and "short" of NormFwdOp overlap and neither outranks the other, so the '
            "call is ambiguous: NormKernel refuses nothing; let ShortKernel declare "
            'preferred_over = frozenset({"norm"}), or NormKernel general = True',
        ),
        Invalid(
            "neither refuses anything",
            _HEAD
            + "class ShortKernel(Kernel, NormFwdInterface):\n    supported_archs = [90, 100]\n"
            + _OP % "[|ShortKernel|]",
            'keys "norm" and "short" of NormFwdOp overlap and neither outranks the other, so the '
            "call is ambiguous: NormKernel and ShortKernel refuse nothing; let one of them "
            "declare preferred_over the other's key, or general = True",
        ),
        Invalid(
            "added by a backend",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n\n\n"
                    "class NormKernel(Kernel, NormFwdInterface):\n" + _REFUSES + "\n\n"
                    "class NormFwdOp(Op):\n"
                    '    kernel_types = {"norm": NormKernel}\n'
                    '    interfaces = {"norm": NormFwdInterface}\n'
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NormFwdInterface\n\n\n"
                    "class AcmeNorm(Kernel, NormFwdInterface): ...\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", [|AcmeNorm|])\n'
                ),
            },
            'keys "norm" and "acme" of NormFwdOp overlap and neither outranks the other, so the '
            "call is ambiguous: AcmeNorm refuses nothing; let NormKernel declare preferred_over = "
            'frozenset({"acme"}), or AcmeNorm general = True',
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the second key of every pair that certainly overlaps and is not ranked."""
        for dispatch in project.dispatches:
            rivals = _rivals(project, dispatch)
            if not any(serves_all for _, _, serves_all in rivals):
                continue
            ranks = _ranks(project, dispatch)
            for (key, one, all_of_one), (other, two, all_of_two) in combinations(rivals, 2):
                if ranks is None or other in ranks[key] or key in ranks[other]:
                    continue
                if (all_of_one or all_of_two) and _together(project, dispatch, key, other):
                    everything = [
                        n for n, is_all in ((one, all_of_one), (two, all_of_two)) if is_all
                    ]
                    yield self._report(dispatch, (key, one), (other, two), everything)

    def _report(
        self,
        dispatch: Dispatch,
        one: tuple[str, ClassNode],
        two: tuple[str, ClassNode],
        everything: list[ClassNode],
    ) -> Report:
        if len(everything) == 1:
            refuses = f"{everything[0].name} refuses nothing"
            (key, _), (_, winner) = (one, two) if everything[0] is one[1] else (two, one)
            remedy = (
                f'let {winner.name} declare preferred_over = frozenset({{"{key}"}}), or '
                f"{everything[0].name} general = True"
            )
        else:
            refuses = f"{one[1].name} and {two[1].name} refuse nothing"
            remedy = "let one of them declare preferred_over the other's key, or general = True"
        message = (
            f'keys "{one[0]}" and "{two[0]}" of {dispatch.op.name} overlap and neither outranks '
            f"the other, so the call is ambiguous: {refuses}; {remedy}"
        )
        stated = dispatch.entries[two[0]].stated
        return self.report(stated.module, stated.value.span, message, symbol=dispatch.op.name)


def _rivals(project: Project, dispatch: Dispatch) -> list[tuple[str, ClassNode, bool]]:
    """Return the keys that are certainly not general, and whether each serves every call."""
    found: list[tuple[str, ClassNode, bool]] = []
    for key, entry in dispatch.entries.items():
        node = entry.target
        if node is None or project.is_general(node) is not False:
            continue
        refusal = node.lookup("refusal")
        found.append((key, node, refusal.known and refusal.owner is project.roots["kernel"]))
    return found


def _ranks(project: Project, dispatch: Dispatch) -> dict[str, set[str]] | None:
    """Return which keys each key outranks by its preferences, None when one cannot be read."""
    if not dispatch.complete:
        return None
    direct: dict[str, list[str]] = {}
    for key, entry in dispatch.entries.items():
        stated = None if entry.target is None else project.preferred(entry.target)
        named = [value.value.text for _, value in stated or ()]
        if stated is None or None in named:
            return None
        # A preference that names no rival is a mistake of its own; what was meant is unknown.
        wrong = any(name == key or name not in dispatch.entries for name in named)
        direct[key] = [*dispatch.entries] if wrong else [name for name in named if name]
    ranks: dict[str, set[str]] = {}
    for key in direct:
        reached, frontier = {key}, [key]
        for at in frontier:
            new = [named for named in direct.get(at, ()) if named not in reached]
            reached.update(new)
            frontier.extend(new)
        ranks[key] = reached
    return ranks


def _together(project: Project, dispatch: Dispatch, key: str, other: str) -> bool:
    """Say whether two keys can be candidates for one call."""
    one, two = dispatch.entries[key], dispatch.entries[other]
    if one.site and two.site:
        origins = {origin(project, entry.stated.module) for entry in (one, two)}
        if len(origins) > 1:
            return False
    return bool(one.target and two.target and meet(project, one.target, two.target))
