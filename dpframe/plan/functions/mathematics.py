"""Logarithms to a base, angles and their functions.

The mathematics library of the machine computes them on both engines alike; bounds are widened
outward, because it does not round correctly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type, outward
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    each,
    ends,
    numbers,
    register,
    spanning,
    whole_array,
    whole_step,
)
from dpframe.plan.sqltext import duckdb_literal

_NEAR = 2.0**-50
"""Relative distance at which a logarithm is taken for the whole number it should be."""


def _log_domain(base: float) -> Callable[[Domains, Params], Domain]:
    def domain(domains: Domains, params: Params) -> Domain:
        low, high = ends(domains[0])
        if high <= 0:
            return Domain(Type.FLOAT)
        first = low if low > 0 else 5e-324
        image = [math.log(e) / math.log(base) if math.isfinite(e) else e for e in (first, high)]
        # The whole number nearby, which the executed form is moved to, lies inside, too.
        found = outward(
            *(e + sign * _NEAR * 4 * abs(e) for e, sign in zip(image, (-1, 1), strict=True))
        )
        return Domain(Type.FLOAT, found[0], found[1], domains[0].nullable or low <= 0)

    return domain


def _log(name: str, base: float) -> Function:
    """A logarithm as a quotient of natural ones, whole where it should be: LOG10(1000) is 3."""
    unit = math.log(base)

    def duckdb(args: Sequence[str], params: Params) -> str:
        found = f"(LN({args[0]}) / {duckdb_literal(unit)})"
        near = f"ABS({found} - ROUND({found})) <= {duckdb_literal(_NEAR)} * ABS(ROUND({found}))"
        exact = f"CASE WHEN {near} THEN ROUND({found}) ELSE {found} END"
        return f"CASE WHEN {args[0]} > 0 THEN {exact} END"

    def polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
        positive = pl.when(args[0] > 0).then(args[0])
        found = positive.log() / whole_array(pl.lit(unit), positive)
        whole = found.round(0, mode="half_away_from_zero")
        near = (found - whole).abs() <= _NEAR * whole.abs()
        return pl.when(near).then(whole).otherwise(found)

    return Function(
        name, (name,), each(Type.FLOAT), _log_domain(base), duckdb, polars, repeats=True
    )


def _scaled(name: str, factor: float) -> Function:
    """DEGREES and RADIANS: a number times a constant."""
    return Function(
        name,
        (name,),
        each(Type.FLOAT),
        lambda domains, params: spanning(
            Type.FLOAT, [e * factor for e in ends(domains[0])], domains[0].nullable
        ),
        lambda args, params: f"({args[0]} * {duckdb_literal(factor)})",
        lambda args, params: args[0] * pl.lit(factor),
        may_be_nan=True,
    )


def _within(name: str, most: float, polars: Callable[[pl.Expr], pl.Expr]) -> Function:
    """A function with values from -most to most, NULL where its argument is infinite."""
    low, high = outward(-most, most)
    largest = duckdb_literal(1.7976931348623157e308)

    def on_columns(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
        (value,) = args
        return pl.when(value.is_finite()).then(polars(value))

    return Function(
        name,
        (name,),
        each(Type.FLOAT),
        lambda domains, params: Domain(
            Type.FLOAT, low, high, domains[0].nullable or not domains[0].is_bounded
        ),
        lambda args, params: (
            f"CASE WHEN ABS({args[0]}) <= {largest} THEN {name.upper()}({args[0]}) END"
        ),
        on_columns,
        repeats=True,
    )


def _truncate_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    if arg.type is Type.INT:
        return Domain(Type.INT, arg.low, arg.high, arg.nullable)
    return spanning(
        Type.FLOAT,
        [e if math.isinf(e) else float(math.trunc(e)) for e in ends(arg)],
        arg.nullable,
    )


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _log("log10", 10.0),
        _log("log2", 2.0),
        _scaled("degrees", 180 / math.pi),
        _scaled("radians", math.pi / 180),
        _within("sin", 1.0, lambda x: x.sin()),
        _within("cos", 1.0, lambda x: x.cos()),
        _within("atan", math.pi / 2, lambda x: x.arctan()),
        Function(
            "trunc",
            ("trunc",),
            numbers,
            _truncate_domain,
            lambda args, params: f"TRUNC({args[0]})",
            lambda args, params: (
                pl.when(args[0] < 0).then(args[0].ceil()).otherwise(args[0].floor())
            ),
            repeats=True,
            keeps_integers=True,
            step=whole_step,
        ),
    )
