"""Certified bounds on exponentials and logarithms, so that a loss is never understated.

A float that rounds down once understates a loss for good. Here a real number is a pair of
decimals, `low <= number <= high`, and each operation rounds `low` down and `high` up. Addition,
subtraction, multiplication and division round in a chosen direction by the decimal standard.
`exp` and `ln` have no directed form, but Python's `decimal` returns them *correctly rounded*, so
the true value lies strictly between the two neighbours of the result.

Precision is a matter of tightness only: every enclosure is sound, whatever its digits. Formulas
for small losses cancel (`1 + tiny - 1`), so `round_up` doubles the digits until the enclosure is
narrow instead of trusting an error analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache

from dpframe.errors import InternalError

_SIGNIFICANT = 30
"""Digits that a rounded result keeps."""

_NARROW = Decimal(f"1e-{_SIGNIFICANT + 2}")
"""The relative width at which more working digits would no longer show in the result."""

_WORKING_DIGITS = (50, 100, 200, 400, 800)

_LEAST_EXPONENT = -20_000
"""The neighbours of 0 lie this far down; at the limit of `decimal` no fraction could hold them."""


@lru_cache
def _context(digits: int, rounding: str) -> Context:
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=_LEAST_EXPONENT,
        Emax=MAX_EMAX,
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number known to lie between `low` and `high`.

    >>> third = Enclosure.of(Fraction(1, 3), digits=5)
    >>> third.low, third.high
    (Decimal('0.33333'), Decimal('0.33334'))
    >>> (third + third + third).low <= 1 <= (third + third + third).high
    True
    """

    low: Decimal
    high: Decimal
    digits: int

    @classmethod
    def of(cls, value: Fraction | int, digits: int) -> Enclosure:
        """Enclose a fraction."""
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        down, up = _context(digits, ROUND_FLOOR), _context(digits, ROUND_CEILING)
        return cls(down.divide(top, bottom), up.divide(top, bottom), digits)

    def __add__(self, other: Enclosure) -> Enclosure:
        return self._with(self._down.add(self.low, other.low), self._up.add(self.high, other.high))

    def __sub__(self, other: Enclosure) -> Enclosure:
        low = self._down.subtract(self.low, other.high)
        return self._with(low, self._up.subtract(self.high, other.low))

    def __mul__(self, other: Enclosure) -> Enclosure:
        corners = [(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        low = min(self._down.multiply(x, y) for x, y in corners)
        return self._with(low, max(self._up.multiply(x, y) for x, y in corners))

    def __truediv__(self, other: Enclosure) -> Enclosure:
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("the divisor's enclosure holds 0")
        corners = [(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        low = min(self._down.divide(x, y) for x, y in corners)
        return self._with(low, max(self._up.divide(x, y) for x, y in corners))

    def exp(self) -> Enclosure:
        """Enclose e to this number."""
        return self._with(
            self._down.next_minus(self._down.exp(self.low)),
            self._up.next_plus(self._up.exp(self.high)),
        )

    def log(self) -> Enclosure:
        """Enclose the natural logarithm of this (positive) number."""
        return self._with(
            self._down.next_minus(self._down.ln(self.low)),
            self._up.next_plus(self._up.ln(self.high)),
        )

    @property
    def _down(self) -> Context:
        return _context(self.digits, ROUND_FLOOR)

    @property
    def _up(self) -> Context:
        return _context(self.digits, ROUND_CEILING)

    def _with(self, low: Decimal, high: Decimal) -> Enclosure:
        return Enclosure(low, high, self.digits)


def round_up(formula: Callable[[int], Enclosure]) -> Fraction:
    """Give an upper bound on `formula`, within about one part in 10^29 of it.

    >>> e = round_up(lambda digits: Enclosure.of(1, digits).exp())
    >>> float(e) == 2.718281828459045, e > Fraction("2.71828182845904523536028747135")
    (True, True)
    """
    high = _narrow(formula).high
    return Fraction(_context(_SIGNIFICANT, ROUND_CEILING).plus(high))


def _narrow(formula: Callable[[int], Enclosure]) -> Enclosure:
    found = None
    for digits in _WORKING_DIGITS:
        try:
            found = formula(digits)
        except (ZeroDivisionError, InvalidOperation):
            continue  # an intermediate enclosure reached 0: it needs more digits
        up = _context(digits, ROUND_CEILING)
        width = up.subtract(found.high, found.low)
        if width <= up.multiply(_NARROW, up.max_mag(found.low, found.high).copy_abs()):
            break
    if found is None:
        raise InternalError("a loss has no enclosure at any precision")
    return found
