"""Private selection: the best of a list of candidates, by an integer score, without its score.

Every candidate i has a gap, how far its score is below the best one. Each mechanism adds noise of
one scale, which is `2 sensitivity / epsilon`, or half of that for *monotone* scores: those that one
unit can only raise, or can only lower, all together (counts, when a unit is added or removed).

| class | noise on each score | the same law without noise |
|---|---|---|
| `PermuteAndFlip` | exponential | a coin `exp(-gap/scale)` each; one of the successes |
| `ExponentialMechanism` | Gumbel | proportional to `exp(-gap/scale)` |
| `NoisyMax` | discrete Laplace | |

The first two are drawn in the right column's form, from exact coins: noise that is never drawn
cannot be rounded, and candidates with equal scores have equal chances. (Permute-and-flip is report
noisy max with exponential noise: Ding et al. 2021. The exponential mechanism is report noisy max
with Gumbel noise: Yellott 1977.)

*Why noisy max is private.* Let ties go to the candidate with the larger of independent uniform
priorities. Fix the noise of all candidates but i, and all priorities. Then i wins exactly when its
own noise is at least some t, and t is an integer where scores and noise are integers. A
neighbouring table raises the rival's score by at most the sensitivity and lowers i's by at most as
much: t grows by at most `m = 2 sensitivity`, or by `sensitivity` if all scores move in one
direction. `P(noise >= t + m) >= exp(-m/scale) P(noise >= t)` for the exponential and for both
Laplace laws, which gives `epsilon = m / scale`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import allowed_failure, least_cost, least_that, rounded_up
from dpframe.mechanisms.choices import first_accepted, flips, one_of_each
from dpframe.mechanisms.inputs import (
    check_candidates,
    check_flag,
    gaps_below_best,
    private_integers,
)
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.scales import check_cost, check_count, round_scale_up, sqrt_up
from dpframe.mechanisms.source import Source


@dataclass(frozen=True)
class Selection(ABC):
    """Choose one candidate with a high score; the score itself is not released.

    `sensitivity` is the most that one unit moves any score.
    """

    epsilon: Fraction
    sensitivity: int
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        check_count("sensitivity", self.sensitivity, least=1)
        check_flag("monotone", self.monotone)
        _ = self.scale  # refuses a scale that no noise has

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise, rounded up where `epsilon` does not give an allowed one."""
        return round_scale_up("scale", self._moved / self.epsilon)

    @property
    def loss(self) -> Loss:
        """What one selection costs: a pure epsilon, recomputed from the scale."""
        return Loss.pure(self._moved / self.scale)

    def select(self, scores: Sequence[int] | NDArray[Any], source: Source) -> int:
        """Return the index of the chosen candidate."""
        row = private_integers(scores, "scores")
        if row.ndim != 1:
            raise ParameterError(
                f"scores have {row.ndim} dimensions",
                why="select chooses one of a list",
                fix="mechanism.select_each(scores, source) chooses one of each row",
            )
        return int(self.select_each(row[np.newaxis], source)[0])

    def select_each(self, scores: NDArray[Any], source: Source) -> Integers:
        """Choose a column of each row of scores, independently; return one index per row.

        The loss is that of one selection only if a unit moves the scores of one row only.
        """
        if not isinstance(scores, np.ndarray) or scores.ndim != 2:
            raise ParameterError(
                "scores are not an array of rows and columns",
                why="select_each chooses one of each row",
                fix="mechanism.select([3, 1, 4], source) chooses one of a list",
            )
        rows = private_integers(scores, "scores")
        check_candidates(rows.shape[1])
        return self._choose(gaps_below_best(rows), source)

    @abstractmethod
    def failure(self, error: int, candidates: int) -> float:
        """Bound the chance that the chosen score is more than `error` below the best, rounded up."""

    def error(self, confidence: float, candidates: int, answers: int = 1) -> int:
        """Return how far the chosen score may be below the best, at this confidence.

        It holds for every list of scores of this length, and for all of `answers` selections
        together.
        """
        allowed = allowed_failure(confidence, answers)
        return least_that(lambda error: self.failure(error, candidates) <= allowed)

    @classmethod
    def for_error(
        cls,
        error: int,
        confidence: float,
        candidates: int,
        *,
        sensitivity: int,
        monotone: bool = False,
        answers: int = 1,
    ) -> Self:
        """Return the mechanism that costs least among those with at most this `error`."""
        allowed = allowed_failure(confidence, answers)

        def meets(epsilon: Fraction) -> bool:
            return cls(epsilon, sensitivity, monotone).failure(error, candidates) <= allowed

        return cls(least_cost(meets), sensitivity, monotone)

    @property
    def _moved(self) -> int:
        return self.sensitivity if self.monotone else 2 * self.sensitivity

    @abstractmethod
    def _choose(self, gaps: NDArray[Any], source: Source) -> Integers:
        """Choose a column of each row of gaps; every row holds a gap of 0."""

    def _decay(self, error: int, candidates: int) -> float:
        """Return `exp(-(error + 1) / scale)`, the weight of a candidate that misses the error."""
        check_candidates(candidates)
        over = check_count("error", error, least=0) + 1
        return rounded_up(math.exp(-float(min(over / self.scale, Fraction(2000)))))


