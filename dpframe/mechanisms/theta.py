"""Sums of `exp(-z**2 / (2 sigma**2))` over integers: how accurate a discrete Gaussian is.

Floating point, with every error bounded and added to the result: a tail is never reported smaller
than it is. Privacy does not depend on this module; error bars do.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

_ULP = 2.0**-52
_SUMMED = 256
"""Tails up to this sigma are summed term by term."""

_SQUARED = 8
"""From this sigma on, `sigma**2` is the variance to the last place of a float."""


def total(sigma: Fraction) -> float:
    """Return the sum over all integers, rounded down.

    Poisson summation gives `sqrt(2 pi) sigma (1 + 2 exp(-2 pi**2 sigma**2) + ...)`: the leading
    factor is a lower bound, and from sigma 4 on it is the value to the last place.
    """
    large = sigma >= 4
    exact = math.sqrt(2 * math.pi) * float(sigma) if large else 1 + 2 * _sum_from(1, sigma)
    return exact * (1 - 32 * _ULP)


def variance(sigma: Fraction) -> float:
    """Return the variance of the discrete Gaussian."""
    if sigma >= _SQUARED:
        return float(sigma * sigma)
    z = np.arange(1.0, 13 * _SQUARED)
    with np.errstate(under="ignore"):
        weights = np.exp(z * z * -_half_inverse_square(sigma))
    return 2 * float(np.sum(z * z * weights)) / (1 + 2 * float(np.sum(weights)))


def two_sided_tail(t: int, sigma: Fraction) -> float:
    """Return `P(|Z| > t)`, rounded up; the excess is below one part in 2**30 for tails over 1e-12."""
    if t >= 100 * sigma:
        exact = 0.0
    elif sigma <= _SUMMED:
        exact = 2 * _sum_from(t + 1, sigma) / total(sigma)
    else:
        exact = _midpoint(float(Fraction(2 * t + 1, 2) / sigma), float(sigma))
    return min(1.0, math.nextafter(exact, 2.0))


def _half_inverse_square(sigma: Fraction) -> float:
    return float(1 / (2 * sigma * sigma))


def _sum_from(first: int, sigma: Fraction) -> float:
    """Return the sum over `z >= first >= 1`, rounded up."""
    c = _half_inverse_square(sigma)
    # Past `last` the terms are below exp(-50) of the first, and shrink geometrically: what is left
    # out is less than `_ULP` of the sum.
    last = math.isqrt(first * first + math.ceil(100 * sigma * sigma)) + 2
    z = np.arange(float(first), last + 1.0)
    with np.errstate(under="ignore"):
        summed = float(np.sum(np.exp(z * z * -c)))
    # Rounding an exponent x moves exp(-x) by at most 2 x * _ULP of itself.
    return summed * (1 + (2 * c * last * last + 32) * _ULP)


def _midpoint(z: float, sigma: float) -> float:
    """Return `P(|Z| > t)` for `z = (t + 1/2) / sigma` and a large sigma, rounded up.

    The Euler-Maclaurin formula at midpoints: for `f(y) = exp(-y**2 / (2 sigma**2))` the sum over
    `y > t` is the integral from `t + 1/2` plus, at that point, the first, third and fifth
    derivatives of f times 1/24, -7/5760 and 31/967680, plus a remainder of at most
    `4 zeta(6) / (2 pi)**6` times the integral of the sixth derivative's magnitude. The n-th
    derivative of `exp(-x**2 / 2)` is a Hermite polynomial times itself, at most
    `1.09 sqrt(n!) exp(-x**2 / 4)` (Cramer's inequality); so after division by the total the
    remainder is below `0.003 erfc(z / 2) / sigma**6`. Where f is convex, from z = 1 on, the
    integral alone is an upper bound too, and the tighter one far out.
    """
    density = math.sqrt(2 / math.pi) * math.exp(-z * z / 2)
    integral = math.erfc(z / math.sqrt(2))
    h = 1 / sigma**2
    third = z * (z * z - 3)
    fifth = z * (z**4 - 10 * z * z + 15)
    series = h * (z / 24 - h * (7 * third / 5760 - h * 31 * fifth / 967680))
    value = integral - density * series + 0.003 * math.erfc(z / 2) * h**3
    if z >= 1:
        value = min(value, integral)
    return max(value, 0.0) * (1 + (4 * z * z + 32) * _ULP)
