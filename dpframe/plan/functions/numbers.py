"""Arithmetic and mathematics."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from dpframe.plan.domains import Domain, Type, outward
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    each,
    ends,
    integers_unless_overflow,
    known,
    numbers,
    register,
    spanning,
    whole_array,
)
from dpframe.plan.functions.shifts import difference_instead, sum_instead

# Interval ends of + - * / sqrt floor ceil round are computed in the same IEEE arithmetic as the
# rows. Those operations round correctly, hence monotonically: the rounded ends enclose every
# rounded value and need no widening. LN, EXP and POWER are not correctly rounded: `outward`.


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b  # an unknown end times zero is zero


def _corners(operation: Callable[[Any, Any], float], domains: Domains) -> tuple[float, float]:
    values = [operation(a, b) for a, b in itertools.product(*(ends(d) for d in domains))]
    if any(math.isnan(v) for v in values):
        return -math.inf, math.inf
    return min(values), max(values)


def _arithmetic(
    name: str,
    sql: str,
    operation: Callable[[Any, Any], Any],
    symbol: str,
    instead: Callable[[Domains, Params], tuple[str, Params] | None] = lambda domains, params: None,
) -> Function:
    interval = functools.partial(_corners, operation)

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


# --- division ------------------------------------------------------------------------------------


def divide_domain(domains: Domains, params: Params) -> Domain:
    """The quotients, or nothing known where the divisor can be 0."""
    low, high = ends(domains[1])
    if low <= 0 <= high:
        return Domain(Type.FLOAT)
    quotients = _corners(lambda a, b: a / b, domains)
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


# --- ROUND ---------------------------------------------------------------------------------------


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


# --- SQRT, LN, EXP, POWER ------------------------------------------------------------------------


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
        _arithmetic("add", "add", lambda a, b: a + b, "+", sum_instead),
        _arithmetic("subtract", "sub", lambda a, b: a - b, "-", difference_instead),
        _arithmetic("multiply", "mul", _times, "*"),
        _one_argument("square", (), _square_ends, "({0} * {0})", lambda x: x * x),
        _one_argument(
            "negate", ("neg",), lambda d: (-ends(d)[1], -ends(d)[0]), "(-{0})", lambda x: -x
        ),
        _one_argument("abs", ("abs",), _abs_ends, "ABS({0})", lambda x: x.abs()),
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
