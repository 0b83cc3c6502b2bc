"""The slips, one row or more per rule. A rule that is added is covered by adding a row."""

from contract_slips import CONTRACT, SUPPRESSIONS, USES
from entry_slips import ENTRIES, FLOW
from refusal_slips import REFUSAL_FLOW, REFUSALS
from registration_slips import PRECEDENCE, REGISTRATION

__all__ = ["SLIPS"]

SLIPS = (
    *REGISTRATION,
    *PRECEDENCE,
    *ENTRIES,
    *FLOW,
    *REFUSALS,
    *REFUSAL_FLOW,
    *CONTRACT,
    *USES,
    *SUPPRESSIONS,
)
