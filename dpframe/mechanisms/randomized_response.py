"""Randomized response: every row answers for itself, truthfully or at random.

With probability `truth` a row reports its own category, else one drawn uniformly from all of them,
its own included (Warner 1965; for k categories: Kairouz, Bonawitz and Ramage 2016). Reports may
leave the hands of whoever holds the row: this is the *local* model.

`truth` is `T / 2**64` for an integer T. A category is reported with probability
`truth + (1 - truth) / k` if it is the row's own and `(1 - truth) / k` otherwise, so the loss is
`log(1 + k T / (2**64 - T))`: T is the largest integer for which that is certainly at most epsilon.
It is decided by one uniform word, with no rounding left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import allowed_failure, least_cost
from dpframe.mechanisms.choices import uniform_each
from dpframe.mechanisms.cuts import exp_bounds
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.source import Source

_WORD = 1 << 64
_MOST_CATEGORIES = 1 << 32
_BITS = 160
"""Binary digits of `exp(-epsilon)`: more than a word, so that T is the best there is but for luck."""


@dataclass(frozen=True)
class RandomizedResponse:
    """Report each row's category truthfully with a probability fixed by epsilon.

    Neighbours: one row changes its category. How many rows there are is not hidden. A unit with
    several rows pays for each: `loss.for_group(rows)`.

    >>> coin = RandomizedResponse(Fraction(1), categories=2)
    >>> print(round(float(coin.truth), 6), coin.loss)
    0.462117 epsilon 1
    """

    epsilon: Fraction
    categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        if check_count("categories", self.categories, least=2) > _MOST_CATEGORIES:
            raise ParameterError(
                "categories is over 2**32",
                why="nobody can count that many reports",
                fix="categories=1000",
            )
        if not self._threshold:
            raise ParameterError(
                "epsilon is too small for this many categories",
                why="no report would be truthful more often than one word of bits can tell",
                fix="epsilon=Fraction(1, 1000)",
            )

    @cached_property
    def _threshold(self) -> int:
        # With x = exp(-epsilon), k T <= (1/x - 1) (2**64 - T) is T <= 2**64 (1 - x) / (1 + (k-1) x),
        # which decreases in x: an upper bound on x keeps the promise.
        one = 1 << _BITS
        _, x = exp_bounds(self.epsilon.numerator, self.epsilon.denominator, _BITS)
        return min(_WORD - 1, _WORD * (one - x) // (one + (self.categories - 1) * x))

    @property
    def truth(self) -> Fraction:
        """The probability that a row's report is truthful, and not drawn at random."""
        return Fraction(self._threshold, _WORD)

    @property
    def loss(self) -> Loss:
        """What one report costs its row, in the local model."""
        odds = 1 + self.categories * self.truth / (1 - self.truth)
        attained = round_up(lambda digits: Enclosure.of(odds, digits).log())
        return Loss.pure(min(self.epsilon, attained))

    def apply(self, codes: Sequence[int] | NDArray[Any], source: Source) -> Integers:
        """Return one report per row, for categories coded as 0 .. categories - 1.

        A code outside of them is in no category: its report is drawn at random, so it adds the
        same to every count, and no error tells that it was there.
        """
        own = private_integers(codes, "codes")
        if own.ndim != 1:
            raise ParameterError(
                f"codes have {own.ndim} dimensions", why="one row gives one report", fix="codes=[0]"
            )
        reports = uniform_each(np.full(own.size, self.categories, dtype=np.int64), source)
        truthful = source.words(own.size) < np.uint64(self._threshold)
        truthful &= ((own >= 0) & (own < self.categories)).astype(np.bool_)
        reports[truthful] = own[truthful]
        return reports

    def estimate(self, counts: Sequence[int] | NDArray[Any]) -> list[Fraction]:
        """Estimate how many rows each category has, without bias, from the counts of reports.

        `(count - rows (1 - truth) / k) / truth`: the estimates add up to the number of rows.

        >>> coin = RandomizedResponse(Fraction(1), categories=2)
        >>> [round(float(n), 3) for n in coin.estimate([600, 400])]
        [716.395, 283.605]
        """
        reported = private_integers(counts, "counts").ravel().tolist()
        if len(reported) != self.categories:
            raise ParameterError(
                f"{len(reported)} counts for {self.categories} categories",
                why="the estimate needs the count of every category's reports, 0 included",
                fix="estimate(numpy.bincount(reports, minlength=categories))",
            )
        noise = sum(reported) * (1 - self.truth) / self.categories
        return [(count - noise) / self.truth for count in reported]

    def variance(self, rows: int) -> float:
        """Bound the variance of one estimated count, of rows that are all in a category.

        A count of reports is a sum of independent coins: a row's report names the category with
        one probability p if it is the row's own, and with another if not. The larger `p (1 - p)`
        bounds them all.
        """
        return self._report_variance * check_count("rows", rows, least=0) / float(self.truth) ** 2

    def error(self, rows: int, confidence: float) -> float:
        """Bound the error of the estimates of all categories together, at this confidence.

        For rows that are all in a category. For one count of n independent reports and
        `L = log(2 / failure)`, Hoeffding's bound is `sqrt(n L / 2)` and Bernstein's
        `L/3 + sqrt(L**2 / 9 + 2 v L)` with v the count's variance; the lesser one holds. Categories
        share the failure (a union bound), except that two have the same error, since the estimates
        add up to n.
        """
        n = check_count("rows", rows, least=0)
        allowed_failure(confidence)
        counts = self.categories if self.categories > 2 else 1
        length = math.log(2 * counts / (1 - confidence))
        hoeffding = math.sqrt(n * length / 2)
        spread = 2 * self._report_variance * n * length
        bernstein = length / 3 + math.sqrt(length * length / 9 + spread)
        return min(hoeffding, bernstein) / float(self.truth) * (1 + 2.0**-40)

    @classmethod
    def for_error(cls, error: float, rows: int, confidence: float, *, categories: int = 2) -> Self:
        """Return the mechanism that costs least among those with at most this `error`."""

        def meets(epsilon: Fraction) -> bool:
            return cls(epsilon, categories).error(rows, confidence) <= error

        return cls(least_cost(meets), categories)

    @property
    def _report_variance(self) -> float:
        other = (1 - self.truth) / self.categories
        own = self.truth + other
        return float(max(p * (1 - p) for p in (own, other)))
