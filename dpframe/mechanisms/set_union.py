"""Differentially private set union: show the keys that many units hold, each unit holding many.

A unit that holds t keys adds a weight of `1/sqrt(t)` to each, so its weights have L2 norm 1 and
Gaussian noise hides it, however many keys it holds. Weights are fixed-point integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import least_cost, least_that
from dpframe.mechanisms.gaussian import DiscreteGaussian
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.partitions import check_delta
from dpframe.mechanisms.scales import check_cost, check_count, sqrt_up
from dpframe.mechanisms.thresholds import Thresholded

_TWO_PI = (
    Decimal("6.28318530717958647692528676655900576"),
    Decimal("6.28318530717958647692528676655900577"),
)
_LEVELS = 80
"""Levels of a continued fraction. Even, so that it ends above the true value."""

_FAR = Fraction(40)
"""Standard deviations beyond which tails, below 1e-349, are not told apart."""


@dataclass(frozen=True)
class ThresholdedGaussian(Thresholded):
    """Show the keys whose total weight, with discrete Gaussian noise, reaches a threshold.

    Differentially private set union by weighted Gaussian noise (Gopi et al. 2020). A unit that
    holds t keys adds `weight(t) = floor(grid / sqrt(t))` to each: its weights have L2 norm at most
    `grid`, the fixed-point 1, however many keys it holds, up to `groups`.

    *Delta.* For `t - 1/2 >= sigma`, `P(Z >= t) <= Q((t - 1/2) / sigma)`, the continuous tail: the
    density is convex there, so its value at each integer is below its integral around it, and the
    sum over all integers is at least `sqrt(2 pi) sigma` (Poisson summation). A unit's t new keys
    are shown with probability at most `h(u) = Q(a - b u) / u**2` with `u = 1/sqrt(t)`,
    `a = (threshold - 1/2) / sigma` and `b = grid / sigma`. Its logarithm has the derivative
    `b H(x) - 2/u` at `x = a - b u`, where `H = density/Q` has `H < x + 1/x` and `H' = H (H - x)`.
    So `u H(a - b u)` has the derivative `H (1 - b u (H - x)) > 0` if `b u <= x`, which holds when
    `a >= 2 b`: then h falls and rises again, and the worst t is 1 or `groups`. The threshold is
    kept at `2 grid + 1` or more for that; only rho over about 10 would go below.

    >>> rule = ThresholdedGaussian(Fraction(1, 10), Fraction(1, 10**6), groups=100, grid=1000)
    >>> rule.weight(1), rule.weight(4), rule.weight(100), rule.threshold
    (1000, 500, 100, 12650)
    >>> print(rule.loss)
    rho 0.1, delta 9.983e-7
    """

    rho: Fraction
    delta: Fraction
    groups: int = 1
    grid: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", check_cost("rho", self.rho))
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_count("groups", self.groups, least=1)
        if check_count("grid", self.grid, least=1) ** 2 < self.groups:
            raise ParameterError(
                f"grid is {self.grid}, and a unit may hold {self.groups} keys",
                why="its weight in each would be 0",
                fix="grid=2**20",
            )
        _ = self.noise

    def weight(self, keys: int) -> int:
        """Return what a unit that holds this many keys adds to each; 0 over `groups`.

        A unit over the limit has to drop keys first, or it adds nothing: an error would tell that
        it is there.
        """
        held = check_count("keys", keys, least=1)
        return math.isqrt(self.grid**2 // held) if held <= self.groups else 0

    def weights(self, keys: Sequence[int] | NDArray[Any]) -> Integers:
        """Return the weight of each of many units, by the number of keys that it holds."""
        held = private_integers(keys, "keys")
        distinct, places = np.unique(held, return_inverse=True)
        table = [self.weight(t) if t > 0 else 0 for t in distinct.tolist()]
        found: Integers = np.array(table, dtype=np.int64)[places]
        return found

    @cached_property
    def noise(self) -> DiscreteGaussian:
        """The noise of every total."""
        return DiscreteGaussian.for_rho(self.rho, self.grid**2)

    @cached_property
    def threshold(self) -> int:
        """The least noisy total that is shown."""
        sigma, delta = self.noise.sigma, float(self.delta)
        x = max(
            (self.grid + sigma * Fraction(_normal_quantile(delta))),
            (self.weight(self.groups) + sigma * Fraction(_normal_quantile(delta / self.groups))),
        )
        # What floats guess is checked; a grid unit is a small step.
        least = max(2 * self.grid, math.ceil(self.grid + sigma)) + 1
        start = max(least, math.floor(x))
        return least_that(lambda threshold: self._delta_at(threshold) <= self.delta, start)

    @property
    def loss(self) -> Loss:
        """The loss of the noise, and the delta of the threshold that is used."""
        delta = self._delta_at(self.threshold)
        return self.noise.loss(self.grid**2) + Loss.approximate(0, delta)

    def units_for(self, confidence: float, keys: int = 1) -> int:
        """Return how many units with this many keys each make a key shown with confidence."""
        weight = self.weight(keys)
        if not weight:
            raise ParameterError(
                f"keys is {keys}, over the {self.groups} groups",
                why="a unit that holds more adds nothing",
                fix=f"keys={self.groups}",
            )
        return -(-self.total_for(confidence) // weight)

    @classmethod
    def for_units(
        cls, units: int, confidence: float, *, delta: Fraction, groups: int = 1, keys: int = 1
    ) -> ThresholdedGaussian:
        """Return the rule of least rho that shows a key of this many units with confidence."""
        wanted = check_count("units", units, least=1)
        cost = least_cost(lambda r: cls(r, delta, groups).units_for(confidence, keys) <= wanted)
        return cls(cost, delta, groups)

    def _delta_at(self, threshold: int) -> Fraction:
        least_weight = sqrt_up(Fraction(self.grid**2, self.groups))
        alone = _tail_above(threshold - self.grid, self.noise.sigma)
        spread = self.groups * _tail_above(threshold - least_weight, self.noise.sigma)
        return min(Fraction(1), max(alone, spread))


@lru_cache(maxsize=1024)
def _tail_above(t: Fraction | int, sigma: Fraction) -> Fraction:
    """Return `Q((t - 1/2) / sigma)`, at least `P(Z >= t)` for `t - 1/2 >= sigma`, rounded up.

    `Q(x) = density(x) / (x + 1/(x + 2/(x + 3/(x + ...))))` (Laplace), cut off at an even level:
    the innermost x is too small, and each level above turns the error round.
    """
    x = min((t - Fraction(1, 2)) / sigma, _FAR)

    def tail(digits: int) -> Enclosure:
        at = inner = Enclosure.of(x, digits)
        for n in range(_LEVELS, 0, -1):
            inner = at + Enclosure.of(n, digits) / inner
        # exp(-x**2 / 2) / sqrt(2 pi) is exp(-(x**2 + log(2 pi)) / 2).
        square = Enclosure.of(x * x, digits) + Enclosure(*_TWO_PI, digits).log()
        return (square * Enclosure.of(Fraction(-1, 2), digits)).exp() / inner

    return round_up(tail)


def _normal_quantile(tail: float) -> float:
    """Return roughly the x with `Q(x) = tail`, for a start that is checked later."""
    low, high = 0.0, 38.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > 2 * tail else (low, middle)
    return low
