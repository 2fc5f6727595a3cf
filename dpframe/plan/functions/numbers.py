"""Arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from dpframe.errors import InternalError
from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    any_nullable,
    corners,
    each,
    ends,
    integers_unless_overflow,
    numbers,
    register,
    spanning,
)
from dpframe.plan.functions.shifts import difference_instead, sum_instead
from dpframe.plan.sqltext import duckdb_literal

# Interval ends of + - * / sqrt floor ceil round are computed in the same IEEE arithmetic as the
# rows. Those operations round correctly, hence monotonically: the rounded ends enclose every
# rounded value and need no widening.


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b  # an unknown end times zero is zero


def _arithmetic(
    name: str,
    sql: str,
    operation: Callable[[Any, Any], Any],
    symbol: str,
    instead: Callable[[Domains, Params], tuple[str, Params] | None] = lambda domains, params: None,
) -> Function:
    interval = functools.partial(corners, operation)

    def domain(domains: Domains, params: Params) -> Domain:
        return spanning(domains[0].type, interval(domains), any_nullable(domains))

    def polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
        result: pl.Expr = operation_on_columns[symbol](*args)
        return result

    return Function(
        name,
        (sql,),
        integers_unless_overflow(interval),
        domain,
        lambda args, params: f"({args[0]} {symbol} {args[1]})",
        polars,
        may_be_nan=True,
        instead=instead,
    )


operation_on_columns: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _square_ends(domain: Domain) -> tuple[float, float]:
    low, high = ends(domain)
    squares = (_times(low, low), _times(high, high))
    return (0 if low <= 0 <= high else min(squares)), max(squares)


def _abs_ends(domain: Domain) -> tuple[float, float]:
    low, high = ends(domain)
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _one_argument(
    name: str,
    sql: tuple[str, ...],
    interval: Callable[[Domain], tuple[float, float]],
    duckdb: str,
    polars: Callable[[pl.Expr], pl.Expr],
) -> Function:
    return Function(
        name,
        sql,
        integers_unless_overflow(lambda domains: interval(domains[0])),
        lambda domains, params: spanning(
            domains[0].type, interval(domains[0]), domains[0].nullable
        ),
        lambda args, params: duckdb.format(args[0]),
        lambda args, params: polars(args[0]),
        may_be_nan=True,
        repeats=duckdb.count("{0}") > 1,
    )


# How far a number lies above the low end of a range; what lies outside counts as its ends. It is
# clamped first, even where a domain says that it is inside: an engine may compute a row that WHERE
# drops, which may hold anything, and the difference must not overflow there.


def _above_ends(domains: Domains, params: Params) -> Params:
    """The ends in the type of the argument; the caller has seen to it that they are close."""
    low, high = map(int if domains[0].type is Type.INT else float, params)
    if not 0 <= high - low < 2**63 and domains[0].type is Type.INT:
        raise InternalError("a range that is wider than 64 bits")
    return low, high


def _above_domain(domains: Domains, params: Params) -> Domain:
    low, high = _above_ends(domains, params)
    return Domain(domains[0].type, low - low, high - low, domains[0].nullable)


def _above_duckdb(args: Sequence[str], params: Params) -> str:
    low, high = map(duckdb_literal, params)
    clamped = f"CASE WHEN {args[0]} < {low} THEN {low} WHEN {args[0]} > {high} THEN {high}"
    return f"(({clamped} ELSE {args[0]} END) - {low})"


def _above_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    dtype = pl.Int64 if isinstance(params[0], int) else pl.Float64
    low, high = (pl.lit(end, dtype=dtype) for end in params)
    inside = pl.when(args[0] < low).then(low).when(args[0] > high).then(high).otherwise(args[0])
    return inside - low


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _arithmetic("add", "add", lambda a, b: a + b, "+", sum_instead),
        _arithmetic("subtract", "sub", lambda a, b: a - b, "-", difference_instead),
        _arithmetic("multiply", "mul", _times, "*"),
        _one_argument("square", (), _square_ends, "({0} * {0})", lambda x: x * x),
        _one_argument(
            "negate", ("neg",), lambda d: (-ends(d)[1], -ends(d)[0]), "(-{0})", lambda x: -x
        ),
        _one_argument("abs", ("abs",), _abs_ends, "ABS({0})", lambda x: x.abs()),
        Function(
            "above",
            (),
            numbers,
            _above_domain,
            _above_duckdb,
            _above_polars,
            repeats=True,
            fixed=_above_ends,
        ),
        Function(
            "sign",
            ("sign",),
            numbers,
            lambda domains, params: Domain(Type.INT, -1, 1, domains[0].nullable),
            lambda args, params: (
                f"CASE WHEN {args[0]} > 0 THEN CAST(1 AS BIGINT) WHEN {args[0]} < 0"
                f" THEN CAST(-1 AS BIGINT) WHEN {args[0]} = 0 THEN CAST(0 AS BIGINT) END"
            ),
            lambda args, params: (args[0] > 0).cast(pl.Int64) - (args[0] < 0).cast(pl.Int64),
            repeats=True,
        ),
        Function(
            "nan_to_null",
            (),
            each(Type.FLOAT),
            lambda domains, params: Domain(Type.FLOAT, domains[0].low, domains[0].high),
            lambda args, params: f"CASE WHEN NOT isnan({args[0]}) THEN {args[0]} END",
            lambda args, params: args[0].fill_nan(None),
            repeats=True,
        ),
    )
