"""How a release that the budget does not cover is refused: what, why, and a cost that fits."""

from __future__ import annotations

import math

from dpframe.budget.exact import readable
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.errors import BudgetError


def refuse(
    account: Filter, spent: Spent, loss: Loss, *, asked: str, room: Room, whose: str = ""
) -> BudgetError:
    """Make the error for a loss that `account` does not admit; `room` is what would be admitted.

    >>> from dpframe.budget.budget import Budget
    >>> account = Filter.for_budget(Budget(epsilon=1))
    >>> spent = account.after(Spent(), Loss.pure("0.75"))
    >>> raise refuse(account, spent, Loss.pure("0.5"), asked="income", room=account.room(spent))
    Traceback (most recent call last):
    ...
    dpframe.errors.BudgetError: 'income' costs epsilon 0.5 but epsilon 0.25 remains
      why: releases compose; epsilon 0.75 of 1 is already spent on 1 release
      fix: ask with epsilon <= 0.25
    """
    asked = " ".join(asked.split())
    shown = asked if len(asked) <= 60 else asked[:57] + "..."
    releases = f"{spent.releases} release{'' if spent.releases == 1 else 's'}"
    return BudgetError(
        f"{shown!r} costs {loss} but {room} remains{whose}",
        why=_why(account, loss, room)
        or f"releases compose; {account.describe(spent)} is already spent on {releases}{whose}",
        fix=_fix(loss, room),
    )


def _why(account: Filter, loss: Loss, room: Room) -> str | None:
    """Say what no smaller cost of the same kind would cure."""
    if loss.delta and account.budget.delta is None:
        return f"it has a delta of its own, and the budget ({account.budget}) has none"
    if loss.epsilon == math.inf and not room.rho and account.budget.rho is None:
        if account.budget.delta is None:
            return f"Gaussian noise has no pure epsilon, and the budget ({account.budget}) is pure"
        return "what remains is pure epsilon, which Gaussian noise does not have"
    return None


def _fix(loss: Loss, room: Room) -> str:
    if not room:
        return "ask what was answered before, which is free; a larger budget is a new ledger"
    if loss.delta > room.delta:
        keys = "group by columns with declared keys, which need no delta"
        return (
            f"ask with delta <= {readable(room.delta, up=False)}, or {keys}" if room.delta else keys
        )
    costs = [("epsilon", room.epsilon), ("rho", room.rho)]
    return "ask with " + " or ".join(
        f"{name} <= {readable(cost, up=False)}" for name, cost in costs if cost > 0
    )
