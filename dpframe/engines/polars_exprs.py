"""Plan expressions as Polars expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from dpframe.declare import Table
from dpframe.errors import InternalError
from dpframe.plan.domains import FIRST_TIME, INT64, LAST_TIME, Domain, Type
from dpframe.plan.exprs import Call, Column, Expr, Literal
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import CodedSum

Read = Callable[[str], pl.Expr]
"""The expression that reads a column, by its name."""


def polars_of(expr: Expr, read: Read) -> pl.Expr:
    """The Polars form of an analysed expression."""
    match expr:
        case Column():
            return read(expr.name)
        case Literal():
            return pl.lit(expr.value, dtype=POLARS_TYPES[expr.type])
        case Call():
            args = [polars_of(arg, read) for arg in expr.args]
            return FUNCTIONS[expr.function].polars(args, expr.params)
    raise InternalError(f"no Polars form for a {type(expr).__name__}")


def reader(table: Table) -> Read:
    """Reads every column of a table through its declared domain."""
    return lambda name: read_column(table, name)


def read_column(table: Table, name: str) -> pl.Expr:
    """A column as the plan means it: NaN is NULL, and values lie in the declared domain."""
    domain, storage = table.domains[name], table.storage[name]
    value = pl.col(name)
    match domain.type:
        case Type.INT:
            value = _integer(value, domain, storage.low, storage.high).cast(pl.Int64)
        case Type.FLOAT:
            value = stored(table, name).fill_nan(None)
            if domain.is_bounded:
                value = value.clip(domain.low, domain.high)
        case Type.DATE if domain.is_bounded:
            value = _clamped(value, domain.low, domain.high)
        case Type.TIMESTAMP:
            value = _timestamp(value, domain)
        case _:
            value = stored(table, name)
    if domain.values is not None and domain.type is not Type.BOOL:
        value = pl.when(value.is_in(list(domain.values))).then(value)
    if not domain.nullable:
        value = value.fill_null(pl.lit(domain.low, dtype=POLARS_TYPES[domain.type]))
    return value


def stored(table: Table, name: str) -> pl.Expr:
    """A column in the plan's type, its values as they are."""
    storage = table.storage[name]
    if storage.exact or storage.type is None:
        return pl.col(name)
    return pl.col(name).cast(POLARS_TYPES[storage.type])


def _integer(value: pl.Expr, domain: Domain, least: int | None, most: int | None) -> pl.Expr:
    """Clamp in the stored type; a bound beyond that type is no bound."""
    low = INT64[0] if domain.low is None else domain.low
    high = INT64[1] if domain.high is None else domain.high
    if least is not None and most is not None:
        if low > most or high < least:  # the whole type lies on one side of the range
            end = low if low > most else high
            return pl.when(value.is_not_null()).then(pl.lit(end, dtype=pl.Int64))
        lower = low if low > least else None
        upper = high if high < most else None
        return value if lower is None and upper is None else value.clip(lower, upper)
    return value.clip(low, high)


def _clamped(value: pl.Expr, low: Any, high: Any) -> pl.Expr:
    return (
        pl.when(value < pl.lit(low))
        .then(pl.lit(low))
        .when(value > pl.lit(high))
        .then(pl.lit(high))
        .otherwise(value)
    )


def _timestamp(value: pl.Expr, domain: Domain) -> pl.Expr:
    """Microseconds, rounded down, inside the calendar that every engine shares."""
    low, high = domain.low or FIRST_TIME, domain.high or LAST_TIME
    return _clamped(value.cast(pl.Datetime("us")), low, high).cast(pl.Datetime("us"))


def code_of(part: CodedSum, table: Table) -> pl.Expr:
    """The integer code of a sum's expression, NULL where it adds nothing."""
    coding, expr = part.coding, part.expr
    value = polars_of(expr, reader(table))
    if coding.is_integer:
        # A bare column was clamped on reading; anything else is clamped here, whatever the
        # analysis proved: the sensitivity rests on this line alone.
        code = value if isinstance(expr, Column) else value.clip(coding.low, coding.high)
    else:
        if isinstance(expr, Column) and table.domains[expr.name].type is Type.FLOAT:
            domain = table.domains[expr.name]
            if domain.values is None:
                value = stored(table, expr.name)  # the clip below is the one it is read with
                if not domain.nullable:
                    value = value.fill_nan(None).fill_null(domain.low)
        low, high = coding.value(coding.low), coding.value(coding.high)
        bounded = value.cast(pl.Float64).fill_nan(None).clip(low, high)
        scaled = bounded * (2.0**coding.shift)
        code = scaled.round(0, mode="half_to_even").cast(pl.Int64)
    if part.condition is None:
        return code
    return pl.when(polars_of(part.condition, reader(table))).then(code)
