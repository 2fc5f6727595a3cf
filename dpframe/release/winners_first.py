"""Winners with their numbers: chosen first, and then measured, where that is nearer.

`SELECT dish, COUNT(DISTINCT person) AS n FROM votes GROUP BY dish ORDER BY n DESC LIMIT 1` can be
answered from noisy counts of all dishes. A person may be in many of them, so all counts together
move by as many, and the noise grows with that. But only one count is shown. Choosing its dish with
half of the cost, and measuring that one alone with the other half, takes less noise where a unit is
in more than two groups.

For counts of rows and for sums it never does. Units are weighed over all groups together, so what
one unit moves is the same for one group and for all of them: with half of the cost, the noise of
one number is twice that of all at once. That is why only what was predicted to be nearer is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dpframe.aggregates.compile import Compiled
from dpframe.budget.budget import Budget
from dpframe.engines.base import Engine
from dpframe.errors import ParameterError
from dpframe.mechanisms import Source
from dpframe.release.chosen import ChoiceOffer, choice_offer, error_of
from dpframe.release.cost import CONFIDENCE, Cost, offer_for, single_cost
from dpframe.release.kept_keys import Find
from dpframe.release.noisy import NoisyParts
from dpframe.release.offer import Offer
from dpframe.release.reuse import reusable
from dpframe.release.winners import Contest, contest_of

CHOICE_SHARE = Fraction(1, 2)
"""The part of the cost that choosing takes; the rest measures."""


@dataclass(frozen=True, slots=True)
class WinnersFirst(Offer):
    """An offer to choose the groups that are shown, and to measure those alone.

    Guarantee: the loss is that of the choice and that of the measurement. Which rows are measured
    follows from the keys that were chosen, which are released, so the two compose.
    """

    contest: Contest = field(kw_only=True)
    choice: ChoiceOffer = field(kw_only=True)

    @property
    def mechanism(self) -> str:
        """All that runs, for the ledger."""
        return f"{self.choice.name}, {self.noise}"

    def choose(self, compiled: Compiled, engine: Engine, source: Source) -> Compiled:
        """The query over the groups that win; see `Offer.choose`."""
        return compiled.among(self.contest.hold(engine, self.choice, source))

    def kept(self, compiled: Compiled, version: str) -> dict[str, bytes]:
        """What to store after winners were released."""
        return self.contest.kept(list(compiled.only), self.choice, version)

    @property
    def note(self) -> str:
        """How the groups were found."""
        return f"{self.contest.note(self.choice)}, then measured"


def winners_first(
    compiled: Compiled, cost: Cost, counts: Offer, budget: Budget, default_share: Fraction | None
) -> WinnersFirst | None:
    """An offer at the same cost as that of noisy numbers of all groups; None if it is not better.

    It is better if no number that is shown has more noise, and the winners are as near.
    """
    if compiled.table.public or compiled.table.unit_column is None:
        return None  # a row is in one group: all groups cost what one costs
    contest = contest_of(compiled, with_scores=True)
    if contest is None or contest.k == len(contest.ballot.among):
        return None
    name, amount = single_cost(cost, default_share)
    if name == "error":
        return None
    some = compiled.among(contest.ballot.among[: contest.k])  # which ones changes no sensitivity
    try:
        first = _cost(name, amount * CHOICE_SHARE)
        choice = choice_offer(contest.ballot, contest.k, first, budget, default_share)
        then = _cost(name, amount * (1 - CHOICE_SHARE))
        numbers = offer_for(some, then, budget, default_share)
        behind = error_of(contest.ballot, choice, CONFIDENCE)
    except (ParameterError, OverflowError):  # costs or factors for which there is no noise
        return None
    noisier = any(
        numbers.deviation(i) > counts.deviation(i) for i in range(len(compiled.aggregates))
    )
    if noisier or behind > contest.error_of_noisy(counts):
        return None
    loss = choice.loss + numbers.loss
    return WinnersFirst(numbers.layout, numbers.laws, loss, contest=contest, choice=choice)


def _cost(name: str, amount: Fraction) -> Cost:
    match name:
        case "epsilon":
            return Cost(epsilon=amount)
        case "rho":
            return Cost(rho=amount)
    return Cost(share=amount)


def known_winners_first(
    compiled: Compiled, find: Find, version: str, limits: Mapping[str, float] | None
) -> NoisyParts | None:
    """Winners that were released before, if their numbers were too."""
    contest = contest_of(compiled, with_scores=True)
    found = None if contest is None else contest.known(find, version)
    return None if found is None else reusable(compiled.among(found[0]), find, version, limits)
