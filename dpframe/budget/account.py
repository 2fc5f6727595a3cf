"""A budget's filter with what was spent of it; a charge may have to be admitted by several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpframe.budget.budget import Budget
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.budget.refusal import refuse
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.errors import BudgetError


@dataclass(frozen=True, slots=True)
class Account:
    """A filter, the sums that it watches, and whose they are ("" for the total).

    >>> account = Account.starting(Budget(rho=1))
    >>> print(account.after(Loss.zcdp("0.25")))
    rho 0.25 of 1
    """

    filter: Filter
    spent: Spent
    owner: str = ""

    @classmethod
    def starting(cls, budget: Budget, owner: str = "") -> Account:
        """Open an account that nothing was charged to."""
        return cls(Filter.for_budget(budget), Spent(), owner)

    def after(self, loss: Loss) -> Account:
        """Give the account once this loss is charged."""
        return Account(self.filter, self.filter.after(self.spent, loss), self.owner)

    @property
    def holds(self) -> bool:
        """Whether what was spent keeps the promise."""
        return self.filter.holds(self.spent)

    def refuse(self, loss: Loss, asked: str, room: Room) -> BudgetError:
        """Make the error for a loss that the account does not admit."""
        whose = f" for {self.owner}" if self.owner else ""
        return refuse(self.filter, self.spent, loss, asked=asked, room=room, whose=whose)

    def terms(self) -> str:
        """Write the budget and the Renyi order of its filter, which hold for life."""
        terms = {"budget": self.filter.budget.to_json()}
        if self.filter.order is not None:
            terms["order"] = str(self.filter.order)
        return json.dumps(terms, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_terms(cls, text: str, spent: Spent, owner: str = "") -> Account:
        """Read what `terms` wrote."""
        return cls(_filter(text), spent, owner)

    def __str__(self) -> str:
        return self.filter.describe(self.spent) + (f" for {self.owner}" if self.owner else "")


@lru_cache(maxsize=64)
def _filter(terms: str) -> Filter:
    fields = json.loads(terms)
    order = Fraction(fields["order"]) if "order" in fields else None
    return Filter.for_budget(Budget.from_json(fields["budget"]), order=order)


def room_of(accounts: Sequence[Account]) -> Room:
    """Give what one more release may cost if every account has to admit it."""
    rooms = [account.filter.room(account.spent) for account in accounts]
    return Room(
        min(room.epsilon for room in rooms),
        min(room.rho for room in rooms),
        min(room.delta for room in rooms),
    )
