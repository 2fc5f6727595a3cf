"""SQRT, LN, EXP and POWER.

LN, EXP and POWER do not round correctly, so their interval ends are widened by `outward`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type, outward
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    each,
    ends,
    register,
)


def _monotone(
    name: str,
    function: Callable[[float], float],
    start: float | None,
    closed: bool,
    duckdb: str,
    polars: Callable[[pl.Expr], pl.Expr],
) -> Function:
    """An increasing function on [start, inf), or (start, inf) if not `closed`; NULL elsewhere."""

    def inside(value: float) -> bool:
        return start is None or (value >= start if closed else value > start)

    def domain(domains: Domains, params: Params) -> Domain:
        low, high = ends(domains[0])
        # The least positive double bounds LN from below whatever the data holds.
        first: float = low if inside(low) else (0.0 if closed else 5e-324)
        image = [_at(function, first), _at(function, high) if inside(high) else math.nan]
        nullable = domains[0].nullable or not inside(low)
        if any(math.isnan(v) for v in image):
            return Domain(Type.FLOAT)
        found = outward(image[0], image[1])
        floor = 0.0 if name in ("sqrt", "exp") and (found[0] or 0) < 0 else found[0]
        return Domain(Type.FLOAT, floor, found[1], nullable)

    def render(args: Sequence[str], params: Params) -> str:
        if start is None:
            return f"{duckdb}({args[0]})"
        return f"CASE WHEN {args[0]} {'>=' if closed else '>'} 0 THEN {duckdb}({args[0]}) END"

    def on_columns(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
        (value,) = args
        if start is None:
            return polars(value)
        return pl.when(value >= 0 if closed else value > 0).then(polars(value))

    return Function(
        name, (name,), each(Type.FLOAT), domain, render, on_columns, repeats=start is not None
    )


def _at(function: Callable[[float], float], value: float) -> float:
    if math.isinf(value):
        return {True: math.inf, False: 0.0}[value > 0]
    try:
        return function(value)
    except OverflowError:
        return math.inf


_BY_MULTIPLICATION = 16
"""Whole powers are products, which every engine rounds alike; pow(x, 9.0) is not."""


def _exponent(params: Params) -> float:
    (exponent,) = params
    if isinstance(exponent, bool) or not isinstance(exponent, int | float):
        raise Refused("POWER takes a number as exponent", "POWER(x, 2)")
    whole = float(exponent).is_integer()
    if not abs(exponent) <= (_BY_MULTIPLICATION if whole else 1000):
        raise Refused(
            f"POWER takes whole exponents from -{_BY_MULTIPLICATION} to {_BY_MULTIPLICATION}, and"
            " others from -1000 to 1000",
            "POWER(x, 2), or EXP(20 * LN(x))",
        )
    return int(exponent) if whole else float(exponent)


def _power_domain(domains: Domains, params: Params) -> Domain:
    exponent, (arg,) = _exponent(params), domains
    low, high = ends(arg)
    whole = isinstance(exponent, int)
    undefined = (exponent < 0 and low <= 0 <= high) or (not whole and low < 0)
    nullable = arg.nullable or undefined
    if exponent < 0 and low <= 0 <= high:
        return Domain(Type.FLOAT)
    if not whole:
        low = max(low, 0.0)
        if high < 0:
            return Domain(Type.FLOAT)
    try:
        image = [e**exponent if math.isfinite(e) else _limit(e, exponent) for e in (low, high)]
    except (OverflowError, ZeroDivisionError):
        return Domain(Type.FLOAT)
    if whole and exponent > 0 and exponent % 2 == 0 and low <= 0 <= high:
        image.append(0.0)
    if whole and exponent == 0:
        image = [1.0]
    found = outward(float(min(image)), float(max(image)))
    floor = 0.0 if min(image) >= 0 and (found[0] or 0) < 0 else found[0]
    return Domain(Type.FLOAT, floor, found[1], nullable)


def _limit(end: float, exponent: float) -> float:
    if exponent < 0:
        return 0.0
    return math.inf if end > 0 or exponent % 2 == 0 else -math.inf


def _power_duckdb(args: Sequence[str], params: Params) -> str:
    exponent, (value,) = _exponent(params), args
    if isinstance(exponent, int):
        if exponent == 0:
            return f"CASE WHEN {value} IS NOT NULL THEN CAST(1 AS DOUBLE) END"
        product = "(" + " * ".join([value] * abs(exponent)) + ")"
        if exponent > 0:
            return product
        return f"CASE WHEN {product} <> 0 THEN CAST(1 AS DOUBLE) / {product} END"
    power = f"POW({value}, CAST('{float(exponent)!r}' AS DOUBLE))"
    return f"CASE WHEN {value} {'>' if exponent < 0 else '>='} 0 THEN {power} END"


def _power_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    exponent, (value,) = _exponent(params), args
    if isinstance(exponent, int):
        if exponent == 0:
            return pl.when(value.is_not_null()).then(pl.lit(1.0))
        product = functools.reduce(lambda a, b: a * b, [value] * abs(exponent))
        return product if exponent > 0 else pl.when(product != 0).then(1.0 / product)
    defined = value > 0 if exponent < 0 else value >= 0
    # Polars computes x ** 0.5 as a square root, but only where the exponent is a scalar.
    power = value.sqrt() if exponent == 0.5 else value.pow(pl.lit(float(exponent)))
    return pl.when(defined).then(power)


def _power_duckdb_root(args: Sequence[str], params: Params) -> str:
    if _exponent(params) == 0.5:
        return f"CASE WHEN {args[0]} >= 0 THEN SQRT({args[0]}) END"
    return _power_duckdb(args, params)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _monotone("sqrt", math.sqrt, 0.0, True, "SQRT", lambda x: x.sqrt()),
        _monotone("ln", math.log, 0.0, False, "LN", lambda x: x.log()),
        _monotone("exp", math.exp, None, True, "EXP", lambda x: x.exp()),
        Function(
            "power",
            ("pow",),
            each(Type.FLOAT),
            _power_domain,
            _power_duckdb_root,
            _power_polars,
            literals=1,
            may_be_nan=True,
            repeats=True,
        ),
    )
