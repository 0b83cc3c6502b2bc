"""The rule `preferred-over-cycle`."""

from collections.abc import Iterator, Mapping

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Dispatch, Located, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface):
    preferred_over = frozenset({%s})


class WideKernel(Kernel, NormFwdInterface):
    preferred_over = frozenset({%s})


class SplitKernel(Kernel, NormFwdInterface):
    preferred_over = frozenset({%s})


class NormFwdOp(Op):
    kernel_types = {"norm": NormKernel, "wide": WideKernel, "split": SplitKernel}
    interfaces = {"norm": NormFwdInterface}
"""


def _said(name: str, other: str, path: str) -> str:
    return (
        f'{name} is preferred over "{other}", which leads back to it: {path}; constructing '
        "NormFwdOp raises until one preference is removed"
    )


class PreferredOverCycle(Rule):
    """The preferences among the keys of one op and interface form no cycle.

    Preferences are transitive, so a cycle may run through several keys. Each class on it is
    reported once.

    Why:
        Each key on the cycle would outrank itself. Constructing the op raises ``preferences form a
        cycle through``.

    Limits:
        Computed preferences are unknown. A class preferred over its own key is left to
        `preferred-over-unknown-key`, and a general one to `general-with-preference`.
    """

    id = "preferred-over-cycle"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid("a chain", _HEAD % ('"wide"', '"split"', "")),
        Valid("two ways to one key", _HEAD % ('"wide", "split"', '"split"', "")),
        Valid(
            "two ops",
            (_HEAD % ('"wide"', '"norm"', "")).replace('"wide": WideKernel, ', "")
            + "\n\nclass WideFwdOp(Op):\n"
            + '    kernel_types = {"wide": WideKernel, "split": SplitKernel}\n'
            + '    interfaces = {"norm": NormFwdInterface}\n',
        ),
        Valid(
            "suppressed",
            (_HEAD % ('"wide"', '"norm"', "")).replace(
                "})\n", "})  # tileops: ignore[preferred-over-cycle] -- shows the error\n", 2
            ),
        ),
    )
    INVALID = (
        Invalid(
            "two keys",
            _HEAD % ('[|"wide"|]', '[|"norm"|]', ""),
            (
                _said("NormKernel", "wide", "norm > wide > norm"),
                _said("WideKernel", "norm", "wide > norm > wide"),
            ),
        ),
        Invalid(
            "three keys, and one beside the cycle",
            _HEAD % ('[|"wide"|]', '[|"split"|]', '[|"norm"|]'),
            (
                _said("NormKernel", "wide", "norm > wide > split > norm"),
                _said("WideKernel", "split", "wide > split > norm > wide"),
                _said("SplitKernel", "norm", "split > norm > wide > split"),
            ),
        ),
        Invalid(
            "through a backend and an inherited preference",
            {
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.ops.op import Op\n\n\n" + _HEAD % ('[|"acme"|]', "", "")
                ),
                "tileops_acme/__init__.py": (
                    "from tileops.backend import Kernel, register_kernel_type\n"
                    "from tileops.ops.norm import NormFwdInterface\n\n\n"
                    "class Base(Kernel, NormFwdInterface):\n"
                    '    preferred_over = frozenset({"norm"})\n\n\n'
                    "class [|AcmeNorm|](Base): ...\n\n\n"
                    'register_kernel_type("NormFwdOp", "acme", AcmeNorm)\n'
                ),
            },
            (
                _said("NormKernel", "acme", "norm > acme > norm"),
                _said("AcmeNorm", "norm", "acme > norm > acme"),
            ),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report each key that a chain of preferences leads back to."""
        for dispatch in project.dispatches:
            edges = _edges(project, dispatch)
            for key in edges:
                path = _cycle(edges, key)
                if path:
                    yield self._report(dispatch, key, path, edges[key][path[1]])

    def _report(self, dispatch: Dispatch, key: str, path: list[str], stated: Located) -> Report:
        node = dispatch.entries[key].target
        assert node is not None
        message = (
            f'{node.name} is preferred over "{path[1]}", which leads back to it: '
            f"{' > '.join(path)}; constructing {dispatch.op.name} raises until one preference is "
            "removed"
        )
        if node.facts.attribute("preferred_over") is None:
            return self.report(node.module, node.facts.name_span, message, symbol=node.name)
        return self.report(stated.module, stated.value.span, message, symbol=node.name)


def _edges(project: Project, dispatch: Dispatch) -> dict[str, dict[str, Located]]:
    """Return, for each key, the other keys it is preferred over and where that is stated."""
    found: dict[str, dict[str, Located]] = {}
    for key, entry in dispatch.entries.items():
        node = entry.target
        # A general class must not prefer anything, which `general-with-preference` says.
        ranked = node is not None and not project.is_general(node)
        stated = (node and ranked and project.preferred(node)) or ()
        named = {value.value.text: where for where, value in stated}
        known = {n: w for n, w in named.items() if n in dispatch.entries and n != key}
        found[key] = {name: where for name, where in known.items() if name is not None}
    return found


def _cycle(edges: Mapping[str, Mapping[str, Located]], start: str) -> list[str]:
    """Return a shortest way from a key back to it, nothing when there is none."""
    paths, seen = [[start]], {start}
    for path in paths:
        for key in edges[path[-1]]:
            if key == start:
                return [*path, start]
            if key not in seen:
                seen.add(key)
                paths.append([*path, key])
    return []
