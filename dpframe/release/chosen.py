"""The best candidates by a score, without the scores: what a cost buys, and what was chosen."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpframe.budget.budget import Budget
from dpframe.budget.exact import readable
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.mechanisms import ExponentialMechanism, PeeledTopK, PermuteAndFlip, Source, TopK
from dpframe.release.choice import Ballot
from dpframe.release.cost import (
    CONFIDENCE,
    Cost,
    least,
    part_of_budget,
    single_cost,
    takes_gaussian,
)
from dpframe.release.display import plain

Mechanism = PermuteAndFlip | ExponentialMechanism | PeeledTopK | TopK

_NAMES: dict[type[Mechanism], str] = {
    PermuteAndFlip: "permute-and-flip",
    ExponentialMechanism: "exponential mechanism",
    PeeledTopK: "rounds of permute-and-flip",
    TopK: "one-shot Gumbel noise",
}


@dataclass(frozen=True, slots=True)
class ChoiceOffer:
    """A mechanism and the loss it is charged at."""

    mechanism: Mechanism
    loss: Loss
    confidence: float = CONFIDENCE
    """The confidence at which its error is said."""

    @property
    def name(self) -> str:
        """For the ledger."""
        return _NAMES[type(self.mechanism)]

    @property
    def scale(self) -> str:
        """The scale of the noise on scores, in their integer steps, for the ledger."""
        return f"{float(self.mechanism.scale):.6g}"


def choice_offer(
    ballot: Ballot, k: int, cost: Cost, budget: Budget, default_share: Fraction | None
) -> ChoiceOffer:
    """The mechanism that a cost buys: of those worth a share, the one with less error.

    For an error it is the cheapest one that every choice stays within.
    """
    name, amount = single_cost(cost, default_share)
    if name == "epsilon":
        return _pure(ballot, k, amount)
    if name == "rho":
        return _concentrated(ballot, k, amount)
    if name == "error":
        return _accurate(ballot, k, amount, cost.confidence or CONFIDENCE, budget)
    share = Filter.for_budget(budget).share(amount)
    offers = [_pure(ballot, k, share.epsilon)]
    if share.rho > 0:
        offers.append(_concentrated(ballot, k, share.rho))
    return min(offers, key=lambda o: o.mechanism.error(CONFIDENCE, ballot.candidates.height))


def _accurate(
    ballot: Ballot, k: int, error: Fraction, confidence: float, budget: Budget
) -> ChoiceOffer:
    """The least of the budget that keeps the j-th choice within `error` of the j-th best, for all j."""
    steps = math.floor(error / ballot.step)

    def meets(offer: ChoiceOffer) -> bool:
        return offer.mechanism.error(confidence, ballot.candidates.height) <= steps

    offers = [least(lambda epsilon: _pure(ballot, k, epsilon), meets)]
    if takes_gaussian(budget):
        offers.append(least(lambda rho: _concentrated(ballot, k, rho), meets))
    filter_ = Filter.for_budget(budget)
    found = min(offers, key=lambda offer: part_of_budget(offer.loss, filter_))
    return ChoiceOffer(found.mechanism, found.loss, confidence)


def _pure(ballot: Ballot, k: int, epsilon: Fraction) -> ChoiceOffer:
    mechanism: Mechanism = (
        PermuteAndFlip(epsilon, ballot.sensitivity, ballot.monotone)
        if k == 1
        else PeeledTopK(epsilon, ballot.sensitivity, k, ballot.monotone)
    )
    return ChoiceOffer(mechanism, mechanism.loss)


def _concentrated(ballot: Ballot, k: int, rho: Fraction) -> ChoiceOffer:
    mechanism: ExponentialMechanism | TopK = (
        ExponentialMechanism.for_rho(rho, ballot.sensitivity, ballot.monotone)
        if k == 1
        else TopK.for_rho(rho, ballot.sensitivity, k, ballot.monotone)
    )
    return ChoiceOffer(mechanism, mechanism.zcdp_loss)


def restored(ballot: Ballot, k: int, kept: Mapping[str, str]) -> ChoiceOffer | None:
    """The offer that winners on a ledger were chosen by; None if that was not kept."""
    if "mechanism" not in kept or "epsilon" not in kept:
        return None
    makes = {name: kind for kind, name in _NAMES.items()}
    kind, epsilon = makes[kept["mechanism"]], Fraction(kept["epsilon"])
    mechanism: Mechanism = (
        kind(epsilon, ballot.sensitivity, k, ballot.monotone)
        if issubclass(kind, PeeledTopK | TopK)
        else kind(epsilon, ballot.sensitivity, ballot.monotone)
    )
    return ChoiceOffer(mechanism, mechanism.loss)


def error_of(ballot: Ballot, offer: ChoiceOffer, confidence: float) -> float:
    """How far the score of a choice may be below what it should be, at this confidence."""
    steps = offer.mechanism.error(confidence, ballot.candidates.height)
    return float(steps * ballot.step)


def sure(offer: ChoiceOffer) -> str:
    """The confidence at which an error is said."""
    return f"{100 * offer.confidence:g}%"


class Choice:
    """The chosen candidates, best first. Their scores were not released."""

    def __init__(self, ballot: Ballot, offer: ChoiceOffer, chosen: list[int]) -> None:
        self._ballot = ballot
        self._offer = offer
        self.frame = ballot.candidates[chosen]
        """The candidates that were chosen, one row each."""
        self.loss = offer.loss

    @property
    def winner(self) -> Any:
        """The first choice: its value, or a tuple of values for several keys."""
        row = self.frame.row(0)
        return row[0] if len(row) == 1 else row

    def error(self, confidence: float = 0.95) -> float:
        """How far the score of a choice may be below what it should be, at this confidence."""
        return error_of(self._ballot, self._offer, confidence)

    def __len__(self) -> int:
        return self.frame.height

    def _caption(self) -> str:
        return (
            f"of {self._ballot.candidates.height:,} candidates; with {sure(self._offer)} confidence"
            f" within {readable(Fraction(self.error(self._offer.confidence)))} of the best score;"
            f" cost: {self.loss}"
        )

    def __repr__(self) -> str:
        rows = [", ".join(map(plain, map(str, row))) for row in self.frame.iter_rows()]
        return "\n".join([*(f"{i + 1}. {row}" for i, row in enumerate(rows)), self._caption()])

    def _repr_html_(self) -> str:
        rows = (", ".join(map(plain, map(str, row))) for row in self.frame.iter_rows())
        items = "".join(f"<li>{html.escape(row)}</li>" for row in rows)
        return f"<ol>{items}</ol><div style='font-size:11px;opacity:.7'>{html.escape(self._caption())}</div>"


def choose(
    ballot: Ballot, offer: ChoiceOffer, measured: list[list[int]], source: Source
) -> list[int]:
    """Run the mechanism on the exact scores: which candidates were chosen, best first."""
    scores = ballot.scores(measured)
    if isinstance(offer.mechanism, PeeledTopK | TopK):
        return offer.mechanism.select(scores, source)
    return [offer.mechanism.select(scores, source)]
