"""What an analyst says a query may cost, and the offer that it buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpframe.aggregates.base import Aggregate as Aggregated
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import layout_for
from dpframe.budget.budget import Budget
from dpframe.budget.exact import Number, positive
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.errors import BudgetError, ParameterError
from dpframe.mechanisms import Law, ModeSelection
from dpframe.plan.nodes import aggregate_of
from dpframe.plan.parts import FrequentCell
from dpframe.release.offer import (
    Offer,
    best_offer,
    exact_offer,
    gaussian_offer,
    laplace_offer,
)
from dpframe.release.selection import delta_for

CONFIDENCE = 0.95
"""The confidence of an error where none was said."""

_O = TypeVar("_O")

_FINENESS = Fraction(1, 1000)
"""Accuracy first finds the least cost up to this fraction of it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One of: a pure epsilon, a zCDP rho, a share of the budget, or an error to be met."""

    epsilon: Number | None = None
    rho: Number | None = None
    share: Number | None = None
    error: Number | None = None
    confidence: float | None = None
    delta: Number | None = None
    """For choosing keys that are not public; it is no cost by itself."""
    error_bars: bool = True
    """Whether error bars may take a part of the cost, where they do not come for free."""
    takes_error: bool = True
    """Whether what was asked has an argument error=, for what is said where no cost was."""

    def __post_init__(self) -> None:
        """Refuse what is neither yes nor no."""
        check_flag("error_bars", self.error_bars, "a part of the cost may go to error bars")

    @property
    def is_said(self) -> bool:
        """Whether any cost was given."""
        given = (self.epsilon, self.rho, self.share, self.error, self.confidence)
        return any(value is not None for value in given)


def check_flag(name: str, given: object, says: str) -> None:
    """Refuse what is neither yes nor no: a text such as "False" would count as yes."""
    if not isinstance(given, bool):
        raise ParameterError(
            f"{name}={given!r} is neither True nor False",
            why=f"it says whether {says}",
            fix=f"{name}=True, or {name}=False",
        )


def offer_for(
    compiled: Compiled, cost: Cost, budget: Budget, default_share: Fraction | None
) -> Offer:
    """The least noisy way to answer a query at its cost, or the cheapest way to meet an error."""
    if compiled.table.public:
        return exact_offer(compiled)
    name, amount = single_cost(cost, default_share)
    delta = None
    if compiled.awaits_keys:
        delta = delta_for(cost.delta, amount if name == "share" else None, budget)
    match name:
        case "epsilon":
            return laplace_offer(compiled, amount, delta)
        case "rho":
            if not takes_gaussian(budget):
                raise BudgetError(
                    "rho= cannot be charged to a pure epsilon budget",
                    why="Gaussian noise has no finite epsilon without a delta",
                    fix="ask with epsilon=, or open dp.Session(dp.Budget(epsilon=1, delta=1e-6))",
                )
            return gaussian_offer(compiled, amount, delta)
        case "share":
            if amount > 1:
                raise ParameterError(
                    f"share={cost.share} is more than the whole budget",
                    why="a share is a fraction of the budget",
                    fix="share=0.1",
                )
            return best_offer(compiled, Filter.for_budget(budget).share(amount), delta)
        case _:
            return _accurate_offer(compiled, amount, cost.confidence or CONFIDENCE, budget, delta)


def single_cost(cost: Cost, default_share: Fraction | None) -> tuple[str, Fraction]:
    """The one cost that was said, as an exact number, or the default."""
    names = ("epsilon", "rho", "share", "error")
    said = {n: getattr(cost, n) for n in names if getattr(cost, n) is not None}
    if not said and default_share is not None:
        return "share", default_share
    if len(said) != 1:
        raise ParameterError(
            "no cost was said" if not said else f"several costs were said: {', '.join(said)}",
            why="every answer about private rows costs a part of the budget",
            fix="epsilon=0.1, or rho=0.01, or share=0.05 of the budget"
            + (", or error=100" if cost.takes_error else ""),
        )
    ((name, value),) = said.items()
    if cost.confidence is not None:
        _check_confidence(name, cost.confidence)
    return name, positive(value, name)


def _check_confidence(name: str, confidence: float) -> None:
    valid = isinstance(confidence, float) and 0 < confidence < 1
    if name != "error" or not valid:
        raise ParameterError(
            f"confidence={confidence!r} goes with error=, and lies between 0 and 1",
            why="it says how surely the error is met",
            fix="error=100, confidence=0.95",
        )


def takes_gaussian(budget: Budget) -> bool:
    """Whether a zCDP loss can be charged to a budget."""
    return budget.rho is not None or budget.delta is not None


# --- accuracy first ------------------------------------------------------------------------------


def predicted_width(offer: Offer, aggregate: int, confidence: float, groups: int = 1) -> float:
    """A half-width that one answer's noise stays within, with at least this confidence.

    Parts have independent noise; a union bound over the parts of the recipe covers their sum. Of
    values that are chosen it is how many rows they may fall behind, in all `groups` together.
    """
    recipe = offer.layout.recipes[aggregate]
    index = {part: i for i, part in enumerate(offer.layout.parts)}
    each = 1 - (1 - confidence) / len(recipe.parts)
    total = 0.0
    for role, part in recipe.parts.items():
        law, step = offer.laws[index[part]], offer.layout.step(index[part])
        if isinstance(law, Law):
            total += recipe.weights[role] * law.half_width(each) * step
        elif isinstance(law, ModeSelection) and isinstance(part, FrequentCell):
            total += recipe.weights[role] * law.error(each, part.size, groups) * step
    return total


def predicted_lead(offer: Offer, aggregate: int, failure: float) -> float:
    """How far the noise of one answer may be above that of another, but for a chance of `failure`."""
    recipe = offer.layout.recipes[aggregate]
    index = {part: i for i, part in enumerate(offer.layout.parts)}
    total = 0.0
    for role, part in recipe.parts.items():
        law = offer.laws[index[part]]
        if isinstance(law, Law):
            lead = law.lead(failure / len(recipe.parts))
            total += recipe.weights[role] * lead * offer.layout.step(index[part])
    return total


def _accurate_offer(
    compiled: Compiled,
    error: Fraction,
    confidence: float,
    budget: Budget,
    delta: Fraction | None,
) -> Offer:
    written = dict(aggregate_of(compiled.plan).aggregates)
    for name, found in compiled.aggregates:
        if not found.is_linear and (not is_chosen(found) or compiled.awaits_keys):
            place = written[name].origin
            raise ParameterError(
                f"error= cannot be promised for {place.text() if place else written[name].name}",
                why="its error depends on how many rows there are and on their values, which are"
                " private; that of COUNT and SUM does not"
                if not is_chosen(found)
                else "it holds for all groups together, and how many there are is private",
                fix="epsilon=0.1, and look at release.errors",
            )

    if not compiled.aggregates:
        raise ParameterError(
            "error= says nothing about keys alone",
            why="keys have no error; how large a group has to be to appear follows from the cost",
            fix="epsilon=0.1, or share=0.05",
        )

    def meets(offer: Offer) -> bool:
        aggregates = range(len(compiled.aggregates))
        each = max(compiled.groups, 1)
        return all(predicted_width(offer, i, confidence, each) <= error for i in aggregates)

    return accurate_offer(compiled, meets, budget, delta)


def accurate_offer(
    compiled: Compiled,
    meets: Callable[[Offer], bool],
    budget: Budget,
    delta: Fraction | None = None,
) -> Offer:
    """The noise that takes the least of a budget, of all that meets a condition."""
    pure = layout_for(compiled, norm=1)
    offers = [least(lambda e: laplace_offer(compiled, e, delta, pure), meets)]
    if takes_gaussian(budget):
        squared = layout_for(compiled, norm=2)
        offers.append(least(lambda r: gaussian_offer(compiled, r, delta, squared), meets))
    filter_ = Filter.for_budget(budget)
    return min(offers, key=lambda offer: part_of_budget(offer.loss, filter_))


def is_chosen(found: Aggregated) -> bool:
    """Whether an aggregate is a value that is chosen by how often it occurs."""
    return all(isinstance(p, FrequentCell) for p in found.recipes()[0].parts.values())


def part_of_budget(loss: Loss, filter_: Filter) -> float:
    """How much of the budget a loss uses up, as its filter counts it."""
    if filter_.order is not None:
        return float(loss.renyi(filter_.order))
    return float(loss.epsilon) if filter_.budget.rho is None else float(loss.rho)


def least(make: Callable[[Fraction], _O], meets: Callable[[_O], bool]) -> _O:
    """The cheapest offer that meets the error, to within a thousandth: noise falls with cost."""
    high = Fraction(1)
    while not meets(make(high)):
        high *= 2
        if high > 2**20:
            raise ParameterError(
                "no cost meets that error",
                why="answers are kept on a grid, and the error asked for is finer than its steps",
                fix="ask for a larger error=",
            )
    low = high / 2
    while low > Fraction(1, 2**30) and meets(make(low)):
        low, high = low / 2, low
    while high - low > high * _FINENESS:
        middle = Fraction((low + high) / 2).limit_denominator(10**12)
        low, high = (low, middle) if meets(make(middle)) else (middle, high)
    return make(_rounded_up(high))


def _rounded_up(cost: Fraction) -> Fraction:
    """Four significant digits are enough, and read better in a ledger."""
    digits = 4 - math.floor(math.log10(cost)) - 1
    scale = Fraction(10) ** digits
    return Fraction(math.ceil(cost * scale)) / scale
