"""The discrete Laplace law: `P(Z = z)` proportional to `exp(-|z| / scale)`.

Noise of scale b on integers that one unit moves by at most s in L1 norm is exactly s/b-private
(Ghosh, Roughgarden and Sundararajan 2009). A draw is `floor(b E)` with a fair sign, where minus
zero is drawn again: `P(floor(b E) >= g) = exp(-g/b)` makes that exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.geometric import Geometric, signed
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.scales import check_cost, check_count, check_scale, round_scale_up
from dpframe.mechanisms.source import Source


@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """Two-sided geometric noise of a rational scale, between 2**-10 and 2**200.

    >>> noise = DiscreteLaplace.for_epsilon(Fraction(1, 10), l1_sensitivity=1)
    >>> noise.scale, noise.half_width(0.95)
    (Fraction(10, 1), 30)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, l1_sensitivity: int) -> DiscreteLaplace:
        """Return the least allowed noise that costs at most `epsilon` at this sensitivity.

        The scale is exactly `l1_sensitivity / epsilon` if that is allowed, and rounded up
        otherwise. Charge `loss(l1_sensitivity)`, which is recomputed from the scale.
        """
        sensitivity = check_count("l1_sensitivity", l1_sensitivity, least=1)
        return cls(round_scale_up("scale", sensitivity / check_cost("epsilon", epsilon)))

    def loss(self, l1_sensitivity: int) -> Loss:
        """Return what a vector of this noise costs where one unit moves the values this far.

        >>> DiscreteLaplace(Fraction(10)).loss(l1_sensitivity=2).epsilon
        Fraction(1, 5)
        """
        sensitivity = check_count("l1_sensitivity", l1_sensitivity, least=1)
        return Loss.laplace(scale=self.scale, l1_sensitivity=sensitivity)

    @property
    def variance(self) -> float:
        """The variance of one draw: `1 / (2 sinh(1 / (2 scale))**2)`.

        >>> DiscreteLaplace(Fraction(10)).variance
        199.83341663...
        """
        half = float(1 / (2 * self.scale))
        # sinh(x)**2 overflows where the variance is 0 as a float.
        return 0.5 / math.sinh(half) ** 2 if half < 350 else 0.0

    def tail(self, t: int) -> float:
        """Return `P(|Z| > t) = 2 exp(-(t + 1) / scale) / (1 + exp(-1 / scale))`, rounded up."""
        t = check_count("t", t, least=0)
        x = float(min((t + 1) / self.scale, Fraction(2000)))  # exp(-2000) is 0 as a float
        exact = 2 * math.exp(-x) / (1 + math.exp(-float(1 / self.scale)))
        # Rounding x moves exp(-x) by x * 2**-53 of itself; the rest is a few last places.
        return min(1.0, math.nextafter(exact * (1 + (x + 8) * 2.0**-52), 2.0))

    def lead_tail(self, t: int) -> float:
        """Return `P(Z1 - Z2 > t)` for two draws, rounded up.

        With `q = exp(-1 / scale)`, a difference of `d >= 0` has the chance `((1 - q) / (1 + q))**2
        q**d (d + (1 + q**2) / (1 - q**2))`, and those above t add up to the formula below.
        """
        above = check_count("t", t, least=0) + 1
        x = float(min(above / self.scale, Fraction(2000)))
        q, p = math.exp(-float(1 / self.scale)), -math.expm1(-float(1 / self.scale))
        steps = p * x * float(self.scale) + (1 + q * q) / (1 + q) + q
        exact = math.exp(-x) * steps / (1 + q) ** 2
        return min(1.0, math.nextafter(exact * (1 + (x + 32) * 2.0**-52), 2.0))

    @classmethod
    def _of_scale(cls, scale: Fraction) -> DiscreteLaplace:
        return cls(scale)

    @property
    def _scale(self) -> Fraction:
        return self.scale

    @cached_property
    def _sizes(self) -> Geometric:
        return Geometric(self.scale)

    @cached_property
    def _acceptance(self) -> float:
        return (1 + math.exp(-self.scale.denominator / self.scale.numerator)) / 2

    def _guess(self, allowed: float) -> int:
        return int(self.scale * Fraction(max(0.0, -math.log(allowed))))

    def _attempt(self, source: Source) -> int | None:
        size = LazyExponential(source).floor_times(self.scale.numerator, self.scale.denominator)
        if not source.bits(1):
            return size
        return -size or None

    def _batch(self, lanes: int, source: Source) -> NDArray[Any]:
        words = source.words(2 * lanes)
        sizes, wide = self._sizes.draw(words[:lanes], words[lanes:], source)
        return signed(sizes, wide, words[lanes:])
