"""The rule `duplicate-mapping-key`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._mappings import displays, distinct
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Located, Project

_HEAD = """\
class NormFwdInterface(KernelInterface): ...


class NormKernel(Kernel, NormFwdInterface): ...


class WideKernel(Kernel, NormFwdInterface): ...


WIDE = "wide"


class NormFwdOp(Op):
    interfaces = {"norm": NormFwdInterface}
"""


class DuplicateMappingKey(Rule):
    """A dict that states ``kernel_types`` or ``interfaces`` has every key once.

    Keys are compared by value, so a constant and a string can be the same key.

    Why:
        Python keeps the last of two equal keys and says nothing: the first implementation is
        never registered.

    Limits:
        Computed keys are unknown. A key that a second mapping overrides, by ``**`` or ``|``, is
        meant to.
    """

    id = "duplicate-mapping-key"
    severity = Severity.ERROR
    cross_file = True

    VALID = (
        Valid(
            "different keys",
            _HEAD + '    kernel_types = {"norm": NormKernel, WIDE: WideKernel}\n',
        ),
        Valid(
            "overridden through a spread",
            _HEAD
            + '    kernel_types = {"norm": NormKernel}\n\n\n'
            + "class WideFwdOp(NormFwdOp):\n"
            + '    kernel_types = {**NormFwdOp.kernel_types, "norm": WideKernel}\n',
        ),
        Valid(
            "computed keys",
            _HEAD + "    kernel_types = {key(): NormKernel, key(): WideKernel}\n",
        ),
        Valid(
            "suppressed",
            _HEAD
            + "    kernel_types = {\n"
            + '        "norm": NormKernel,\n'
            + '        "norm": WideKernel,  # tileops: ignore[duplicate-mapping-key] -- shown\n'
            + "    }\n",
        ),
    )
    INVALID = (
        Invalid(
            "two strings",
            _HEAD + '    kernel_types = {"norm": NormKernel, [|"norm"|]: WideKernel}\n',
            'kernel_types of NormFwdOp states key "norm" twice, and Python keeps only the last; '
            "give each implementation a key of its own",
        ),
        Invalid(
            "two interfaces",
            "class TrainFwdInterface(KernelInterface): ...\n\n\n"
            "class InferFwdInterface(KernelInterface): ...\n\n\n"
            "class NormFwdOp(Op):\n"
            "    interfaces = {\n"
            '        "norm": TrainFwdInterface,\n'
            '        [|"norm"|]: InferFwdInterface,\n'
            "    }\n",
            'interfaces of NormFwdOp states key "norm" twice, and Python keeps only the last; '
            "give each interface a key of its own",
        ),
        Invalid(
            "a string and a constant of another module",
            {
                "src/tileops/kernels/keys.py": 'WIDE = "wide"\n',
                "src/tileops/ops/norm.py": (
                    "from tileops.backend import Kernel, KernelInterface\n"
                    "from tileops.kernels.keys import WIDE\n"
                    "from tileops.ops.op import Op\n\n\n"
                    "class NormFwdInterface(KernelInterface): ...\n\n\n"
                    "class NormKernel(Kernel, NormFwdInterface): ...\n\n\n"
                    "class NormFwdOp(Op):\n"
                    '    kernel_types = {"wide": NormKernel, [|WIDE|]: NormKernel}\n'
                    '    interfaces = {"norm": NormFwdInterface}\n'
                ),
            },
            'kernel_types of NormFwdOp states key "wide" twice, and Python keeps only the last; '
            "give each implementation a key of its own",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the keys that repeat an earlier one of the same display."""
        for table in distinct(project):
            for what, mapping in (
                ("implementation", table.kernel_types),
                ("interface", table.interfaces),
            ):
                if mapping is None:
                    continue
                name = "interfaces" if what == "interface" else "kernel_types"
                for display in displays(project, mapping):
                    for key, text in _repeated(project, display):
                        message = (
                            f'{name} of {mapping.owner.name} states key "{text}" twice, and Python '
                            f"keeps only the last; give each {what} a key of its own"
                        )
                        symbol = mapping.owner.name
                        yield self.report(key.module, key.value.span, message, symbol=symbol)


def _repeated(project: Project, display: Located) -> Iterator[tuple[Located, str]]:
    seen: set[str] = set()
    for key, _ in display.value.pairs:
        text = project.evaluate(display.module, key).value.text
        if text is not None and text in seen:
            yield Located(display.module, key), text
        if text is not None:
            seen.add(text)
