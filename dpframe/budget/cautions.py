"""Warnings that come before a charge: where warnings are errors, nothing is spent for no answer."""

from __future__ import annotations

import math
import sys
import warnings

from dpframe.budget.account import room_of
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import PrivacyWarning


def warn_of(loss: Loss, size: int | None, ledger: Ledger, budget: Budget) -> None:
    """Say plainly what a careful owner would want to know before a loss is charged.

    All of it is public: the loss, the number of units where it is declared (`size`), the budget,
    and what remains. What the ledger will refuse is not warned of.
    """
    accounts = ledger.accounts
    refused = math.isfinite(loss.epsilon) and loss.epsilon > room_of(accounts).epsilon
    after = accounts[0].after(loss)
    if refused or not after.holds:
        return  # the charge will say so
    level = _level_of_caller()
    if math.isfinite(loss.epsilon) and loss.epsilon > 1:
        warnings.warn(
            f"this release costs epsilon {float(loss.epsilon):.3g}: above 1, one unit can change"
            " the odds of an answer more than 2.7 times",
            PrivacyWarning,
            stacklevel=level,
        )
    if size is not None and budget.delta is not None and budget.delta * size >= 1:
        warnings.warn(
            f"the budget's delta {float(budget.delta):.3g} is not below 1 / {size:,} units: it"
            " would allow the data of some unit to be released outright",
            PrivacyWarning,
            stacklevel=level,
        )
    room = room_of([after]).epsilon
    if budget.epsilon is not None and room < budget.epsilon / 10:
        warnings.warn(
            f"the budget is nearly gone: epsilon {float(room):.3g} remains",
            PrivacyWarning,
            stacklevel=level,
        )


def _level_of_caller() -> int:
    """How many calls up from `warn_of` the user's own code is, which a warning should name."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "dpframe"
