"""CAST, total: a value that does not convert is NULL, on every engine the same.

Text is read as a number or a date only where it is written in plain ASCII form; engines differ in
what else they accept. Floats and timestamps are not written as text; engines differ there, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl

from dpframe.errors import InternalError
from dpframe.plan.domains import Domain, Type, boolean
from dpframe.plan.functions.base import Domains, Function, Params, Refused, ends, known, register
from dpframe.plan.sqltext import duckdb_literal

POLARS_TYPES: dict[Type, pl.DataType | type[pl.DataType]] = {
    Type.BOOL: pl.Boolean,
    Type.INT: pl.Int64,
    Type.FLOAT: pl.Float64,
    Type.TEXT: pl.String,
    Type.DATE: pl.Date,
    Type.TIMESTAMP: pl.Datetime("us"),
    Type.NULL: pl.Null,
}


def polars_type(kind: Type) -> pl.DataType:
    """The Polars type of a plan's type, as an instance."""
    found = POLARS_TYPES[kind]
    return found if isinstance(found, pl.DataType) else found()


TOWARD_ZERO, HALF_AWAY = "toward zero", "half away from zero"
"""How some dialects round in CAST(x AS INT); DuckDB and PostgreSQL round half to even."""

WHOLE = "whole"
"""Said of a float that is a whole number already, such as FLOOR(x): no dialect rounds it."""

_WIDTHS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}

_INTEGER_TEXT = r"^[+-]?[0-9]{1,18}$"
_FLOAT_TEXT = r"^[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,4})?$"
# Not the year 0000, which DuckDB takes for 1 BC; not 24:00:00 nor the leap second 23:59:60.
_DAY = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_DATE_TEXT = f"^{_DAY}$"
_TIMESTAMP_TEXT = f"^{_DAY} ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"


def target_of(params: Params) -> tuple[Type, int]:
    """The type that a CAST yields, and its width in bits where it is an integer.

    A second parameter says how a float becomes an integer, where that is not half to even.

    >>> target_of(("SMALLINT",))
    (<Type.INT: 'BIGINT'>, 16)
    """
    name = params[0]
    if name in _WIDTHS:
        return Type.INT, _WIDTHS[name]
    kinds = {
        "BOOLEAN": Type.BOOL,
        "DOUBLE": Type.FLOAT,
        "VARCHAR": Type.TEXT,
        "DATE": Type.DATE,
        "TIMESTAMP": Type.TIMESTAMP,
    }
    if name not in kinds:
        raise Refused(
            f"there is no CAST to {name}", f"cast to one of {', '.join([*_WIDTHS, *kinds])}"
        )
    return kinds[name], 64


_ALLOWED = {
    (Type.BOOL, Type.INT),
    (Type.BOOL, Type.FLOAT),
    (Type.BOOL, Type.TEXT),
    (Type.INT, Type.BOOL),
    (Type.INT, Type.FLOAT),
    (Type.INT, Type.TEXT),
    (Type.FLOAT, Type.INT),
    (Type.TEXT, Type.INT),
    (Type.TEXT, Type.FLOAT),
    (Type.TEXT, Type.DATE),
    (Type.TEXT, Type.TIMESTAMP),
    (Type.DATE, Type.TEXT),
    (Type.DATE, Type.TIMESTAMP),
    (Type.TIMESTAMP, Type.DATE),
}


def _coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    source, (target, _) = domains[0].type, target_of(params)
    if source not in (target, Type.NULL) and (source, target) not in _ALLOWED:
        raise Refused(
            f"a {source.value} does not convert to {target.value} the same way on every engine",
            "compare it or compute with it as it is",
        )
    return (source,)


def _domain(domains: Domains, params: Params) -> Domain:
    (arg,), (target, bits) = domains, target_of(params)
    if target is Type.BOOL:
        return boolean(arg.nullable)
    if target is Type.INT:
        return _integer_domain(arg, bits, params[1:])
    if target is Type.FLOAT and arg.type.is_number:
        low, high = ends(arg)
        return Domain(Type.FLOAT, known(float(low)), known(float(high)), arg.nullable)
    if target.is_temporal and arg.type.is_temporal and arg.is_bounded:
        low, high = arg.low, arg.high
        if target is Type.DATE and arg.type is Type.TIMESTAMP:
            low, high = low.date(), high.date()
        if target is Type.TIMESTAMP and arg.type is Type.DATE:
            low, high = (datetime(d.year, d.month, d.day) for d in (low, high))
        return Domain(target, low, high, arg.nullable)
    # Reading text can fail; writing text cannot.
    return Domain(target, nullable=arg.nullable or arg.type is Type.TEXT)


def _rounded(value: float, rounding: Params) -> int:
    if TOWARD_ZERO in rounding:
        return math.trunc(value)
    if HALF_AWAY in rounding:
        return int(math.copysign(math.floor(abs(value) + 0.5), value))
    return round(value)  # half to even