class ExponentialMechanism(Selection):
    """Choose a candidate with probability proportional to `exp(score / scale)`.

    McSherry and Talwar 2007. It costs more accuracy than permute-and-flip at the same epsilon, but
    less zCDP: its privacy loss lies in an interval of length epsilon, which need not reach from
    -epsilon to epsilon.

    >>> best = ExponentialMechanism(Fraction(1, 10), sensitivity=1, monotone=True)
    >>> best.scale, best.error(0.95, candidates=100)
    (Fraction(10, 1), 75)
    >>> print(best.loss, "or", best.zcdp_loss)
    epsilon 0.1 or rho 0.00125
    """

    @classmethod
    def for_rho(cls, rho: Fraction, sensitivity: int, monotone: bool = False) -> Self:
        """Return the most accurate mechanism whose `zcdp_loss` is at most `rho`."""
        # sqrt(8 rho) rounded down is 8 rho over its square root rounded up.
        cost = 8 * check_cost("rho", rho)
        return cls(cost / sqrt_up(cost), sensitivity, monotone)

    @property
    def zcdp_loss(self) -> Loss:
        """The same selection as zCDP: `rho = epsilon**2 / 8` (Cesar and Rogers 2021).

        Charge either this or `loss`, not both. *Proof.* Between neighbours the log-probability of
        a candidate changes by its score's change over the scale, plus a constant: an interval of
        length epsilon. Let `K(s) = log E[exp(s L)]` for the privacy loss L under the second law.
        `K(0) = K(1) = 0`, and `K''` is the variance of a variable in an interval of length
        epsilon, at most `epsilon**2 / 4`. So `K(s) - s (s - 1) epsilon**2 / 8` is concave, 0 at 0
        and at 1, hence at most 0 at every order `s > 1`: the Renyi divergence `K(s) / (s - 1)` is
        at most `s epsilon**2 / 8`.
        """
        return Loss.zcdp((self._moved / self.scale) ** 2 / 8)

    def failure(self, error: int, candidates: int) -> float:
        """Bound the chance of missing the best score by more than `error`.

        All others just beyond the error is the worst case, and attained: with
        `y = (candidates - 1) exp(-(error + 1) / scale)` the chance is `y / (1 + y)`.
        """
        y = (candidates - 1) * self._decay(error, candidates)
        return rounded_up(y / (1 + y))

    def _choose(self, gaps: NDArray[Any], source: Source) -> Integers:
        return first_accepted(gaps, self.scale, source)


class PermuteAndFlip(Selection):
    """Flip a coin for each candidate in random order; the first to succeed is chosen.

    McKenna and Sheldon 2020. The coin of a candidate is `exp(-gap / scale)`. At the same epsilon
    its expected error is never above the exponential mechanism's, and down to half of it.

    >>> best = PermuteAndFlip(Fraction(1, 10), sensitivity=1, monotone=True)
    >>> print(best.scale, best.loss, best.error(0.95, candidates=100))
    10 epsilon 0.1 68
    """

    def failure(self, error: int, candidates: int) -> float:
        """Bound the chance of missing the best score by more than `error`.

        All others just beyond the error is the worst case, and attained. With
        `x = exp(-(error + 1) / scale)`, B of n - 1 coins succeed and the best wins with
        probability `E[1 / (1 + B)] = (1 - (1 - x)**n) / (n x)`, which is at least
        `1 - E[B] / 2`.
        """
        x, n = self._decay(error, candidates), candidates
        half = (n - 1) * x / 2
        if half < 2.0**-10 or x >= 1:  # there the exact formula cancels, or the bound is trivial
            return rounded_up(min(half, (n - 1) / n))
        return rounded_up(min(half, 1 + math.expm1(n * math.log1p(-x)) / (n * x) + 2.0**-40))

    def _choose(self, gaps: NDArray[Any], source: Source) -> Integers:
        # In random order, the first success is one of the successes, all with the same chance.
        return one_of_each(flips(gaps, self.scale, source), source)
