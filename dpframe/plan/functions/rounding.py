"""FLOOR, CEIL and ROUND."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    ends,
    numbers,
    register,
    spanning,
    whole_array,
)


def _rounding(
    name: str, sql: tuple[str, ...], to_integer: Callable[[float], int], polars: str
) -> Function:
    """FLOOR and CEIL: integers stay as they are."""

    def domain(domains: Domains, params: Params) -> Domain:
        (arg,) = domains
        if arg.type is Type.INT:
            return Domain(Type.INT, arg.low, arg.high, arg.nullable)
        rounded = [e if math.isinf(e) else float(to_integer(e)) for e in ends(arg)]
        return spanning(Type.FLOAT, rounded, arg.nullable)

    return Function(
        name,
        sql,
        numbers,
        domain,
        lambda args, params: f"{name.upper()}({args[0]})",
        lambda args, params: getattr(args[0], polars)(),
        keeps_integers=True,
    )


def _round_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    types = numbers(domains)
    return types if digits_of(params) >= 0 else (Type.FLOAT,)


def digits_of(params: Params) -> int:
    """How many digits to round to."""
    digits = params[0] if params else 0
    if not isinstance(digits, int) or not -15 <= digits <= 15:
        raise Refused("ROUND takes a number of digits from -15 to 15", "ROUND(x, 2)")
    return digits


def _round_away(value: float, digits: int) -> float:
    if math.isinf(value):
        return value
    factor = float(10 ** abs(digits))
    scaled = value * factor if digits > 0 else value / factor
    if math.isinf(scaled):
        return scaled
    # floor(|x| + 1/2) is wrong for the float just below a half; compare the fraction instead.
    whole = math.floor(abs(scaled))
    rounded = math.copysign(whole + (abs(scaled) - whole >= 0.5), scaled)
    return rounded / factor if digits > 0 else rounded * factor


def round_domain(
    domains: Domains, params: Params, rounded_at: Callable[[float, int], float] = _round_away
) -> Domain:
    """Rounding is monotone, so the rounded ends enclose every rounded value."""
    (arg,) = domains
    if arg.type is Type.INT:
        return Domain(Type.INT, arg.low, arg.high, arg.nullable)
    rounded = [rounded_at(e, digits_of(params)) for e in ends(arg)]
    return spanning(Type.FLOAT, rounded, arg.nullable)


def _round_duckdb(args: Sequence[str], params: Params) -> str:
    digits = digits_of(params)
    if digits == 0:
        return f"ROUND({args[0]})"
    factor = f"CAST('{float(10 ** abs(digits))!r}' AS DOUBLE)"
    if digits > 0:
        return f"(ROUND({args[0]} * {factor}) / {factor})"
    return f"(ROUND({args[0]} / {factor}) * {factor})"


def _round_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    digits, (value,) = digits_of(params), args
    factor = pl.lit(float(10 ** abs(digits)))
    if digits == 0:
        return value.round(0, mode="half_away_from_zero")
    divisor = whole_array(factor, value)
    if digits > 0:
        return (value * factor).round(0, mode="half_away_from_zero") / divisor
    return (value / divisor).round(0, mode="half_away_from_zero") * factor


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _rounding("floor", ("floor",), math.floor, "floor"),
        _rounding("ceil", ("ceil",), math.ceil, "ceil"),
        Function(
            "round",
            ("round",),
            _round_coerce,
            round_domain,
            _round_duckdb,
            _round_polars,
            literals=1,
            repeats=True,
            keeps_integers=True,
        ),
    )
