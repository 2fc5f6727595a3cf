"""The discrete Gaussian law: `P(Z = z)` proportional to `exp(-z**2 / (2 sigma**2))`.

Noise on integers that one unit moves by at most s in L2 norm is `s**2 / (2 sigma**2)`-zCDP, exactly
(Canonne, Kamath and Steinke 2020). It is *not* as private as the continuous Gaussian of the same
sigma at every (epsilon, delta). A draw proposes `|z|` from the discrete Laplace of scale sigma and
accepts with probability `exp(-((|z| - sigma)**2 - (m - sigma)**2) / (2 sigma**2))`, where m is the
integer nearest to sigma: that makes the largest acceptance probability 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.mechanisms import theta
from dpframe.mechanisms.cuts import CELL_BITS
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.geometric import Geometric, signed
from dpframe.mechanisms.lanes import (
    LANE_BITS,
    Integers,
    Words,
    draw_cells,
    draw_residues,
    integer,
    join,
    word,
)
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.scales import (
    check_cost,
    check_count,
    check_scale,
    floor_log2,
    round_scale_up,
    sqrt_up,
)
from dpframe.mechanisms.source import Source

_EXPONENT_BITS = 49
"""Binary digits after the point of the exponent in the vector code, good to about 16."""

# How far the exponent may be from its approximation, plus the width of what is compared with it.
_ABOVE = integer(1 << 33)
_BELOW = integer(-(1 << 30) - 1)
_BELOW_CELL = integer(-(1 << 30) - (1 << (_EXPONENT_BITS - CELL_BITS)))

_TO_EXPONENT = word(_EXPONENT_BITS - CELL_BITS)
_FROM_LANE = word(LANE_BITS - _EXPONENT_BITS)


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """Discrete Gaussian noise of a rational sigma, between 2**-10 and 2**200.

    >>> noise = DiscreteGaussian.for_rho(Fraction(1, 200), l2_squared_sensitivity=1)
    >>> noise.sigma, noise.half_width(0.95)
    (Fraction(10, 1), 20)
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_scale("sigma", self.sigma))

    @classmethod
    def for_rho(cls, rho: Fraction, l2_squared_sensitivity: int) -> DiscreteGaussian:
        """Return the least allowed noise that costs at most `rho` at this sensitivity.

        Sigma is `sqrt(l2_squared_sensitivity / (2 rho))`: exact where that is rational, else
        rounded up to 53 significant bits. Charge `loss(l2_squared_sensitivity)`, which is
        recomputed from sigma.
        """
        squared = check_count("l2_squared_sensitivity", l2_squared_sensitivity, least=1)
        return cls(round_scale_up("sigma", sqrt_up(squared / (2 * check_cost("rho", rho)))))

    def loss(self, l2_squared_sensitivity: int) -> Loss:
        """Return what a vector of this noise costs where one unit moves the values this far.

        >>> DiscreteGaussian(Fraction(10)).loss(l2_squared_sensitivity=2).rho
        Fraction(1, 100)
        """
        squared = check_count("l2_squared_sensitivity", l2_squared_sensitivity, least=1)
        return Loss.gaussian(sigma=self.sigma, l2_squared_sensitivity=squared)

    @property
    def variance(self) -> float:
        """The variance of one draw, which is below `sigma**2` and soon indistinguishable from it.

        >>> DiscreteGaussian(Fraction(1, 2)).variance
        0.2150...
        """
        return theta.variance(self.sigma)

    def tail(self, t: int) -> float:
        """Return `P(|Z| > t)`, rounded up."""
        return theta.two_sided_tail(check_count("t", t, least=0), self.sigma)

    def lead_tail(self, t: int) -> float:
        """Bound `P(Z1 - Z2 > t)` for two draws.

        A difference of d has the chance `exp(-d**2 / (4 sigma**2))` times a sum over the integers
        or over the halves between them, whichever d is even or odd, of `exp(-z**2 / sigma**2)`;
        the first is the larger. So the chance is at most that of a discrete Gaussian of `sqrt(2)
        sigma`, but for a ratio of totals, which is 1 to the last place from sigma 2 on.
        """
        wide = self.sigma * sqrt_up(Fraction(2))
        both = theta.two_sided_tail(check_count("t", t, least=0), wide)
        ratio = 1.0
        if self.sigma < 2:
            ratio = theta.total(wide) * theta.total(wide / 2) / theta.total(self.sigma) ** 2
        return min(1.0, both / 2 * ratio * (1 + 2.0**-40))

    @classmethod
    def _of_scale(cls, scale: Fraction) -> DiscreteGaussian:
        return cls(scale)

    @property
    def _scale(self) -> Fraction:
        return self.sigma

    @cached_property
    def _nearest(self) -> int:
        return math.floor(self.sigma + Fraction(1, 2))

    @cached_property
    def _sizes(self) -> Geometric:
        return Geometric(self.sigma)

    @cached_property
    def _exponents(self) -> _Exponents:
        return _Exponents(self.sigma, self._nearest)

    @cached_property
    def _acceptance(self) -> float:
        s = self.sigma.numerator / self.sigma.denominator
        total = max(math.sqrt(2 * math.pi) * s, 1 + 2 * math.exp(-0.5 / s**2))
        peak = math.exp(((self._nearest / s - 1) ** 2 - 1) / 2)
        return -math.expm1(-1 / s) / 2 * peak * total

    def _guess(self, allowed: float) -> int:
        # Newton's method for log(erfc(z / sqrt(2))) = log(allowed). The left side is concave, and
        # erfc(z / sqrt(2)) <= exp(-z**2 / 2), so it comes down to the root from this start.
        z = math.sqrt(-2 * math.log(allowed))
        for _ in range(8):
            tail = math.erfc(z / math.sqrt(2))
            z += math.log(tail / allowed) * tail / math.exp(-z * z / 2) * math.sqrt(math.pi / 2)
        return int(self.sigma * Fraction(z))

    def _attempt(self, source: Source) -> int | None:
        size = LazyExponential(source).floor_times(self.sigma.numerator, self.sigma.denominator)
        minus = source.bits(1)
        if (minus and not size) or not self._accepts(size, LazyExponential(source)):
            return None
        return -size if minus else size

    def _accepts(self, size: int, e: LazyExponential) -> bool:
        # The exponent is (|z| - m) (|z| + m - 2 sigma) / (2 sigma**2).
        p, q = self.sigma.numerator, self.sigma.denominator
        m = self._nearest
        return e.at_least(q * (size - m) * (q * (size + m) - 2 * p), 2 * p * p)

    def _batch(self, lanes: int, source: Source) -> NDArray[Any]:
        words = source.words(3 * lanes)
        first, second, third = words[:lanes], words[lanes : 2 * lanes], words[2 * lanes :]
        sizes, wide = self._sizes.draw(first, second, source)
        return signed(sizes, wide, second, self._accepted(sizes, wide, third, source))

    def _accepted(
        self, sizes: Integers, wide: dict[int, int], words: Words, source: Source
    ) -> NDArray[np.bool_]:
        # Compare e, which lies in [cell, cell + 1) / 2**8, with the exponent, both times 2**49.
        cells, outside = draw_cells(words, source)
        exponent = self._exponents.approximate(sizes)
        ahead = (cells << _TO_EXPONENT).view(np.int64)
        ahead -= exponent
        accepted: NDArray[np.bool_] = ahead >= _ABOVE
        unclear = ((ahead > _BELOW_CELL) ^ accepted).nonzero()[0]
        if unclear.size:
            digits = join(cells[unclear], draw_residues(source.words(unclear.size), source))
            ahead = (digits >> _FROM_LANE).view(np.int64) - exponent[unclear]
            accepted[unclear] = ahead >= _ABOVE
            for i in ((ahead > _BELOW) & (ahead < _ABOVE)).nonzero()[0].tolist():
                lane, known = int(unclear[i]), (int(digits[i]), LANE_BITS)
                accepted[lane] = self._accepts(int(sizes[lane]), LazyExponential(source, known))
        for lane in wide.keys() | outside.keys():
            cell = outside[lane] if lane in outside else int(cells[lane])
            size = wide[lane] if lane in wide else int(sizes[lane])
            accepted[lane] = self._accepts(size, LazyExponential(source, (cell, CELL_BITS)))
        return accepted