def _integer_domain(arg: Domain, bits: int, rounding: Params) -> Domain:
    if arg.type is Type.TEXT or not arg.is_bounded:
        return Domain(Type.INT)
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    low, high = (_rounded(end, rounding) for end in (arg.low, arg.high))
    fits = least <= low and high <= most
    low, high = min(max(low, least), most), max(min(high, most), least)
    return Domain(Type.INT, low, high, arg.nullable or not fits)


def _duckdb(args: Sequence[str], params: Params) -> str:
    """Render a cast from the type that the name says: see `rendered_cast`."""
    source, target, *rounding = params
    return _duckdb_cast(args[0], Type[source], target, rounding)


def _duckdb_cast(arg: str, source: Type, name: str, rounding: Sequence[str]) -> str:
    target, bits = target_of((name,))
    if source is Type.NULL:
        return f"CAST(NULL AS {target.value})"
    patterns = {
        Type.INT: _INTEGER_TEXT,
        Type.FLOAT: _FLOAT_TEXT,
        Type.DATE: _DATE_TEXT,
        Type.TIMESTAMP: _TIMESTAMP_TEXT,
    }
    if source is Type.TEXT and target in patterns:
        pattern = duckdb_literal(patterns[target])
        read = f"TRY_CAST({arg} AS {target.value})"
        if target is Type.FLOAT:  # a number too large to hold is no number
            read = f"NULLIF(NULLIF({read}, CAST('inf' AS DOUBLE)), CAST('-inf' AS DOUBLE))"
        read = f"CASE WHEN regexp_matches({arg}, {pattern}) THEN {read} END"
        return read if target is not Type.INT else _duckdb_within(read, bits)
    if source is Type.FLOAT and target is Type.INT:
        return _duckdb_within(duckdb_whole(arg, rounding), bits)
    if source is Type.INT and target is Type.INT:
        return _duckdb_within(arg, bits)
    if source is Type.INT and target is Type.BOOL:
        return f"({arg} <> 0)"
    return arg if source is target else f"CAST({arg} AS {target.value})"


def duckdb_whole(arg: str, rounding: Sequence[str], kind: str = "BIGINT") -> str:
    """A float as an integer of some type; NULL where it does not fit."""
    whole = f"TRUNC({arg})" if TOWARD_ZERO in rounding else arg
    whole = f"ROUND({arg})" if HALF_AWAY in rounding else whole
    return f"TRY_CAST({whole} AS {kind})"


def _duckdb_within(arg: str, bits: int) -> str:
    if bits == 64:
        return arg
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return f"CASE WHEN {arg} BETWEEN {low} AND {high} THEN {arg} END"


def _polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    source, name, *rounding = params
    (arg,), (target, bits) = args, target_of((name,))
    return _polars_cast(arg, Type[source], target, bits, rounding)


def _polars_cast(
    arg: pl.Expr, source: Type, target: Type, bits: int, rounding: Sequence[str]
) -> pl.Expr:
    match source, target:
        case (Type.TEXT, Type.INT):
            digits = arg.str.strip_prefix("+")
            number = pl.when(arg.str.contains(_INTEGER_TEXT)).then(digits)
            return _polars_within(number.cast(pl.Int64, strict=False), bits)
        case (Type.TEXT, Type.FLOAT):
            number = pl.when(arg.str.contains(_FLOAT_TEXT)).then(arg.str.strip_prefix("+"))
            value = number.cast(pl.Float64, strict=False)
            return pl.when(value.is_finite()).then(value)
        case (Type.TEXT, Type.DATE):
            day = pl.when(arg.str.contains(_DATE_TEXT)).then(arg)
            return day.str.to_date("%Y-%m-%d", strict=False)
        case (Type.TEXT, Type.TIMESTAMP):
            moment = pl.when(arg.str.contains(_TIMESTAMP_TEXT)).then(arg)
            return moment.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
        case (Type.FLOAT, Type.INT):
            if WHOLE in rounding:
                whole = arg
            elif TOWARD_ZERO in rounding:
                whole = pl.when(arg < 0).then(arg.ceil()).otherwise(arg.floor())
            else:
                away = HALF_AWAY in rounding
                whole = arg.round(0, mode="half_away_from_zero" if away else "half_to_even")
            return _polars_within(whole.cast(pl.Int64, strict=False), bits)
        case (Type.INT, Type.INT):
            return _polars_within(arg, bits)
        case (Type.INT, Type.BOOL):
            return arg != 0
        case _:
            return arg.cast(POLARS_TYPES[target], strict=False)


def _polars_within(arg: pl.Expr, bits: int) -> pl.Expr:
    if bits == 64:
        return arg
    return pl.when(arg.is_between(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)).then(arg)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function("cast", (), _coerce, _domain, _unresolved, _unresolved),
        Function(
            "convert",
            (),
            lambda domains, params: (domains[0].type,),
            lambda domains, params: _domain(domains, params[1:]),
            _duckdb,
            _polars,
            repeats=True,
        ),
    )


def _unresolved(args: Sequence[Any], params: Params) -> Any:
    raise InternalError("a cast reached an engine; the analysis makes each one a convert")
