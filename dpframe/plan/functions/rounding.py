"""FLOOR, CEIL and ROUND."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

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
    whole_step,
)
from dpframe.plan.sqltext import duckdb_literal

RoundMode = Literal["half_to_even", "half_away_from_zero"]


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
        is_whole=True,
        step=whole_step,
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


def step_of(params: Params) -> Fraction:
    """The distance between rounded numbers.

    >>> step_of((-3,)), step_of((2,))
    (Fraction(1000, 1), Fraction(1, 100))
    """
    return Fraction(10) ** -digits_of(params)


def rounded_at(value: float, digits: int, whole: Callable[[float], float]) -> float:
    """A number rounded at so many digits, by a rule that rounds to whole numbers."""
    if math.isinf(value):
        return value
    factor = float(10 ** abs(digits))
    scaled = value * factor if digits > 0 else value / factor
    if math.isinf(scaled):
        return scaled
    rounded = math.copysign(whole(scaled), scaled)
    return rounded / factor if digits > 0 else rounded * factor


def _half_away(value: float) -> float:
    # floor(|x| + 1/2) is wrong for the float just below a half; compare the fraction instead.
    whole = math.floor(abs(value))
    return whole + (abs(value) - whole >= 0.5)


def round_domain(
    domains: Domains, params: Params, whole: Callable[[float], float] = _half_away
) -> Domain:
    """Rounding is monotone, so the rounded ends enclose every rounded value."""
    (arg,) = domains
    if arg.type is Type.INT:
        return Domain(Type.INT, arg.low, arg.high, arg.nullable)
    rounded = [rounded_at(e, digits_of(params), whole) for e in ends(arg)]
    return spanning(Type.FLOAT, rounded, arg.nullable)


def round_duckdb(args: Sequence[str], params: Params, whole: str = "ROUND({})") -> str:
    """Rounding at some digits, by a function of DuckDB that rounds to whole numbers."""
    digits, (value,) = digits_of(params), args
    factor = duckdb_literal(float(10 ** abs(digits)))
    if digits == 0:
        return whole.format(value)
    if digits > 0:
        return f"({whole.format(f'{value} * {factor}')} / {factor})"
    return f"({whole.format(f'{value} / {factor}')} * {factor})"


def round_polars(
    args: Sequence[pl.Expr], params: Params, mode: RoundMode = "half_away_from_zero"
) -> pl.Expr:
    """Rounding at some digits, in one of the modes of Polars."""
    digits, (value,) = digits_of(params), args
    factor = pl.lit(float(10 ** abs(digits)))
    if digits == 0:
        return value.round(0, mode=mode)
    divisor = whole_array(factor, value)
    if digits > 0:
        return (value * factor).round(0, mode=mode) / divisor
    return (value / divisor).round(0, mode=mode) * factor


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
            round_duckdb,
            round_polars,
            literals=1,
            repeats=True,
            keeps_integers=True,
            step=step_of,
        ),
    )
