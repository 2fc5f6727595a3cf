"""The integer codes of values on Polars, and doubles that stand for them and add up faster.

On a grid, a value is *raised*: 3 * 2^51 steps are added to it. From 2^52 to 2^53 steps on, doubles are
the multiples of one step, so IEEE 754 rounds the sum to one of them, half to even: that is the code.
And their bits, read as integers, are consecutive. So the bits of a raised value are its code, counted
from those of 3 * 2^51 steps. Codes are within 2^51, so no raised value leaves that stretch.

Nothing has to be subtracted, scaled or converted row by row, and reading bits costs nothing.
"""

from __future__ import annotations

import struct

import polars as pl

from dpframe.declare import Table
from dpframe.engines.polars_exprs import bounded, bounded_float, polars_of, reader, stored
from dpframe.plan.coding import ROUNDING, Coding
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Column
from dpframe.plan.parts import Blend, CodedSum

_WIDEST_SHIFT = 256
"""Numbers on finer or coarser grids are scaled first, so that their squares are doubles as well."""


def steps_in_one(coding: Coding) -> float | None:
    """How many steps one unit of a summand is; None where summands are integers, which are their codes.

    Scaling by a power of two changes no digit of a double, so it commutes with rounding: on such grids
    values stay as they are, and the steps are made smaller or larger.
    """
    if coding.is_integer:
        return None
    unscaled = not coding.decimals and abs(coding.shift) <= _WIDEST_SHIFT
    return float(coding.scale) if unscaled else 1.0


def summand_of(part: CodedSum, table: Table) -> pl.Expr:
    """What stands for the code, NULL where it adds nothing: an integer, or a raised value."""
    coding, expr, steps = part.coding, part.expr, steps_in_one(part.coding)
    value = polars_of(expr, reader(table))
    if steps is None:
        # A bare column was clamped on reading; anything else is clamped here, whatever the
        # analysis proved: the sensitivity rests on this line alone.
        ends = (pl.lit(end, dtype=pl.Int64) for end in (coding.low, coding.high))
        code = value if isinstance(expr, Column) else bounded(value, *ends)
    else:
        if isinstance(expr, Column) and table.domains[expr.name].type is Type.FLOAT:
            domain = table.domains[expr.name]
            if domain.values is None:
                value = stored(table, expr.name)  # bounded below as it would be on reading
                if not domain.nullable:
                    value = value.fill_nan(None).fill_null(domain.low)
        low, high = coding.value(coding.low), coding.value(coding.high)
        inside, scale = bounded_float(value.cast(pl.Float64), low, high), coding.scale / steps
        code = (inside if scale == 1 else inside * float(scale)) + ROUNDING / steps
    if part.condition is None:
        return code
    return pl.when(polars_of(part.condition, reader(table))).then(code)


def code_of(part: CodedSum, table: Table) -> pl.Expr:
    """The integer code of a sum's expression, NULL where it adds nothing."""
    return as_code(summand_of(part, table), steps_in_one(part.coding))


def as_code(summand: pl.Expr, steps: float | None) -> pl.Expr:
    """The code that a summand stands for: nothing has to be checked, and nothing can raise."""
    if steps is None:
        return summand.cast(pl.Int64, wrap_numerical=True)
    return _bits(summand) - _lowest(steps)


def square_of(part: Blend, summand: pl.Expr) -> pl.Expr:
    """The square of how far a code lies above the low end, raised by whole steps: see `Blend`."""
    steps, low = steps_in_one(part.coding), part.coding.low
    if steps is None:
        above = summand.cast(pl.Float64)
        above = above - low if low else above  # Polars would subtract 0 as well
        return above * above * part.ratio + ROUNDING
    # Both are multiples of a step between 2^52 and 2^53 of them, so their difference is exact.
    above = summand - (ROUNDING + low) / steps
    return above * above * (part.ratio * steps * steps) + ROUNDING


def narrow_sum(summand: pl.Expr, steps: float | None) -> pl.Expr:
    """The sum of codes, exact if it is below 2^63.

    Sums of bits wrap around at 2^64, which changes nothing of what is left when as many constants as
    there are rows are taken off, and that is cut to 64 bits, too.
    """
    if steps is None:
        return summand.sum().cast(pl.Int128)
    total = _bits(summand).sum().cast(pl.Int128)
    codes = total - summand.count().cast(pl.Int128) * _lowest(steps)
    return codes.cast(pl.Int64, wrap_numerical=True).cast(pl.Int128)


def wide_sum(summand: pl.Expr, steps: float | None) -> pl.Expr:
    """The sum of codes, whatever it is."""
    return as_code(summand, steps).cast(pl.Int128).sum()


def _bits(raised: pl.Expr) -> pl.Expr:
    return raised.reinterpret(dtype=pl.Int64)


def _lowest(steps: float) -> int:
    """The bits of 3 * 2^51 steps, which stand for the code 0."""
    found: int = struct.unpack("<q", struct.pack("<d", ROUNDING / steps))[0]
    return found
