"""What dataframes mean otherwise than SQL: floor division, half to even, clipping, NaN, stripping.

Where such a function means the same as one of SQL on the arguments at hand, it gives way to that
one (`Function.instead`), so that the same question has one fingerprint whichever way it was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from dpframe.errors import InternalError
from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    common_type,
    each,
    ends,
    known,
    literal_as,
    numbers,
    register,
    same_type,
    spanning,
    whole_step,
)
from dpframe.plan.functions.divisions import (
    divide_domain,
    divide_polars,
    divisors,
    integer_division,
)
from dpframe.plan.functions.rounding import (
    digits_of,
    round_domain,
    round_duckdb,
    round_polars,
    step_of,
)
from dpframe.plan.sqltext import duckdb_literal

_Rule = Callable[[Domains, Params], str | None]


def _by_name(rule: _Rule) -> Callable[[Domains, Params], tuple[str, Params] | None]:
    """Give way to the entry that a rule names, with the same parameters."""

    def instead(domains: Domains, params: Params) -> tuple[str, Params] | None:
        name = rule(domains, params)
        return None if name is None else (name, params)

    return instead


# --- division that rounds down -------------------------------------------------------------------


def _are_natural(domains: Domains) -> bool:
    """Whether no argument is negative: then rounding down and toward zero are one."""
    return all(d.type is not Type.FLOAT and d.low is not None and d.low >= 0 for d in domains)


def _floor_divide_instead(domains: Domains, params: Params) -> str | None:
    if Type.FLOAT in (d.type for d in domains):
        return "floor_quotient"
    return "integer_divide" if _are_natural(domains) else None


def _floor_divide_domain(domains: Domains, params: Params) -> Domain:
    dividend, divisor = domains
    corners = [_floored(a, b) for a in ends(dividend) for b in divisors(divisor)] or [0]
    low, high = ends(divisor)
    return spanning(Type.INT, corners, any_nullable(domains) or low <= 0 <= high)


def _floored(a: float, b: float) -> float:
    if math.isinf(a):
        return a * b
    if math.isinf(b):
        return 0 if a == 0 or (a < 0) == (b < 0) else -1
    return int(a) // int(b)


def _floor_modulo_domain(domains: Domains, params: Params) -> Domain:
    low, high = ends(domains[1])  # the remainder has the divisor's sign, and is nearer to zero
    nullable = any_nullable(domains) or low <= 0 <= high
    return Domain(Type.INT, known(min(0, low + 1)), known(max(0, high - 1)), nullable)


def _floor_divide_duckdb(args: Sequence[str], params: Params) -> str:
    dividend, divisor = args[0], _divisor(args[1])
    went_up = _went_up(dividend, divisor)
    return f"({dividend} // {divisor} - CASE WHEN {went_up} THEN 1 ELSE 0 END)"


def _floor_modulo_duckdb(args: Sequence[str], params: Params) -> str:
    dividend, divisor = args[0], _divisor(args[1])
    went_up = _went_up(dividend, divisor)
    return f"({dividend} % {divisor} + CASE WHEN {went_up} THEN {divisor} ELSE 0 END)"


def _divisor(text: str) -> str:
    """A divisor that is never 0. Inside a CASE, DuckDB may still divide constants by it, and stop."""
    return f"NULLIF({text}, 0)"


def _went_up(dividend: str, divisor: str) -> str:
    """Whether rounding toward zero, as DuckDB does, went up."""
    remainder = f"{dividend} % {divisor}"
    return f"({remainder} <> 0 AND ({remainder} < 0) <> ({divisor} < 0))"


def _floor_quotient_domain(domains: Domains, params: Params) -> Domain:
    found = divide_domain(domains, params)
    floors = [e if math.isinf(e) else float(math.floor(e)) for e in ends(found)]
    return spanning(Type.FLOAT, floors, found.nullable)


# --- truncation ----------------------------------------------------------------------------------


def _truncate_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    whole = [e if math.isinf(e) else float(math.trunc(e)) for e in ends(arg)]
    return spanning(Type.FLOAT, whole, arg.nullable)


# --- clipping ------------------------------------------------------------------------------------


def _clip_bounds(domains: Domains, params: Params) -> Params:
    """The bounds in the type of what is clipped, which keeps its type."""
    kind = domains[0].type
    if kind in (Type.TEXT, Type.BOOL):
        raise Refused(f"a {kind.value} has no bounds", "clip numbers, dates or timestamps")
    bounds = tuple(
        int(p) if kind is Type.INT and isinstance(p, float) and p.is_integer() else p
        for p in params
    )
    if kind is Type.INT and any(isinstance(b, float) for b in bounds):
        raise Refused("integers are clipped to integers", "clip(0, 10), or cast to pl.Float64")
    low, high = (literal_as(b, kind) for b in bounds)
    if low is not None and high is not None and low > high:
        raise Refused("the lower bound is above the upper one", "clip(lower, upper)")
    return (low, high)


def _clip_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    low, high = _clip_bounds(domains, params)

    def clipped(end: Any, unknown: Any) -> Any:
        end = unknown if end is None else end
        if end is None:
            return None
        end = end if low is None else max(end, low)
        return end if high is None else min(end, high)

    return Domain(arg.type, clipped(arg.low, low), clipped(arg.high, high), arg.nullable)


def _clip_duckdb(args: Sequence[str], params: Params) -> str:
    (value,), (low, high) = args, params
    arms = [
        f"WHEN {value} {symbol} {duckdb_literal(bound)} THEN {duckdb_literal(bound)}"
        for symbol, bound in (("<", low), (">", high))
        if bound is not None
    ]
    return f"CASE {' '.join(arms)} ELSE {value} END" if arms else value


def _clip_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    (value,), (low, high) = args, params
    result = value
    if high is not None:
        result = pl.when(value > pl.lit(high)).then(pl.lit(high)).otherwise(result)
    if low is not None:
        result = pl.when(value < pl.lit(low)).then(pl.lit(low)).otherwise(result)
    return result


# --- NaN, which is NULL here ---------------------------------------------------------------------


def _for_floats(name: str) -> Callable[[Domains, Params], str]:
    def instead(domains: Domains, params: Params) -> str:
        if domains[0].type not in (Type.FLOAT, Type.NULL):
            raise Refused(
                f"a {domains[0].type.value} is never NaN", "ask for NULL: is_null(), fill_null(x)"
            )
        return name

    return instead


def _exclusive_or(domains: Domains, params: Params) -> str:
    if any(d.type not in (Type.BOOL, Type.NULL) for d in domains):
        raise Refused("^ takes conditions", "(a > 0) ^ (b > 0)")
    return "not_equal"


def _whole_days(domains: Domains, params: Params) -> str:
    if any(d.type not in (Type.DATE, Type.NULL) for d in domains):
        raise Refused(
            "total_days counts the days between two dates",
            "(end.dt.date() - start.dt.date()).dt.total_days()",
        )
    return "days_between"


def _plus_instead(domains: Domains, params: Params) -> str:
    return "concat_operator" if Type.TEXT in (d.type for d in domains) else "add"


# --- text ----------------------------------------------------------------------------------------


def _strip(name: str, duckdb: str) -> Function:
    """Removes any of some characters from the ends of a text."""
    return Function(
        name,
        (),
        each(Type.TEXT),
        lambda domains, params: Domain(Type.TEXT, nullable=domains[0].nullable),
        lambda args, params: f"{duckdb}({args[0]}, {duckdb_literal(params[0])})",
        lambda args, params: getattr(args[0].str, name)(params[0]),
    )


def _bytes_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    if arg.values is None:
        return Domain(Type.INT, 0, None, arg.nullable)
    lengths = [len(v.encode()) for v in arg.values] or [0]
    return Domain(Type.INT, min(lengths), max(lengths), arg.nullable)


def _gives_way(
    name: str,
    instead: Callable[[Domains, Params], str],
    coerce: Callable[[Domains, Params], tuple[Type, ...]],
) -> Function:
    """An entry that always gives way to another, once the types of its arguments are known."""

    def never(*_: Any) -> Any:
        raise InternalError(f"{name} was to give way to another function")

    return Function(name, (), coerce, never, never, never, instead=_by_name(instead))


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _gives_way("plus", _plus_instead, same_type),
        _gives_way("xor", _exclusive_or, same_type),
        _gives_way("is_nan", _for_floats("is_null"), same_type),
        _gives_way("fill_nan", _for_floats("coalesce"), same_type),
        _gives_way("total_days", _whole_days, lambda domains, params: (Type.DATE, Type.DATE)),
        Function(
            "floor_divide",
            (),
            integer_division,
            _floor_divide_domain,
            _floor_divide_duckdb,
            lambda args, params: args[0] // pl.when(args[1] != 0).then(args[1]),
            repeats=True,
            instead=_by_name(_floor_divide_instead),
        ),
        Function(
            "floor_quotient",
            (),
            lambda domains, params: (numbers(domains), (Type.FLOAT, Type.FLOAT))[1],
            _floor_quotient_domain,
            lambda args, params: f"CASE WHEN {args[1]} <> 0 THEN FLOOR({args[0]} / {args[1]}) END",
            lambda args, params: divide_polars(args, params).floor(),
            step=whole_step,
            may_be_nan=True,
            repeats=True,
        ),
        Function(
            "floor_modulo",
            (),
            integer_division,
            _floor_modulo_domain,
            _floor_modulo_duckdb,
            lambda args, params: args[0] % pl.when(args[1] != 0).then(args[1]),
            repeats=True,
            instead=_by_name(lambda domains, params: "modulo" if _are_natural(domains) else None),
        ),
        Function(
            "round_even",
            (),
            lambda domains, params: numbers(domains) if digits_of(params) >= 0 else (Type.FLOAT,),
            lambda domains, params: round_domain(domains, params, round),
            lambda args, params: round_duckdb(args, params, "ROUND_EVEN({}, 0)"),
            lambda args, params: round_polars(args, params, "half_to_even"),
            repeats=True,
            step=step_of,
            keeps_integers=True,
        ),
        Function(
            "truncate",
            (),
            lambda domains, params: (domains[0].type,),
            _truncate_domain,
            lambda args, params: f"TRUNC({args[0]})",
            lambda args, params: (
                pl.when(args[0] < 0).then(args[0].ceil()).otherwise(args[0].floor())
            ),
            step=whole_step,
            repeats=True,
            instead=_by_name(lambda domains, _: None if domains[0].type is Type.FLOAT else ""),
        ),
        Function(
            "clip",
            (),
            lambda domains, params: (common_type(domains),),
            _clip_domain,
            _clip_duckdb,
            _clip_polars,
            repeats=True,
            fixed=_clip_bounds,
        ),
        _strip("strip_chars", "TRIM"),
        _strip("strip_chars_start", "LTRIM"),
        _strip("strip_chars_end", "RTRIM"),
        Function(
            "length_in_bytes",
            (),
            each(Type.TEXT),
            _bytes_domain,
            lambda args, params: f"STRLEN({args[0]})",
            lambda args, params: args[0].str.len_bytes().cast(pl.Int64),
        ),
    )
