"""How a number becomes an integer: clamp, scale by a power of two, round half to even.

The grid depends on declared bounds alone, never on data. Sums of codes are exact, so the
sensitivity of a sum is an integer that does not grow with the number of rows. Floating-point sums
have neither property (Mironov 2012; Casacuberta et al. 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpframe.plan.domains import Domain, Type

GRID_BITS = 30
"""A unit's largest contribution to a sum is about 2^30 grid steps at the most."""

ROW_BITS = 27
"""A row's largest contribution to a sum is about 2^27 grid steps at the most.

Rounding n rows moves a sum by n * 2^-28 of the range at the most, and only if all are rounded the
same way, as equal values are; otherwise by about the root of that. 2^26 rows still sum exactly in
doubles, which is how engines add up the fastest, and 2^36 in 64 bits.
"""

EXACT_DOUBLES = 2**53
"""Integers up to here are doubles, and so are their sums and differences."""

ROUNDING = 3 * 2.0**51
"""Added to a number within 2^51 and subtracted again, it rounds half to even.

Between 2^52 and 2^53 doubles are the whole numbers, so IEEE 754 rounds the sum to one of them, half
to even, and the subtraction is exact. Engines do this far faster than they round.
"""


def bits_for(max_rows: int) -> int:
    """The power of two of how many grid steps a row contributes at the most.

    >>> bits_for(1), bits_for(1000)
    (27, 20)
    """
    return min(ROW_BITS, GRID_BITS - (max_rows - 1).bit_length())


LARGEST_PLAIN_INTEGER = 2**40
"""Integers are coded as they are while a unit contributes no more than this.

It keeps noise scales within 2^50 and the products of weighting within 128 bits.
"""


@dataclass(frozen=True, slots=True)
class Coding:
    """Integer codes in [`low`, `high`]; one unit of value is 2^`shift`, or 10^`decimals`, codes.

    `is_integer` says that values are integers and their codes are the values themselves.
    """

    low: int
    high: int
    shift: int
    is_integer: bool
    decimals: int = 0

    @property
    def scale(self) -> Fraction:
        """How many codes one unit of value is."""
        return _scale(self.decimals, self.shift)

    @property
    def centre(self) -> int:
        """The code in the middle, from which deviations are smallest."""
        return (self.low + self.high) // 2

    def magnitude(self, centre: int = 0) -> int:
        """The largest distance of a code from `centre`; at least 1, so that noise has a scale."""
        return max(abs(self.low - centre), abs(self.high - centre), 1)

    @property
    def half_width(self) -> float:
        """The largest distance of a value from the middle."""
        return self.value(self.magnitude(self.centre))

    def value(self, code: int | Fraction) -> float:
        """The number that a code stands for."""
        return float(Fraction(code) / self.scale)


@lru_cache(maxsize=4096)
def _scale(decimals: int, shift: int) -> Fraction:
    return Fraction(10) ** decimals * Fraction(2) ** shift


def coding_for(domain: Domain, max_rows: int = 1) -> Coding:
    """The grid for a bounded expression, of which a unit contributes up to `max_rows` values.

    >>> coding_for(Domain(Type.INT, 0, 110))
    Coding(low=0, high=110, shift=0, is_integer=True, decimals=0)
    >>> coding_for(Domain(Type.FLOAT, 0.0, 50_000.0))
    Coding(low=0, high=102400000, shift=11, is_integer=False, decimals=0)
    """
    exact = _exact_coding(domain, max_rows)
    if exact is not None:
        return exact
    low, high = Fraction(domain.low), Fraction(domain.high)
    largest = max(abs(low), abs(high))
    size = math.frexp(float(largest))[1] if largest else 0
    # Both the scale and its products with values must be normal doubles, hence exact.
    shift = min(max(bits_for(max_rows) - size, -960), 960)
    scale = Fraction(2) ** shift
    return Coding(round(low * scale), round(high * scale), shift, is_integer=False)


_FARTHEST = 1024
"""Of a range that lies further from 0 than so many times its width, a grid has too few codes."""


def is_far_from_zero(domain: Domain, max_rows: int = 1) -> bool:
    """Whether a range is so narrow, for where it lies, that its grid is too coarse for it.

    A grid is as fine as the largest magnitude allows, so next to 0 there is a finer one.

    >>> [is_far_from_zero(Domain(Type.INT, low, low + 1000)) for low in (0, 2**30, 2**60)]
    [False, False, True]
    """
    farthest = max(abs(domain.low), abs(domain.high))
    if domain.high - domain.low >= farthest / _FARTHEST:
        return False
    return _exact_coding(domain, max_rows) is None


def _exact_coding(domain: Domain, max_rows: int) -> Coding | None:
    """Integers as they are, and decimals in their last place, where they are small enough."""
    low, high = Fraction(domain.low), Fraction(domain.high)
    largest = max(abs(low), abs(high))
    if domain.type is not Type.FLOAT and largest * max_rows <= LARGEST_PLAIN_INTEGER:
        return Coding(int(low), int(high), 0, is_integer=True)
    return _decimal_coding(domain, low, high, max_rows)


def _decimal_coding(domain: Domain, low: Fraction, high: Fraction, max_rows: int) -> Coding | None:
    """Decimals as whole numbers of their last place, where those are small enough.

    A decimal is read as the nearest double, which is off by less than 2^-12 of its last place, so
    that rounding finds the decimal again: its sums are exact.

    >>> _decimal_coding(Domain(Type.FLOAT, decimals=2), Fraction(0), Fraction(9), 1)
    Coding(low=0, high=900, shift=0, is_integer=False, decimals=2)
    """
    if domain.decimals is None:
        return None
    scale = Fraction(10) ** domain.decimals
    first, last = math.ceil(low * scale), math.floor(high * scale)
    small = max(abs(low), abs(high)) * scale * max_rows <= LARGEST_PLAIN_INTEGER
    if not small or first > last:
        return None
    return Coding(first, last, 0, is_integer=False, decimals=domain.decimals)
