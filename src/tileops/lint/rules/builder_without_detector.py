"""The rule `builder-without-detector`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint._targets import unmatched
from tileops.lint.index import Project

_HEAD = "from tileops.backend import register_detector, register_kernel_builder\n\n"
_DETECT = "register_detector(target=%s, detect=is_acme)\n"
_BUILD = 'register_kernel_builder(op="LayerNormFwdOp", target=%s, build_kernel=print)\n'
_SAID = (
    'target "acme" has a builder and no detector, so only target="acme" and set_default_target '
    "select it; register_detector if its devices are its own"
)


class BuilderWithoutDetector(Rule):
    """A target that builds kernels claims its devices.

    Every target given to ``register_kernel_builder`` is given to ``register_detector`` as well.

    Why:
        Without a detector nobody uses the target by accident, and nobody finds it either: it has
        to be named.

    Limits:
        Naming a target is a legitimate way to select it, which is why the rule is off unless it is
        selected. Silent where a detector's target is computed.
    """

    id = "builder-without-detector"
    severity = Severity.PEDANTIC
    cross_file = True

    VALID = (
        Valid("both", _HEAD + _DETECT % '"acme"' + _BUILD % '"acme"'),
        Valid("a detector alone", _HEAD + _DETECT % '"acme"'),
        Valid("a computed detector", _HEAD + _DETECT % "name()" + _BUILD % '"acme"'),
        Valid(
            "suppressed",
            _HEAD
            + (_BUILD % '"acme"').rstrip()
            + "  # tileops: ignore[builder-without-detector] -- selected by name\n",
        ),
    )
    INVALID = (
        Invalid("no detector", _HEAD + _BUILD % '[|"acme"|]', _SAID),
        Invalid(
            "a detector of another target",
            _HEAD + _DETECT % '"amce"' + _BUILD % "[|'acme'|]",
            _SAID,
        ),
        Invalid(
            "the name in a constant of another module",
            {
                "tileops_acme/names.py": 'ACME = "acme"\n',
                "tileops_acme/__init__.py": (
                    _HEAD + "from .names import ACME\n\n" + _BUILD % "[|ACME|]"
                ),
            },
            _SAID,
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the targets that build kernels and certainly claim no device."""
        for target in unmatched(project, "register_kernel_builder", "register_detector"):
            message = (
                f'target "{target.name}" has a builder and no detector, so only '
                f'target="{target.name}" and set_default_target select it; register_detector if '
                "its devices are its own"
            )
            yield self.report(target.stated.module, target.stated.value.span, message)
