"""The rule `target-without-builder`."""

from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._rule import Report, Rule
from tileops.lint._targets import unmatched
from tileops.lint.index import Project

_HEAD = "from tileops.backend import register_detector, register_kernel_builder\n\n"
_DETECT = 'register_detector(target="acme", detect=is_acme)\n'
_BUILD = 'register_kernel_builder(op="LayerNormFwdOp", target=%s, build_kernel=print)\n'
_SAID = (
    'target "%s" claims devices and has no builder, so every op on them raises; register_kernel_'
    "builder for each op it serves, or remove the detector"
)


class TargetWithoutBuilder(Rule):
    """A target that claims devices builds kernels for some op.

    Every target given to ``register_detector`` is given to ``register_kernel_builder`` as well.

    Why:
        Once a detector claims a device, ops with kernels of their own do not fall back to them:
        every call on the device raises ``OpNotAvailableError``.

    Limits:
        Silent where any builder's target is computed. Detectors in tests are left alone.
    """

    id = "target-without-builder"
    severity = Severity.WARNING
    cross_file = True

    VALID = (
        Valid("both", _HEAD + _DETECT + _BUILD % '"acme"'),
        Valid("a builder without detector", _HEAD + _BUILD % '"acme"'),
        Valid(
            "computed builders",
            _HEAD + _DETECT + "for name in TARGETS:\n    " + _BUILD % "name",
        ),
        Valid("a test", {"tests/test_acme.py": f"{_HEAD}def test_claim():\n    {_DETECT}"}),
        Valid(
            "suppressed",
            _HEAD + _DETECT.rstrip() + "  # tileops: ignore[target-without-builder] -- planned\n",
        ),
    )
    INVALID = (
        Invalid(
            "no builder at all",
            _HEAD + 'register_detector([|"acme"|], is_acme)\n',
            _SAID % "acme",
        ),
        Invalid(
            "a builder of another target",
            _HEAD + 'register_detector(target=[|"acme"|], detect=is_acme)\n' + _BUILD % '"amce"',
            _SAID % "acme",
        ),
        Invalid(
            "names in constants of another module",
            {
                "tileops_acme/names.py": 'CARD = "acme"\nCLOUD = "acme_cloud"\n',
                "tileops_acme/build.py": (_HEAD + "from .names import CARD\n\n" + _BUILD % "CARD"),
                "tileops_acme/detect.py": (
                    _HEAD + "from . import names\n\n"
                    "register_detector(target=names.CARD, detect=is_acme)\n"
                    "register_detector(target=[|names.CLOUD|], detect=is_cloud)\n"
                ),
            },
            _SAID % "acme_cloud",
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report the targets that claim devices and certainly build nothing."""
        for target in unmatched(project, "register_detector", "register_kernel_builder"):
            message = (
                f'target "{target.name}" claims devices and has no builder, so every op on them '
                "raises; register_kernel_builder for each op it serves, or remove the detector"
            )
            yield self.report(target.stated.module, target.stated.value.span, message)
