"""Numbers as their writer meant them: exact fractions in, short decimals out.

`0.1` typed by a person means one tenth, not the binary float nearest to it. So a float is read
through its shortest decimal form, and ten releases at `epsilon=0.1` fill `Budget(epsilon=1)`
exactly: no request is lost to float dust.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational

from dpframe.errors import ParameterError

Number = int | float | str | Fraction | Decimal
"""What a parameter may be given as."""

_HUGE_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")
"""A number whose digits alone would fill memory."""


def exact(value: Number, name: str) -> Fraction:
    """Read a finite number exactly, floats by their shortest decimal form.

    >>> exact(0.1, "epsilon"), exact("1/3", "epsilon"), exact("1e-6", "delta")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    >>> exact(float("nan"), "epsilon")
    Traceback (most recent call last):
    ...
    dpframe.errors.ParameterError: epsilon is nan
      why: it has to be a finite number, such as 0.5, "1/3" or Fraction(1, 3)
      fix: epsilon=0.5
    """
    number = _read(value)
    if number is not None:
        return number
    raise ParameterError(
        f"{name} is {value if isinstance(value, float | Decimal) else repr(value)[:80]}",
        why='it has to be a finite number, such as 0.5, "1/3" or Fraction(1, 3)',
        fix=f"{name}=0.5",
    )


def _read(value: object) -> Fraction | None:
    if isinstance(value, bool):  # an int to Python, but `epsilon=True` is a mistake
        return None
    if isinstance(value, Rational):  # NumPy's integers too, which must not keep their width
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float):  # NumPy's float64 too, whose own repr is not a number
        text = float.__repr__(value)
    elif isinstance(value, str | Decimal):
        text = str(value)
    else:
        return None
    if len(text) > 1000 or _HUGE_EXPONENT.search(text):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):  # "nan", "inf", "ten", "1/0"
        return None


def positive(value: Number, name: str) -> Fraction:
    """Read a number as `exact` does, and refuse 0 and less.

    >>> positive(0, "epsilon")
    Traceback (most recent call last):
    ...
    dpframe.errors.ParameterError: epsilon is 0
      why: it has to be greater than 0
      fix: epsilon=0.5
    """
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(
            f"{name} is {value}", why="it has to be greater than 0", fix=f"{name}=0.5"
        )
    return number


def readable(value: Fraction | float, *, up: bool = True, digits: int = 4) -> str:
    """Write a number as a short decimal: in full if it has one, else rounded up (or down).

    >>> readable(Fraction(1, 5)), readable(Fraction(1, 10**6)), readable(Fraction(123456, 1000))
    ('0.2', '1e-6', '123.456')
    >>> readable(Fraction(1, 3)), readable(Fraction(1, 3), up=False)
    ('0.3334', '0.3333')
    """
    if isinstance(value, float) and math.isinf(value):
        return "infinity"
    value = Fraction(value)
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    short = _divide(value, Context(prec=2 * digits, rounding=rounding))
    if Fraction(short) != value:
        short = _divide(value, Context(prec=digits, rounding=rounding))
    if short and not -5 < short.adjusted() < 15:
        mantissa, _, exponent = f"{short:e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{short:f}"


def _divide(value: Fraction, context: Context) -> Decimal:
    # One division of exact integers is a single, directed rounding; dropping zeros is none.
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return context.normalize(quotient)
