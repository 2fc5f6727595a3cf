"""Division, whole division and remainders: by zero they are NULL."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    corners,
    ends,
    known,
    numbers,
    register,
    spanning,
    whole_array,
)


def divide_domain(domains: Domains, params: Params) -> Domain:
    """The quotients, or nothing known where the divisor can be 0."""
    low, high = ends(domains[1])
    if low <= 0 <= high:
        return Domain(Type.FLOAT)
    quotients = corners(lambda a, b: a / b, domains)
    return spanning(Type.FLOAT, quotients, any_nullable(domains))


def divide_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    """A quotient that depends on no other row, NULL where the divisor is 0."""
    numerator, denominator = args
    divisor = pl.when(denominator != 0).then(denominator)
    return numerator / whole_array(divisor, numerator)


def _truncated(a: float, b: float) -> float:
    if math.isinf(a):
        return a * b
    if math.isinf(b):
        return 0
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def divisors(domain: Domain) -> list[float]:
    """The divisors at which an integer quotient is extreme: the ends and the two units."""
    low, high = ends(domain)
    return [d for d in (low, high, 1, -1) if low <= d <= high and d != 0]


def integer_division(domains: Domains, params: Params) -> tuple[Type, ...]:
    """Take integers whose quotient and remainder cannot overflow."""
    types = numbers(domains)
    if Type.FLOAT in types:
        raise Refused(
            "integer division and MOD take integers",
            "divide with / and round with FLOOR, or convert with CAST(x AS BIGINT)",
        )
    dividend, divisor = domains
    positive = divisor.low is not None and divisor.low >= 0
    if not positive and not (dividend.is_bounded and divisor.is_bounded):
        raise Refused(
            "the quotient of unbounded integers may overflow",
            "declare dp.Range(low, high) for both columns, or divide with /",
        )
    least = -(2**63)
    if ends(divisor)[0] <= least or (ends(dividend)[0] <= least and ends(divisor)[0] < 0):
        raise Refused(
            "the least 64-bit integer has no opposite, so its quotient may overflow",
            "declare dp.Range(low, high) with a higher low, or divide with /",
        )
    return types


def _integer_division_domain(domains: Domains, params: Params) -> Domain:
    dividend, divisor = domains
    corners = [_truncated(a, b) for a in ends(dividend) for b in divisors(divisor)] or [0]
    low, high = ends(divisor)
    nullable = any_nullable(domains) or low <= 0 <= high
    return spanning(Type.INT, corners, nullable)


def _modulo_domain(domains: Domains, params: Params) -> Domain:
    dividend, divisor = domains
    low, high = ends(divisor)
    largest = max(abs(low), abs(high)) - 1
    nullable = any_nullable(domains) or low <= 0 <= high
    first, last = ends(dividend)
    return Domain(
        Type.INT,
        0 if first >= 0 else known(max(first, -max(largest, 0))),
        0 if last <= 0 else known(min(last, max(largest, 0))),
        nullable,
    )


def _truncated_remainder(dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """SQL's remainder has the sign of the dividend; Polars' has that of the divisor."""
    size = pl.when(divisor != 0).then(divisor.abs())
    floored = dividend % size
    return pl.when((dividend < 0) & (floored != 0)).then(floored - size).otherwise(floored)


def _integer_division_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    dividend, divisor = args
    exact = dividend - _truncated_remainder(dividend, divisor)
    return exact // pl.when(divisor != 0).then(divisor)


def _whole_quotient(domains: Domains, params: Params) -> tuple[str, Params] | None:
    """Integers divided as integers, which "typed" asks for: so PostgreSQL and others do."""
    whole = "typed" in params and Type.FLOAT not in numbers(domains)
    return ("integer_divide", ()) if whole else None


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "divide",
            ("div",),
            lambda domains, params: (numbers(domains), (Type.FLOAT, Type.FLOAT))[1],
            divide_domain,
            lambda args, params: f"CASE WHEN {args[1]} <> 0 THEN {args[0]} / {args[1]} END",
            divide_polars,
            may_be_nan=True,
            repeats=True,
            fixed=lambda domains, params: (),
            instead=_whole_quotient,
        ),
        Function(
            "integer_divide",
            ("intdiv",),
            integer_division,
            _integer_division_domain,
            lambda args, params: f"CASE WHEN {args[1]} <> 0 THEN {args[0]} // {args[1]} END",
            _integer_division_polars,
            repeats=True,
        ),
        Function(
            "modulo",
            ("mod",),
            integer_division,
            _modulo_domain,
            lambda args, params: f"CASE WHEN {args[1]} <> 0 THEN {args[0]} % {args[1]} END",
            lambda args, params: _truncated_remainder(args[0], args[1]),
            repeats=True,
        ),
    )
