"""Units, bounded by weight on Polars: the norm of each, and its parts scaled to it."""

from __future__ import annotations

import polars as pl

from dpframe.engines.base import TOO_WIDE, Request
from dpframe.plan.parts import CountUnits


def scaled(pairs: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Scale the parts of heavy units; only they are looked at twice.

    Products stay below 2^127: codes of a unit are at most 2^41, its rows at most 2^40, the weight
    at most 2^40.
    """
    if request.weighs_each_group:
        return _scaled_in_each_group(pairs, request)
    heavy = heavy_units(pairs, request)
    if heavy.height == 0:
        return pairs
    factor = factor_of(request)
    columns = []
    for i, part in enumerate(request.parts):
        value, size = pl.col(f"p{i}"), pl.col("g" if isinstance(part, CountUnits) else "m")
        shrunk = _shrunk(value, factor, size)
        columns.append(pl.when(size.is_null()).then(value).otherwise(shrunk).alias(f"p{i}"))
    return pairs.join(heavy, on="u", how="left", nulls_equal=True).with_columns(columns)


def _scaled_in_each_group(pairs: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Scale the parts of a unit in the groups where it has too many rows; it is there but once."""
    rows, there = request.table.max_rows, pl.col("n").cast(pl.Int128)
    return pairs.with_columns(
        pl.when(there > rows)
        .then(_shrunk(pl.col(f"p{i}"), rows, there))
        .otherwise(pl.col(f"p{i}"))
        .alias(f"p{i}")
        for i, part in enumerate(request.parts)
        if not isinstance(part, CountUnits)
    )


def _shrunk(value: pl.Expr, factor: int, size: pl.Expr) -> pl.Expr:
    """Rounding toward zero never lengthens a unit's vector; // alone rounds down."""
    return (value.abs() * factor // size) * value.sign()


def factor_of(request: Request) -> int:
    """What a part of a heavy unit is multiplied with, before it is divided by the norm."""
    return request.table.max_rows << (20 if request.norm == 2 else 0)


def heavy_units(pairs: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Units above the bound: the norm `m` of their rows and `g` of their groups, where it is."""
    rows = request.table.max_rows
    bound = rows if request.norm == 1 else rows * rows
    rows_there = pl.col("n").cast(pl.Int128)
    weight = rows_there if request.norm == 1 else rows_there * rows_there
    units = pairs.group_by("u").agg(weight.sum().alias("m"), pl.len().cast(pl.Int128).alias("g"))
    heavy = units.filter((pl.col("m") > bound) | (pl.col("g") > bound))
    return heavy.select(
        "u",
        pl.when(pl.col("m") > bound).then(_norm(pl.col("m"), request.norm)).alias("m"),
        pl.when(pl.col("g") > bound).then(_groups_norm(request)).alias("g"),
    )


def _groups_norm(request: Request) -> pl.Expr:
    """The norm of the groups that a unit is in; TOO_WIDE where they are too many."""
    norm = _norm(pl.col("g"), request.norm)
    if request.most_groups is None:
        return norm
    too_wide = pl.lit(TOO_WIDE, dtype=pl.Int128)
    return pl.when(pl.col("g") > request.most_groups).then(too_wide).otherwise(norm)


def _norm(squared_or_sum: pl.Expr, norm: float) -> pl.Expr:
    """The norm as an integer, rounded up; for the Euclidean one, in units of 2^-20.

    The square root is correctly rounded and scaling by 2^20 is exact, so the factor 1 + 2^-40
    outweighs every rounding error, and the ceiling is at least the norm.
    """
    if norm == 1:
        return squared_or_sum
    root = squared_or_sum.cast(pl.Float64).sqrt() * 1048576.0
    return (root * (1 + 2**-40)).ceil().cast(pl.Int128)
