"""Plan expressions as Polars expressions."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from dpframe.declare import Table
from dpframe.engines.comparisons import as_stored
from dpframe.engines.storage import unlisted_integer
from dpframe.errors import InternalError
from dpframe.plan.domains import (
    FIRST_DAY,
    FIRST_TIME,
    INT64,
    LAST_DAY,
    LAST_TIME,
    Domain,
    Type,
)
from dpframe.plan.exprs import Call, Column, Expr, Literal, columns_of, conjunction, conjuncts
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.functions.base import column
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.nodes import RESERVED
from dpframe.plan.stages import STAGED, Stages

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
    return lambda name: pl.col(name) if name.startswith(STAGED) else read_column(table, name)


def computed(rows: pl.LazyFrame, columns: Sequence[pl.Expr]) -> pl.LazyFrame:
    """These columns and no others, each under its name.

    They are computed under names that are not taken. Polars merges steps, and then a column that
    takes the name of one that others still read is read in its place: of a table with a text called
    "c1", the codes of a sum were read instead.
    """
    prefix, taken = f"{RESERVED}_own", rows.collect_schema().names()
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    own = [f"{prefix}{i}" for i in range(len(columns))]
    # Not `select` at once: of constants alone (SUM(1), FILTER (WHERE TRUE)) it makes a single row.
    apart = rows.with_columns(c.alias(name) for c, name in zip(columns, own, strict=True))
    names = [c.meta.output_name() for c in columns]
    return apart.select(pl.col(o).alias(n) for o, n in zip(own, names, strict=True))


def with_stages(rows: pl.LazyFrame, stages: Stages, read: Read) -> pl.LazyFrame:
    """The rows with the columns of every stage beside them."""
    for stage in stages:
        rows = rows.with_columns(polars_of(expr, read).alias(name) for name, expr in stage)
    return rows


_ROW_BY_ROW = pl.QueryOptFlags(predicate_pushdown=False)


def collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """Compute what is asked of rows, on the engine that streams them.

    No condition moves down to where files are scanned: there it may be answered by statistics, which
    other rows decide on.
    """
    return rows.collect(engine="streaming", optimizations=_ROW_BY_ROW)


def filtered(rows: pl.LazyFrame, where: Expr | None, table: Table) -> pl.LazyFrame:
    """The rows of a condition; they are read as they are where that suffices."""
    conditions = [(as_stored(c, table), c) for c in conjuncts(where)]
    plain = [polars_of(p, lambda name: stored(table, name)) for p, _ in conditions if p is not None]
    others = conjunction(tuple(c for p, c in conditions if p is None))
    masks = plain if others is None else [*plain, _row_mask(others, table, reader(table))]
    return rows.filter(functools.reduce(operator.and_, masks)) if masks else rows


def _row_mask(condition: Expr, table: Table, read: Read) -> pl.Expr:
    """A condition to filter by, as a whole array whatever it is made of.

    Polars takes a condition that came out as one value for a batch (computed from constants, or a
    choice that all rows of the batch make alike) for a mask of one row. How many rows pass would
    then depend on where a batch ends, which is to say on other rows. Arithmetic with a column makes
    it as long as the column, and unlike AND it is not taken apart when filters are moved.
    """
    named = columns_of(condition) or tuple(table.storage)
    some = pl.col(named[0]) if named[0].startswith(STAGED) else column(named[0])
    holds = polars_of(condition, read).cast(pl.Int8)
    return (holds + some.is_null().cast(pl.Int8) * 2) % 2 == 1


def read_column(table: Table, name: str) -> pl.Expr:
    """A column as the plan means it: NaN is NULL, and values lie in the declared domain."""
    domain, storage = table.domains[name], table.storage[name]
    value = stored(table, name)
    if domain.values is not None:
        # Not clamped first: that would make a listed key of a value beyond the last one.
        value = pl.when(value.is_in(list(domain.values))).then(value)
        value = value.cast(POLARS_TYPES[domain.type])
        if domain.nullable or not domain.values:
            return value
        return value.fill_null(pl.lit(domain.values[0], dtype=POLARS_TYPES[domain.type]))
    match domain.type:
        case Type.INT:
            value = _integer(column(name), domain, storage.low, storage.high).cast(pl.Int64)
        case Type.FLOAT if domain.is_bounded:
            value = bounded_float(value, domain.low, domain.high)
        case Type.FLOAT:
            value = value.fill_nan(None)
        case Type.DATE:
            value = _clamped(value, domain.low or FIRST_DAY, domain.high or LAST_DAY)
        case Type.TIMESTAMP if domain.is_bounded:
            value = _clamped(value, domain.low, domain.high)
    if not domain.nullable:
        value = value.fill_null(pl.lit(domain.low, dtype=POLARS_TYPES[domain.type]))
    return value


def stored(table: Table, name: str) -> pl.Expr:
    """A column in the plan's type (integers of up to 64 bits in their own), its values as they are."""
    storage, value = table.storage[name], column(name)
    if storage.type is Type.TIMESTAMP:
        return _microseconds(value, storage.name)
    if storage.is_wide:
        unlisted = pl.lit(unlisted_integer(table.domains[name]), dtype=pl.Int64)
        inside = value.cast(pl.Int64, strict=False).fill_null(unlisted)
        return pl.when(value.is_not_null()).then(inside)
    if storage.exact or storage.type is None:
        return value
    return value.cast(POLARS_TYPES[storage.type])