class _Exponents:
    """The exponents of the acceptance probability, in 64-bit integers with an error bound.

    `approximate` returns x such that `2**49` times the exponent lies in `[x - 2**30, x + 2**33)`.

    With `a = |y - m|` the exponent is `(a/sigma) (a/sigma +- 2 (m - sigma)/sigma) / 2`, minus where
    y < m. Write w' and t' for `2**24` times `a/sigma` and `2 (m - sigma)/sigma`. With
    `k = floor(log2(sigma))` sizes in lanes are below `2**(k+6)`, hence so is a, and without its
    lowest `drop` bits it fits in 32. The reciprocal of sigma has 31, so their product fits in 63,
    and w' lies in `[w, w + 2)`: what was dropped from both adds up to less than `2**shift`. Then
    `w' (w' +- t')` lies in `[w (c - 1), (w + 2) (c + 3))` for `c = w +- t`; w and c are below
    `2**30`, since a is at most `32.01 sigma`. (At y = m the second factor may be negative, but w'
    and w are 0, and so are the exponent and x.)
    """

    def __init__(self, sigma: Fraction, nearest: int) -> None:
        p, q = sigma.numerator, sigma.denominator
        k = floor_log2(sigma)
        self.vanish = k < -5  # sigma < 1/32: every size is 0, and so is m
        if self.vanish:
            return
        drop = max(0, k - 26)
        t = ((nearest * q - p) << 25) // p
        self._nearest = integer(nearest)
        self._drop = integer(drop)
        self._reciprocal = integer((q << (k + 31)) // p)
        self._shift = integer(k + 7 - drop)
        self._t, self._twice_t = integer(t), integer(2 * t)

    def approximate(self, sizes: Integers) -> Integers:
        """Return the exponents in units of `2**-49`; see above for their error."""
        if self.vanish:
            return np.zeros_like(sizes)
        w = sizes - self._nearest
        np.abs(w, out=w)
        w >>= self._drop
        w *= self._reciprocal
        w >>= self._shift
        c = (sizes < self._nearest) * self._twice_t
        np.subtract(w, c, out=c)
        c += self._t
        c *= w
        return c
