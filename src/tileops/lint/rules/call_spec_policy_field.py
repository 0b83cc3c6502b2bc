"""The rule `call-spec-policy-field`."""

import re
from collections.abc import Iterator

from tileops.findings import Severity
from tileops.lint._case import Invalid, Valid
from tileops.lint._dataclasses import own_fields
from tileops.lint._rule import Report, Rule
from tileops.lint.index import Kind, Project

_TUNING = re.compile(r"tune.*|autotune|config")
_PRIORITY = re.compile(r"priority|prefer.*")
_SPEC = "@dataclass(frozen=True)\nclass GemmCall(CallSpec):\n    m: int = 0\n"


class CallSpecPolicyField(Rule):
    """A call spec holds facts of the call, no tuning policy and no priorities.

    Tuning is asked for with ``request_tune``; which of two implementations wins is stated in
    ``preferred_over``.

    Why:
        A field takes part in selection and in the build identity: with a tuning flag among the
        facts, a tuned call may run another kernel than the one that was tuned.

    Limits:
        The name decides: ``tune...``, ``autotune``, ``config``, ``priority`` and ``prefer...``.
    """

    id = "call-spec-policy-field"
    severity = Severity.WARNING

    VALID = (
        Valid("facts", _SPEC + "    fine_tuned: bool = False\n    configs: int = 0\n"),
        Valid(
            "a variable of the class",
            "from typing import ClassVar\n\n" + _SPEC + "    config: ClassVar[int] = 0\n",
        ),
        Valid("no call spec", "@dataclass\nclass Plan:\n    priority: int = 0\n"),
        Valid(
            "suppressed",
            _SPEC
            + "    config: int = 0  # tileops: ignore[call-spec-policy-field] -- of the model\n",
        ),
    )
    INVALID = (
        Invalid(
            "tuning",
            _SPEC + "    [|tune|]: bool = False\n    [|tuned_for|]: int = 0\n",
            (
                "GemmCall.tune reads as tuning policy, which would take part in selection and in "
                "the build identity; drop it and tune with request_tune",
                "GemmCall.tuned_for reads as tuning policy, which would take part in selection "
                "and in the build identity; drop it and tune with request_tune",
            ),
        ),
        Invalid(
            "a configuration",
            _SPEC + "    [|config|]: tuple[int, ...] = ()\n",
            "GemmCall.config reads as tuning policy, which would take part in selection and in the "
            "build identity; drop it and tune with request_tune",
        ),
        Invalid(
            "priorities",
            _SPEC + "    [|priority|]: int = 0\n    [|preferred_key|]: str = ''\n",
            (
                "GemmCall.priority reads as a priority, which is no fact of a call; drop it and "
                "state preferred_over in the implementation",
                "GemmCall.preferred_key reads as a priority, which is no fact of a call; drop it "
                "and state preferred_over in the implementation",
            ),
        ),
    )

    def check(self, project: Project) -> Iterator[Report]:
        """Report fields that are named like a policy."""
        for spec in project.of_kind(Kind.CALL_SPEC):
            for attribute in own_fields(project, spec):
                if _TUNING.fullmatch(attribute.name):
                    fault = (
                        "reads as tuning policy, which would take part in selection and in the "
                        "build identity; drop it and tune with request_tune"
                    )
                elif _PRIORITY.fullmatch(attribute.name):
                    fault = (
                        "reads as a priority, which is no fact of a call; drop it and state "
                        "preferred_over in the implementation"
                    )
                else:
                    continue
                symbol = f"{spec.name}.{attribute.name}"
                message = f"{symbol} {fault}"
                yield self.report(spec.module, attribute.name_span, message, symbol=symbol)
