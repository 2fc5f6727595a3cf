"""Private top-k: the k best candidates, in order, without their scores.

Both mechanisms here choose in k rounds, each on the candidates that are left, and are charged the
loss of their rounds. `PeeledTopK` has rounds of permute-and-flip, which have the least error for a
pure epsilon. `TopK` has rounds of the exponential mechanism, which have the least for a rho.

The k largest of the scores with Gumbel noise are, in order, distributed as the rounds of `TopK`
(Durfee and Rogers 2019): those rounds are one-shot Gumbel noise.

One-shot *Laplace* noise (Qiao, Su and Zhang 2021) is not offered: its scale grows with `sqrt(k)`
too, but it needs a delta for that, where the rounds above have it in zCDP without one.
"""

from __future__ import annotations

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
from dpframe.mechanisms.accuracy import allowed_failure, least_cost, least_that
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, Selection
from dpframe.mechanisms.source import Source


@dataclass(frozen=True)
class Rounds(ABC):
    """Choose k candidates with high scores, best first, in k rounds.

    `epsilon` is for all k together. `sensitivity` is the most that one unit moves any score.
    """

    epsilon: Fraction
    sensitivity: int
    k: int
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        check_count("k", self.k, least=1)
        _ = self.round  # checks the rest

    @property
    @abstractmethod
    def round(self) -> Selection:
        """The mechanism of one round."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in each round."""
        return self.round.scale

    @property
    def loss(self) -> Loss:
        """What all k cost as pure epsilon."""
        return self.k * self.round.loss

    def select(self, scores: Sequence[int] | NDArray[Any], source: Source) -> list[int]:
        """Return the indices of the chosen candidates, best first."""
        row = private_integers(scores, "scores")
        if row.ndim != 1:
            raise ParameterError(
                f"scores have {row.ndim} dimensions",
                why="select chooses from one list",
                fix="mechanism.select_each(scores, source) chooses from each row",
            )
        chosen: list[int] = self.select_each(row[np.newaxis], source)[0].tolist()
        return chosen

    def select_each(self, scores: NDArray[Any], source: Source) -> Integers:
        """Choose k columns of each row of scores, best first; return k indices per row.

        The loss is that of one selection only if a unit moves the scores of one row only.
        """
        if not isinstance(scores, np.ndarray) or scores.ndim != 2 or scores.shape[1] < self.k:
            raise ParameterError(
                f"k is {self.k}, and the scores are not rows of at least {self.k} candidates",
                why="every candidate is chosen at most once",
                fix=f"{type(self).__name__}(epsilon, sensitivity, k=1)",
            )
        left = private_integers(scores, "scores").copy()
        rows, columns = left.shape
        names = np.tile(np.arange(columns), (rows, 1))
        chosen = np.empty((rows, self.k), dtype=np.int64)
        every = np.arange(rows)
        for place in range(self.k):
            picks = self.round.select_each(left, source)
            chosen[:, place] = names[every, picks]
            # The last candidate takes the place of the chosen one: their order does not matter.
            for array in (left, names):
                array[every, picks] = array[:, -1]
            left, names = left[:, :-1], names[:, :-1]
        return chosen

    def error(self, confidence: float, candidates: int) -> int:
        """Bound how far the j-th chosen score may be below the j-th best, for all j together.

        In round j the best of those left is at least the j-th best of all. Rounds are independent
        given what came before, so each may fail with the k-th root's share.
        """
        check_count("candidates", candidates, least=self.k)
        allowed = allowed_failure(confidence, self.k)
        return least_that(lambda error: self.round.failure(error, candidates) <= allowed)

    @classmethod
    def for_error(
        cls,
        error: int,
        confidence: float,
        candidates: int,
        *,
        sensitivity: int,
        k: int,
        monotone: bool = False,
    ) -> Self:
        """Return the mechanism that costs least among those with at most this `error`."""
        check_count("candidates", candidates, least=check_count("k", k, least=1))
        allowed = allowed_failure(confidence, k)

        def meets(epsilon: Fraction) -> bool:
            mechanism = cls(epsilon, sensitivity, k, monotone)
            return mechanism.round.failure(error, candidates) <= allowed

        return cls(least_cost(meets), sensitivity, k, monotone)


class TopK(Rounds):
    """Choose k candidates with high scores, best first, by one-shot Gumbel noise.

    >>> top = TopK(Fraction(1), sensitivity=1, k=10, monotone=True)
    >>> top.scale, top.error(0.95, candidates=100)
    (Fraction(10, 1), 98)
    >>> print(top.loss, "or", top.zcdp_loss)
    epsilon 1 or rho 0.0125
    """

    @classmethod
    def for_rho(cls, rho: Fraction, sensitivity: int, k: int, monotone: bool = False) -> Self:
        """Return the most accurate mechanism whose `zcdp_loss` is at most `rho`."""
        rounds = check_count("k", k, least=1)
        each = ExponentialMechanism.for_rho(check_cost("rho", rho) / rounds, sensitivity, monotone)
        return cls(rounds * each.epsilon, sensitivity, k, monotone)

    @cached_property
    def round(self) -> ExponentialMechanism:
        """The mechanism of one round."""
        return ExponentialMechanism(self.epsilon / self.k, self.sensitivity, self.monotone)

    @property
    def zcdp_loss(self) -> Loss:
        """What all k cost as zCDP, `epsilon**2 / (8 k)`; charge either this or `loss`."""
        return self.k * self.round.zcdp_loss


class PeeledTopK(Rounds):
    """Choose k candidates with high scores, best first, by k rounds of permute-and-flip.

    Each round's error is at most that of the exponential mechanism with the same epsilon (McKenna
    and Sheldon 2020), so this is at most that of `TopK` with the same epsilon.

    >>> top = PeeledTopK(Fraction(1), sensitivity=1, k=10, monotone=True)
    >>> print(top.scale, top.loss, top.error(0.95, candidates=100))
    10 epsilon 1 91
    """

    @cached_property
    def round(self) -> PermuteAndFlip:
        """The mechanism of one round."""
        return PermuteAndFlip(self.epsilon / self.k, self.sensitivity, self.monotone)
