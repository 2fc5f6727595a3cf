"""Rows below an aggregate as Polars lazy frames."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dpframe.bounds.rows import (
    ON,
    UNIT,
    Grouped,
    Joined,
    Measure,
    Selected,
    Source,
    Stacked,
    Stored,
)
from dpframe.declare import Table
from dpframe.engines.polars_codes import code_of
from dpframe.engines.polars_exprs import (
    computed,
    filtered,
    polars_of,
    read_column,
    reader,
    with_stages,
)
from dpframe.plan.domains import INT64, Type
from dpframe.plan.exprs import Column
from dpframe.plan.functions.base import column
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import CodedSum
from dpframe.plan.stages import Staging

Frames = Mapping[str, pl.LazyFrame]
"""The data of registered tables, by name."""


def source_frame(source: Source, frames: Frames) -> pl.LazyFrame:
    """The rows of a source."""
    match source:
        case Stored():
            return frames[source.table.name]
        case Joined():
            return _joined(source, frames)
        case Stacked():
            return pl.concat([selected_frame(s, frames) for s in source.inputs])
        case Grouped():
            return _grouped(source, frames)


def selected_frame(selected: Selected, frames: Frames) -> pl.LazyFrame:
    """The rows of a selection."""
    table, staging = selected.table, Staging()
    read = reader(table)
    where = None if selected.where is None else staging.rewrite(selected.where)
    exprs = [(name, staging.rewrite(expr)) for name, expr in selected.columns]
    columns = [polars_of(expr, read).alias(name) for name, expr in exprs]
    if table.unit_column is not None:
        columns.append(shared_unit(table).alias(UNIT))
    rows = with_stages(source_frame(selected.source, frames), staging.stages, read)
    rows = filtered(rows, where, table)
    if not columns:
        return rows.select(pl.int_range(pl.len()).alias("one"))  # the rows still count
    return computed(rows, columns)


def shared_unit(table: Table) -> pl.Expr:
    """The unit in a type that all tables share; two units stay two."""
    name = str(table.unit_column)
    return column(name).cast(POLARS_TYPES[table.domains[name].type])


def _joined(source: Joined, frames: Frames) -> pl.LazyFrame:
    left, right = selected_frame(source.left, frames), selected_frame(source.right, frames)
    on = list(source.on)
    if source.one_match:
        right = right.unique(subset=on, keep="any")
    if UNIT not in on and source.right.table.unit_column is not None:
        right = right.drop(UNIT)
    if not on:
        return _beside_all(source, left, right)
    return left.join(right, on=on, how=source.how, nulls_equal=False, coalesce=True)


def _beside_all(source: Joined, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
    """A join that compares nothing: every row matches every row, or none if there are none."""
    every = pl.lit(0).alias(f"{ON}0")
    left, right = left.with_columns(every), right.with_columns(every)
    return left.join(right, on=f"{ON}0", how=source.how).drop(f"{ON}0")


def _grouped(source: Grouped, frames: Frames) -> pl.LazyFrame:
    table, rows = source.input.result, selected_frame(source.input, frames)
    measures = [_measure(m, table).alias(n) for n, m in source.measures]
    if not source.keys:
        return rows.select(measures or [pl.len().alias("one")])
    return rows.group_by([column(k) for k in source.keys]).agg(measures)


def _measure(measure: Measure, table: Table) -> pl.Expr:
    if measure.column is None:
        return pl.len().cast(pl.Int64)
    value = read_column(table, measure.column)
    match measure.kind:
        case "values":
            return value.count().cast(pl.Int64)
        case "distinct":
            return value.drop_nulls().n_unique().cast(pl.Int64)
        case "least" | "most":
            if table.domains[measure.column].type is Type.FLOAT:
                value = value + 0.0  # -0.0 and 0.0 are one number
            return value.min() if measure.kind == "least" else value.max()
    assert measure.coding is not None
    code = code_of(CodedSum(None, Column(measure.column), measure.coding), table)
    total = code.cast(pl.Int128).sum().clip(*INT64).cast(pl.Int64)
    return pl.when(code.count() > 0).then(total)
