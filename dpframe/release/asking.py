"""Who asks, and what the question itself says about its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Charge, Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import EngineError, LedgerError, ParameterError, QueryError
from dpframe.mechanisms import Source
from dpframe.release.cost import Cost


@dataclass(frozen=True, slots=True)
class Asking:
    """On whose account a question is asked."""

    ledger: Ledger
    budget: Budget
    """What `share=` is a share of: the analyst's own budget, or the session's."""
    source: Source
    queries: int | None

    @property
    def default_share(self) -> Fraction | None:
        """The share that a query costs when nothing is said."""
        return None if self.queries is None else Fraction(1, self.queries)

    def left_after(self, loss: Loss) -> str:
        """What would remain after a loss, or that there is not enough for it."""
        ledger = self.ledger
        if not ledger.filter.admits(ledger.spent, loss):
            return f"it would be refused: only {ledger.room} remains"
        return str(ledger.filter.room(ledger.filter.after(ledger.spent, loss)))


@dataclass(frozen=True, slots=True)
class Said:
    """What the text of a question itself says about its cost."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None

    def cost(self, given: Cost) -> Cost:
        """The cost that was said, in the text or beside it; not in both places."""
        if self.epsilon is None:
            return given
        if given.is_said:
            raise ParameterError(
                "the cost is said twice",
                why=f"the statement itself has OPTIONS(epsilon = {float(self.epsilon):g})",
                fix="leave it out of the call, or out of the statement",
            )
        return replace(given, epsilon=self.epsilon)

    def check(self, loss: Loss) -> None:
        """Refuse what would cost more delta than the text allows."""
        if self.delta is not None and loss.delta > self.delta:
            raise QueryError(
                f"the answer costs delta {float(loss.delta):.3g}",
                why=f"the statement itself has OPTIONS(delta = {float(self.delta):g})",
                fix="declare the keys with dp.Keys([...]), or allow more delta",
            )


def keep(
    charge: Charge,
    version: Callable[[], str | None],
    was: str | None,
    found: Callable[[str], Mapping[str, bytes]],
) -> None:
    """Store what was found beside its charge, if the data is still of the version that it had.

    Where that fails, because a file is gone by now or the disk is full, the answer is given all the
    same: it is paid for. Asked again, it is measured again.
    """
    with suppress(EngineError, LedgerError):
        if was is not None and version() == was:
            charge.store(found(was))
