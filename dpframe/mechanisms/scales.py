"""Which scales noise may have, and how a wanted scale is rounded up to one of them."""

from __future__ import annotations

import math
from fractions import Fraction

from dpframe.errors import ParameterError

LEAST_SCALE = Fraction(1, 1 << 10)
"""Noise of this scale differs from 0 with probability below `2 exp(-1024)`."""

LARGEST_SCALE = Fraction(1 << 200)
"""Sums of 128-bit integers need no more, and floats still hold the variance."""

_SIGNIFICANT_BITS = 53
_SHORT_BITS = 128


def check_scale(name: str, value: object) -> Fraction:
    """Return a scale as a fraction, or say why no noise has it."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise ParameterError(
            f"{name} is {value!r}, not a Fraction or an integer",
            why="noise is drawn exactly, and so is its loss: a float would round both",
            fix=f"{name}=Fraction(1, 2)",
        )
    if not LEAST_SCALE <= value <= LARGEST_SCALE:
        raise ParameterError(
            f"{name} is {_shown(value)}, outside [2**-10, 2**200]",
            why="less noise than that is none, and more does not fit in the floats that report it",
            fix=f"{name}=Fraction(1, 2)",
        )
    return Fraction(value)


def check_cost(name: str, value: object) -> Fraction:
    """Return an epsilon or a rho as a positive fraction."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value <= 0:
        raise ParameterError(
            f"{name} is {_shown(value)}, not a positive Fraction or integer",
            why="privacy loss is counted exactly, and a loss of 0 needs noise of infinite scale",
            fix=f"{name}=Fraction(1, 10)",
        )
    return Fraction(value)


def check_count(name: str, value: object, *, least: int) -> int:
    """Return an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(
            f"{name} is {_shown(value)}, not an integer of at least {least}",
            why="noise lives on the integers, so counts, widths and sensitivities are integers",
            fix=f"{name}={max(least, 1)}",
        )
    return value


def round_scale_up(name: str, scale: Fraction) -> Fraction:
    """Return the least allowed scale of at least `scale`.

    A fraction with terms of up to 128 bits is kept as it is. Others are rounded up to 53
    significant bits, so that a float shows the result without rounding.

    >>> round_scale_up("scale", Fraction(10, 3))
    Fraction(10, 3)
    >>> round_scale_up("scale", Fraction(1, 10**6))
    Fraction(1, 1024)
    """
    scale = max(scale, LEAST_SCALE)
    longest = max(scale.numerator.bit_length(), scale.denominator.bit_length())
    if longest > _SHORT_BITS and scale <= LARGEST_SCALE:
        grid = _grid(scale)
        scale = math.ceil(scale / grid) * grid
    return check_scale(name, scale)


def sqrt_up(square: Fraction) -> Fraction:
    """Return a square root: exact where it is rational, else rounded up to 53 significant bits.

    >>> sqrt_up(Fraction(4, 9))
    Fraction(2, 3)
    >>> 0 < sqrt_up(Fraction(2)) ** 2 - 2 < Fraction(1, 2**50)
    True
    """
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root * root == square:
        return root
    grid = _grid(root)
    return (math.isqrt(math.floor(square / grid**2)) + 1) * grid


def floor_log2(value: Fraction) -> int:
    """Return the largest integer k with `2**k <= value`, for a positive value.

    >>> floor_log2(Fraction(8)), floor_log2(Fraction(1, 3))
    (3, -2)
    """
    p, q = value.numerator, value.denominator
    k = p.bit_length() - q.bit_length()
    reached = p >= q << k if k >= 0 else p << -k >= q
    return k if reached else k - 1


def _grid(scale: Fraction) -> Fraction:
    """Return the power of two whose multiples near `scale` have 53 significant bits."""
    return Fraction(2) ** (floor_log2(scale) + 1 - _SIGNIFICANT_BITS)


def _shown(value: object) -> str:
    # Python refuses to print integers of thousands of digits.
    if isinstance(value, int | Fraction) and value and not isinstance(value, bool):
        exponent = floor_log2(abs(Fraction(value)))
        if abs(exponent) > _SHORT_BITS:
            return f"about {'-' if value < 0 else ''}2**{exponent}"
    return repr(value)
