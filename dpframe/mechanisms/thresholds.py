"""Partition selection by noisy totals: show a key whose total with noise reaches a threshold.

The proof that a delta is enough is in `partitions`. Here is how large it is: the chance that one of
the keys that only one unit holds is shown, at most the sum of their chances. It comes from the
discrete law's own tail, rounded up, for the worst way in which a unit can spread what it may add.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.loss import Loss
from dpframe.mechanisms.accuracy import allowed_failure, least_cost, least_that
from dpframe.mechanisms.inputs import add_exactly, private_integers
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.partitions import PartitionRule, check_delta
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.source import Source

_FAR = Fraction(1200)
"""Scales beyond which tails, below 1e-520, are not told apart."""


class Thresholded(PartitionRule):
    """Add noise to the totals of all keys, and show those that reach the threshold."""

    @property
    @abstractmethod
    def noise(self) -> Law:
        """The noise of every total."""

    @property
    @abstractmethod
    def threshold(self) -> int:
        """The least noisy total that is shown."""

    def keep(self, totals: Sequence[int] | NDArray[Any], source: Source) -> NDArray[np.bool_]:
        """Decide which keys are shown."""
        return self.release(totals, source)[0]

    def release(
        self, totals: Sequence[int] | NDArray[Any], source: Source
    ) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Decide which keys are shown, and return the noisy totals of those, for the same loss."""
        held = private_integers(totals, "totals")
        noise = self.noise.draw(held.size, source).reshape(held.shape)
        noisy = add_exactly(held, noise)
        shown = ((noisy >= self.threshold) & (held > 0)).astype(np.bool_)
        return shown, noisy[shown]

    def total_for(self, confidence: float) -> int:
        """Return a total whose key is shown with this confidence: the least one, from 1/2 up."""
        allowed = allowed_failure(confidence)
        return self.threshold + least_that(lambda w: self.noise.tail(w) <= 2 * allowed)


@dataclass(frozen=True)
class ThresholdedLaplace(Thresholded):
    """Show the keys whose total, with discrete Laplace noise, reaches a threshold.

    One unit adds integers from 1 to `per_key` to at most `groups` keys, and at most
    `l1_sensitivity` to all of them together (by default `groups * per_key`).

    *Delta.* A new key with total w is shown with probability
    `P(Z >= threshold - w) = f(w) = exp(-(threshold - w)/b) / (1 + exp(-1/b))`, convex in w, so
    below its chord g from 1 to m = `per_key`. With j keys that add up to at most s,
    `sum f(w_i) <= sum g(w_i) <= j f(1) + (s - j) slope`, which is linear in j. It is largest at the
    most keys, or at the fewest that can add up to s, that is at s/m keys of m each (and fewer keys
    than that have at most f(m) each). The larger of those two values is the delta. There are units
    whose chances add up to it if `s = groups * per_key`, and if `s = groups = per_key`.

    >>> rule = ThresholdedLaplace(Fraction(1), Fraction(1, 10**5))
    >>> rule.threshold, rule.total_for(0.95)
    (13, 15)
    >>> print(rule.loss)
    epsilon 1, delta 4.492e-6
    """

    epsilon: Fraction
    delta: Fraction
    groups: int = 1
    per_key: int = 1
    l1_sensitivity: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_count("groups", self.groups, least=1)
        check_count("per_key", self.per_key, least=1)
        if self.l1_sensitivity is not None:
            check_count("l1_sensitivity", self.l1_sensitivity, least=self.per_key)
        _ = self.noise

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise of every total."""
        return DiscreteLaplace.for_epsilon(self.epsilon, self._most)

    @cached_property
    def threshold(self) -> int:
        """The least noisy total that is shown."""
        # Every tail is exp(-threshold/b) times something, so a guess is off by rounding alone. What
        # floats guess is then checked.
        least = self.per_key + 1
        excess = _log(self._delta_at(least)) - _log(self.delta)
        guess = least + math.ceil(self.noise.scale * Fraction(max(0.0, excess)))
        start = max(least, guess - 2)
        return least_that(lambda threshold: self._delta_at(threshold) <= self.delta, start)

    @property
    def loss(self) -> Loss:
        """The loss of the noise, and the delta of the threshold that is used."""
        return self.noise.loss(self._most) + Loss.approximate(0, self._delta_at(self.threshold))

    @classmethod
    def for_total(
        cls,
        total: int,
        confidence: float,
        *,
        delta: Fraction,
        groups: int = 1,
        per_key: int = 1,
        l1_sensitivity: int | None = None,
    ) -> ThresholdedLaplace:
        """Return the rule of least epsilon that shows a key of this total with confidence."""
        wanted = check_count("total", total, least=per_key + 1)
        rest = (delta, groups, per_key, l1_sensitivity)
        return cls(least_cost(lambda e: cls(e, *rest).total_for(confidence) <= wanted), *rest)

    @property
    def _most(self) -> int:
        """The most that one unit adds to all keys together."""
        spread = self.groups * self.per_key
        return spread if self.l1_sensitivity is None else min(spread, self.l1_sensitivity)

    def _delta_at(self, threshold: int) -> Fraction:
        b, s, m = self.noise.scale, self._most, self.per_key
        keys = min(self.groups, s)

        def shown(w: int, digits: int) -> Enclosure:
            one = Enclosure.of(1, digits)
            below = Enclosure.of(-min((threshold - w) / b, _FAR), digits)
            return below.exp() / (one + Enclosure.of(-1 / b, digits).exp())

        def fewest(digits: int) -> Enclosure:
            return Enclosure.of(Fraction(s, m), digits) * shown(m, digits)

        def most(digits: int) -> Enclosure:
            # keys * m is at least s, so no coefficient is negative.
            full = Fraction(s - keys, max(1, m - 1))
            few = Enclosure.of(keys - full, digits) * shown(1, digits)
            return few + Enclosure.of(full, digits) * shown(m, digits)

        return min(Fraction(1), max(round_up(fewest), round_up(most)))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
