"""Parts on Polars, as aggregations of prepared rows: summands `c0`, ..., their squares `q0`, ...

Polars wraps sums of 64 bits silently. So sums come in two ways, and whoever asks for the faster one
proves by the number of rows that it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import polars as pl

from dpframe.engines.base import Request, sum_that_counts
from dpframe.engines.polars_codes import narrow_sum, square_of, steps_in_one, wide_sum
from dpframe.plan.parts import Blend, CodedSum, CountDistinct, Part


class Way(Enum):
    """How codes are added up: in 64 bits, or in 128, which is slower."""

    NARROW = 1
    WIDE = 2


def way_for(largest: int) -> Way:
    """The fastest way for sums that are no larger than this."""
    return Way.NARROW if largest < 2**62 else Way.WIDE


def coded_at(index: int, parts: Sequence[Part]) -> int:
    """The first of the sums with the same codes, whatever they are centred on: they are computed once."""
    codes = [_codes(p) for p in parts]
    return codes.index(codes[index])


def _squared_at(index: int, parts: Sequence[Part]) -> int:
    """The first of the blends of the same codes: the squares of these are computed once."""
    blends = [replace(p, above=0) if isinstance(p, Blend) else None for p in parts]
    return blends.index(blends[index])


def with_squares(rows: pl.LazyFrame, parts: Sequence[Part]) -> pl.LazyFrame:
    """The rows with the squares that blends add up beside the codes."""
    squares = [
        square_of(part, pl.col(f"c{coded_at(i, parts)}")).alias(f"q{i}")
        for i, part in enumerate(parts)
        if isinstance(part, Blend) and _squared_at(i, parts) == i
    ]
    return rows.with_columns(squares) if squares else rows


def _codes(part: Part) -> CodedSum | None:
    """The sum of the codes that a part reads."""
    if isinstance(part, Blend):
        return part.codes
    return replace(part, centre=0) if isinstance(part, CodedSum) else None


def part_of(index: int, request: Request, way: Way) -> pl.Expr:
    """The exact integer of one part, over the rows of one group."""
    part = request.parts[index]
    if isinstance(part, CodedSum):
        code = pl.col(f"c{coded_at(index, request.parts)}")
        total = _sum(code, way, steps_in_one(part.coding))
        return total if part.centre == 0 else total - code.count().cast(pl.Int128) * part.centre
    if isinstance(part, Blend):
        places = coded_at(index, request.parts), _squared_at(index, request.parts)
        return _blend(part, pl.col(f"c{places[0]}"), pl.col(f"q{places[1]}"), way)
    if isinstance(part, CountDistinct):
        return pl.col(f"d{index}").drop_nulls().n_unique().cast(pl.Int128)
    if part.condition is None:
        return pl.len().cast(pl.Int128)
    summed = sum_that_counts(part, request.parts)
    if summed is not None:
        place = coded_at(request.parts.index(summed), request.parts)
        return pl.col(f"c{place}").count().cast(pl.Int128)
    return pl.col(f"w{index}").sum().cast(pl.Int128)


def _blend(part: Blend, code: pl.Expr, square: pl.Expr, way: Way) -> pl.Expr:
    """A blend, from sums that the three of them share."""
    rows, codes, squares = part.terms
    summed = _sum(code, way, steps_in_one(part.coding)) * codes + _sum(square, way, 1.0) * squares
    return code.count().cast(pl.Int128) * rows + summed


def _sum(summand: pl.Expr, way: Way, steps: float | None) -> pl.Expr:
    return (narrow_sum if way is Way.NARROW else wide_sum)(summand, steps)
