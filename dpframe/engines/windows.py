"""Windows and second aggregates over a noisy table, by DuckDB: its meaning of SQL is ours.

No private row comes here. The table was released, or it is one that its noise might have made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpframe.bounds.windows import PARTS_OF_RANK, QUANTILES, RANKS, SPREADS
from dpframe.engines.duckdb import scratch
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Literal, WindowCall
from dpframe.plan.functions.casts import POLARS_TYPES

INPUT = "__dpframe_over"
"""Columns whose names begin so hold what functions of many rows look at."""

_INDEX = f"{INPUT}_index"


def argument(number: int, place: int) -> str:
    """The column that holds an argument of the function with this number."""
    return f"{INPUT}{number}a{place}"


def partition(number: int, place: int) -> str:
    """The column that holds what rows are parted by."""
    return f"{INPUT}{number}p{place}"


def order(number: int, place: int) -> str:
    """The column that holds what rows are ordered by."""
    return f"{INPUT}{number}o{place}"


def where(number: int) -> str:
    """The column that holds the condition of FILTER."""
    return f"{INPUT}{number}w"


def windowed(
    frame: pl.DataFrame,
    calls: Mapping[int, tuple[str, WindowCall, Domain]],
    apart: Sequence[str] = (),
) -> pl.DataFrame:
    """The values of windows, row by row: a column for each, in the order of the rows.

    Rows that differ in the columns `apart` never see each other. Rows that an order leaves equal
    are taken in the order that they have.
    """
    if not calls:
        return pl.DataFrame()
    columns = []
    for number, (name, call, domain) in calls.items():
        parted = [*apart, *(partition(number, i) for i in range(len(call.partition)))]
        ordered = [
            f'"{order(number, i)}" {"DESC" if by.descending else "ASC"}'
            f" NULLS {'LAST' if by.nulls_last else 'FIRST'}"
            for i, by in enumerate(call.order)
        ]
        peers = ("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST")
        in_order = call.name not in peers and not call.frame.startswith("RANGE")
        if in_order and (call.frame or call.name in ("ROW_NUMBER", "NTILE", "LAG", "LEAD")):
            ordered.append(f'"{_INDEX}"')
        clauses = []
        if parted:
            clauses.append("PARTITION BY " + ", ".join(f'"{c}"' for c in parted))
        if ordered:
            clauses.append("ORDER BY " + ", ".join(ordered))
        framed = call.frame and call.name not in (*RANKS, *PARTS_OF_RANK, "LAG", "LEAD")
        clauses += [call.frame] if framed else []
        called = _call(call, number, over=f" OVER ({' '.join(clauses)})")
        columns.append(f'TRY_CAST({called} AS {domain.type.value}) AS "{name}"')
    sql = f'SELECT {", ".join(columns)} FROM noisy ORDER BY "{_INDEX}"'
    found = _run(sql, frame.with_row_index(_INDEX))
    return _in_types(found, calls)


def regrouped(
    frame: pl.DataFrame,
    keys: Sequence[str],
    calls: Mapping[int, tuple[str, AggregateCall, Domain]],
) -> pl.DataFrame:
    """One row per group of these columns, in their order, and a column for each aggregate."""
    columns = [f'"{key}"' for key in keys]
    for number, (name, call, domain) in calls.items():
        found = _call(call, number, kept=None if call.where is None else f'"{where(number)}"')
        columns.append(f'TRY_CAST({found} AS {domain.type.value}) AS "{name}"')
    if not columns:
        return pl.DataFrame()
    sql = f"SELECT {', '.join(columns)} FROM noisy"
    if keys:
        listed = ", ".join(f'"{key}"' for key in keys)
        ordered = ", ".join(f'"{key}" NULLS LAST' for key in keys)
        sql += f" GROUP BY {listed} ORDER BY {ordered}"
    shown = _run(sql, frame)
    return _in_types(shown, calls)


def _in_types(
    found: pl.DataFrame, calls: Mapping[int, tuple[str, WindowCall | AggregateCall, Domain]]
) -> pl.DataFrame:
    """The columns as the plan means them: what is no number is NULL."""
    typed = found.cast({name: POLARS_TYPES[d.type] for name, _, d in calls.values()})
    floats = [name for name, _, d in calls.values() if d.type is Type.FLOAT]
    return typed.with_columns(pl.col(floats).fill_nan(None)) if floats else typed


def _call(
    call: WindowCall | AggregateCall, number: int, kept: str | None = None, over: str = ""
) -> str:
    """A function of the rows that are `kept`, or of those that a window is `over`."""
    if call.name in _IN_ORDER:
        return _in_order(call, number, kept, over)
    name = QUANTILES.get(call.name) or SPREADS.get(call.name) or call.name
    listed = [f'"{argument(number, i)}"' for i in range(len(call.args))]
    if call.name in (*QUANTILES, "NTILE", "NTH_VALUE"):  # these take a constant
        last = call.args[-1]
        listed[-1:] = [repr(last.value)] if isinstance(last, Literal) else listed[-1:]
    where = "" if kept is None else f" FILTER (WHERE {kept})"
    return f"{name}({', '.join(listed) or ('*' if name == 'COUNT' else '')}){where}{over}"


_IN_ORDER = {
    "QUANTILE_nearest": ("FLOOR({} + 0.5)",),
    "QUANTILE_lower": ("FLOOR({})",),
    "QUANTILE_higher": ("CEIL({})",),
    "QUANTILE_midpoint": ("FLOOR({})", "CEIL({})"),
}
"""The number that a quantile is, or the two that it lies between, in the words of DuckDB.

Their places are counted from 0, and computed from (n - 1) * level as Polars does, in doubles.
"""


def _in_order(call: WindowCall | AggregateCall, number: int, kept: str | None, over: str) -> str:
    """A quantile that DuckDB has no name for: numbers by their places in order."""
    value, level = f'"{argument(number, 0)}"', call.args[-1]
    assert isinstance(level, Literal)
    where = f"{value} IS NOT NULL" + (f" AND {kept}" if kept is not None else "")
    numbers = f"LIST_SORT(LIST({value}) FILTER (WHERE {where}){over})"
    place = f"((LEN({numbers}) - 1) * CAST('{float(level.value)!r}' AS DOUBLE))"
    found = [
        f"{numbers}[CAST({rounded.format(place)} AS BIGINT) + 1]"
        for rounded in _IN_ORDER[call.name]
    ]
    if len(found) == 1:
        return found[0]
    return f"(CAST({found[0]} AS DOUBLE) + {found[1]}) / 2"


def _run(sql: str, frame: pl.DataFrame) -> pl.DataFrame:
    with scratch().cursor() as connection:
        # A table without columns has no rows to count.
        connection.register("noisy", frame.with_columns(pl.lit(0).alias(f"{INPUT}_none")))
        found: pl.DataFrame = connection.sql(sql).pl()
    return found
