"""Winners within an error: the least cost at which no choice falls further behind.

`error=100` of a query for keys alone is a promise about the keys: with the stated confidence the
j-th one is at most 100 behind the j-th best, for all of them together. A choice keeps it, or noisy
scores do; the way that takes less of the budget is taken.
"""

from __future__ import annotations

from fractions import Fraction

from dpframe.aggregates.compile import Compiled
from dpframe.budget.budget import Budget
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms import Law
from dpframe.release.chosen import ChoiceOffer
from dpframe.release.cost import CONFIDENCE, Cost, accurate_offer, part_of_budget, single_cost
from dpframe.release.noisy import NoisyParts
from dpframe.release.offer import Offer
from dpframe.release.winners import contest_of, shows_winners_alone


def promise_of(cost: Cost, default_share: Fraction | None) -> tuple[Fraction, float] | None:
    """The error that was asked for and its confidence; None if another cost was said."""
    if cost.error is None:
        return None
    name, error = single_cost(cost, default_share)
    return (error, cost.confidence or CONFIDENCE) if name == "error" else None


def noisy_within(
    compiled: Compiled, error: Fraction, confidence: float, budget: Budget
) -> Offer | None:
    """The cheapest noisy scores whose best groups are within `error`; None if it asks for numbers."""
    if compiled.table.public or not compiled.aggregates or not shows_winners_alone(compiled):
        return None
    contest = contest_of(compiled)
    if contest is None:
        raise ParameterError(
            "error= cannot be promised for these winners",
            why="how far a winner may be behind is known for the first rows of one grouping with"
            " public keys, in the order of counts and sums",
            fix="epsilon=0.1; or ORDER BY COUNT(*) DESC LIMIT 3; or show the number that decides,"
            " whose error is promised",
        )
    try:
        return accurate_offer(
            compiled, lambda offer: contest.error_of_noisy(offer, confidence) <= error, budget
        )
    except OverflowError:
        pass
    raise ParameterError(
        "no cost meets that error",
        why="the factors of the score are beyond what noise is computed for",
        fix="ORDER BY COUNT(*), without factors",
    )


def keeps(known: NoisyParts, error: Fraction, confidence: float) -> bool:
    """Whether the best of noisy scores that were measured before are within an error.

    Where they are averages or sums of measurements, whose tails have no formula, it is not known.
    """
    contest = contest_of(known.compiled)
    if contest is None:
        return True
    laws = [law for law in known.laws if isinstance(law, Law)]
    measured = Offer(known.layout, tuple(laws), Loss.none())
    known_tails = len(laws) == len(known.laws)
    return known_tails and contest.error_of_noisy(measured, confidence) <= error


def is_cheaper(choice: ChoiceOffer, counts: Offer, budget: Budget) -> bool:
    """Whether a choice takes less of a budget than noisy scores."""
    filter_ = Filter.for_budget(budget)
    return part_of_budget(choice.loss, filter_) < part_of_budget(counts.loss, filter_)