def _integer(value: pl.Expr, domain: Domain, least: int | None, most: int | None) -> pl.Expr:
    """Clamp in the stored type; a bound beyond that type is no bound."""
    low = INT64[0] if domain.low is None else domain.low
    high = INT64[1] if domain.high is None else domain.high
    if least is not None and most is not None:
        if low > most or high < least:  # the whole type lies on one side of the range
            end = low if low > most else high
            return pl.when(value.is_not_null()).then(pl.lit(end, dtype=pl.Int64))
        if low <= least and high >= most:
            return value
        if least >= INT64[0] and most <= INT64[1]:
            return bounded(value.cast(pl.Int64), pl.lit(low, pl.Int64), pl.lit(high, pl.Int64))
        return value.clip(low if low > least else None, high if high < most else None)
    return bounded(value, pl.lit(low, pl.Int64), pl.lit(high, pl.Int64))


def bounded(value: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """What `clip` means of integers, at a fraction of its cost."""
    return pl.when(value > high).then(high).when(value < low).then(low).otherwise(value)


def bounded_float(value: pl.Expr, low: float, high: float) -> pl.Expr:
    """The same of floats, where NaN is NULL: it is the one number that exceeds infinity.

    For doubles the horizontal functions are faster; they skip NULL.
    """
    inside = pl.max_horizontal(pl.min_horizontal(value, pl.lit(high)), pl.lit(low))
    return pl.when(value <= pl.lit(math.inf)).then(inside)


def _clamped(value: pl.Expr, low: Any, high: Any) -> pl.Expr:
    return (
        pl.when(value < pl.lit(low))
        .then(pl.lit(low))
        .when(value > pl.lit(high))
        .then(pl.lit(high))
        .otherwise(value)
    )


_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = ((end - _EPOCH) // timedelta(microseconds=1) for end in (FIRST_TIME, LAST_TIME))
_MILLISECONDS, _NANOSECONDS = str(pl.Datetime("ms")), str(pl.Datetime("ns"))


def _microseconds(value: pl.Expr, kind: str) -> pl.Expr:
    """Microseconds, rounded down, inside the calendar that every engine shares.

    Counted in integers: a cast from milliseconds stops at the first one that it cannot hold.
    """
    count = value.to_physical()
    if kind == _MILLISECONDS:
        count = count.clip(_FIRST // 1000, _LAST // 1000) * 1000
    elif kind == _NANOSECONDS:
        count = count // 1000
    return count.clip(_FIRST, _LAST).cast(pl.Datetime("us"))
