"""What a careful owner would want to know before a release; all of it is public."""

from __future__ import annotations

import math
import warnings

from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import PrivacyWarning

_CALLER = 5
"""How far up the call is that a user wrote: `Query.release`, or a method around it."""


def warn(loss: Loss, size: int | None, ledger: Ledger, budget: Budget) -> None:
    """Warn of a large epsilon, of a delta that is too large for `size` units, of an empty budget."""
    refused = math.isfinite(loss.epsilon) and loss.epsilon > ledger.room.epsilon
    if refused or not ledger.filter.admits(ledger.spent, loss):
        return  # the charge will say so
    if math.isfinite(loss.epsilon) and loss.epsilon > 1:
        warnings.warn(
            f"this release costs epsilon {float(loss.epsilon):.3g}: above 1, one unit can change"
            " the odds of an answer more than 2.7 times",
            PrivacyWarning,
            stacklevel=_CALLER,
        )
    if size is not None and budget.delta is not None and budget.delta * size >= 1:
        warnings.warn(
            f"the budget's delta {float(budget.delta):.3g} is not below 1 / {size:,} units: it"
            " would allow the data of some unit to be released outright",
            PrivacyWarning,
            stacklevel=_CALLER,
        )
    room = ledger.filter.room(ledger.filter.after(ledger.spent, loss)).epsilon
    if budget.epsilon is not None and room < budget.epsilon / 10:
        warnings.warn(
            f"the budget is nearly gone: epsilon {float(room):.3g} remains",
            PrivacyWarning,
            stacklevel=_CALLER,
        )
