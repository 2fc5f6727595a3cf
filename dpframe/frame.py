"""Method chaining: a lazy frame that can only be released."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import polars as pl

from dpframe.bounds.analysis import condition, typed
from dpframe.declare import Storage, Table
from dpframe.errors import QueryError
from dpframe.frontends.polars import PrivateRows
from dpframe.frontends.polars_aggregates import has_aggregate
from dpframe.frontends.polars_arguments import (
    Columns,
    IntoExpr,
    Named,
    chosen,
    conditions,
    named_terms,
    not_null,
    renamed,
    source_code,
    without,
)
from dpframe.plan.domains import Domain, Type, in_words
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.functions.casts import polars_type
from dpframe.release.explain import unit_text
from dpframe.summary import Analyse, Summary

_ROWS = "rows are private; only aggregates of them can be released"
_AGGREGATE = '.group_by("ward").agg(pl.len()), or .select(pl.len()) for all rows together'


class Frame:
    """The rows of a table, to be filtered, computed with and aggregated, and never to be seen.

    Methods are those of `pl.LazyFrame` and take its expressions. Each one returns a new frame;
    nothing is read before `release`, which is a method of what `agg` and `select` make.
    """

    def __init__(self, rows: PrivateRows, analyse: Analyse, written: str) -> None:
        self._rows = rows
        self._analyse = analyse
        self._written = written

    @classmethod
    def of_table(cls, table: Table, analyse: Analyse) -> Frame:
        """All rows of a registered table; `session.table(name)` makes it."""

        def schema_of(columns: Mapping[str, Expr]) -> dict[str, pl.DataType]:
            return {name: _dtype(expr, table) for name, expr in columns.items()}

        rows = PrivateRows(table, {name: Column(name) for name in table.storage}, schema_of)
        return cls(rows, analyse, f'session.table("{table.name}")')

    # --- row by row ------------------------------------------------------------------------------

    def filter(self, *predicates: IntoExpr | Iterable[IntoExpr], **constraints: Any) -> Frame:
        """Keep the rows where every predicate holds; `ward="er"` says that a column is equal."""
        given = conditions(predicates, constraints, self._rows.schema)
        rows = self._rows.filter(given)
        for predicate in rows.predicates[len(self._rows.predicates) :]:
            condition(predicate, rows.table.domains)  # said here, not at the end of the chain
        return self._with(rows, "filter", source_code(given))

    def with_columns(self, *exprs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Frame:
        """Add columns, or replace them; each row is computed from that row alone."""
        given = named_terms(exprs, named, self._rows.schema)
        return self._with(self._rows.with_columns(given), "with_columns", source_code(given))

    def select(self, *exprs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Frame | Summary:
        """Choose columns; or, if all are aggregates, aggregate all rows together."""
        given = named_terms(exprs, named, self._rows.schema)
        written = f"{self._written}.select({source_code(given)})"
        if given and all(has_aggregate(term) for _, term in given):
            return Summary(self._rows.aggregated([], given), self._analyse, written)
        return Frame(self._rows.select(given), self._analyse, written)

    def drop(self, *columns: Columns) -> Frame:
        """Leave columns out."""
        kept = without(columns, self._rows.schema)
        return self._with(self._rows.select(kept), "drop", repr(list(columns))[1:-1])

    def rename(self, mapping: Mapping[str, str]) -> Frame:
        """Give columns other names."""
        given = renamed(mapping, self._rows.schema)
        return self._with(self._rows.select(given), "rename", repr(dict(mapping)))

    def drop_nulls(self, subset: Columns | None = None) -> Frame:
        """Leave rows out that have a NULL in one of these columns, or in any column."""
        names = self.columns if subset is None else chosen(subset, self._rows.schema)
        return self._with(self._rows.filter(not_null(names)), "drop_nulls", repr(names))

    # --- aggregates ------------------------------------------------------------------------------

    def group_by(
        self, *by: IntoExpr | Iterable[IntoExpr], maintain_order: bool = False, **named: IntoExpr
    ) -> GroupBy:
        """Group rows by keys whose values are public: they follow from what was declared."""
        if maintain_order:
            raise QueryError(
                "maintain_order=True asks for the order of the rows",
                why="an order that follows the rows tells of them; groups are sorted by their keys",
                fix=".group_by(...).agg(...).sort(...)",
            )
        return GroupBy(self._rows, named_terms(by, named, self._rows.schema), self)

    # --- what rows cannot do ---------------------------------------------------------------------

    def release(self, **_: Any) -> NoReturn:
        """Refuse: rows are private."""
        raise QueryError(f"{self._written} returns rows", why=_ROWS, fix=_AGGREGATE)

    collect = cost = explain = query = release

    def sort(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: an order of rows couples units."""
        raise QueryError(
            "private rows are not sorted or cut",
            why="one unit could decide which rows of others are kept, so noise would not cover it",
            fix="aggregate first: .group_by(...).agg(...).sort(...).head(10)",
        )

    head = limit = tail = slice = top_k = bottom_k = sort

    def unique(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: which of several equal rows is kept couples units."""
        raise QueryError(
            "private rows are not made unique",
            why="a row of one unit would stand for those of others, so noise would not cover it",
            fix="count the protected units: .select(pl.col(unit).n_unique())",
        )

    # --- what is known ---------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._rows.columns)

    def _with(self, rows: PrivateRows, method: str, arguments: str) -> Frame:
        return Frame(rows, self._analyse, f"{self._written}.{method}({arguments})")

    def _known(self) -> list[tuple[str, str, str]]:
        found = []
        for name, expr in self._rows.columns.items():
            domain = _domain(expr, self._rows.table)
            if domain is None:
                found.append((name, "", "cannot be used"))
            else:
                found.append((name, domain.type.value, in_words(domain)))
        return found

    def __repr__(self) -> str:
        """Columns and what is declared of them; never a row."""
        known = self._known()
        widths = [max(len(row[i]) for row in known) for i in (0, 1)]
        lines = [f"<Frame of {self._rows.table.name}: private rows, not read>"]
        lines += [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in known]
        lines += [f"  protects {unit_text(self._rows.table)}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
            for row in self._known()
        )
        table = self._rows.table
        return (
            f"<p><b>{html.escape(table.name)}</b>: private rows, not read; protects"
            f" {html.escape(unit_text(table))}</p>"
            f"<table><tr><th>column</th><th>type</th><th>known</th></tr>{rows}</table>"
        )


class GroupBy:
    """Private rows in groups, to be aggregated."""

    def __init__(self, rows: PrivateRows, keys: Named, frame: Frame) -> None:
        self._rows, self._keys, self._frame = rows, keys, frame

    def agg(self, *aggs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Summary:
        """One row per group: the keys, and these aggregates."""
        given = named_terms(aggs, named, self._rows.schema)
        table = self._rows.aggregated(self._keys, given)
        by = source_code(self._keys)
        written = f"{self._frame._written}.group_by({by}).agg({source_code(given)})"
        return Summary(table, self._frame._analyse, written)

    def len(self, name: str = "len") -> Summary:
        """The number of rows of each group."""
        return self.agg(pl.len().alias(name))

    def __repr__(self) -> str:
        return f"<GroupBy: {source_code(self._keys)}; .agg(...) comes next>"


def _domain(expr: Expr, table: Table) -> Domain | None:
    """What is known of a column; None where it cannot be computed."""
    if isinstance(expr, Column):
        return table.domains.get(expr.name)
    try:
        return typed(expr, table.domains).domain
    except QueryError:
        return None


def _dtype(expr: Expr, table: Table) -> pl.DataType:
    """The type by which selectors choose: as stored for integers, else as computed."""
    domain = _domain(expr, table)
    if domain is None:
        return pl.Null()
    if isinstance(expr, Column) and domain.type is Type.INT:
        return _integer_type(table.storage[expr.name])
    return polars_type(domain.type)


def _integer_type(stored: Storage) -> pl.DataType:
    for bits, signed, unsigned in (
        (8, pl.Int8, pl.UInt8),
        (16, pl.Int16, pl.UInt16),
        (32, pl.Int32, pl.UInt32),
        (64, pl.Int64, pl.UInt64),
    ):
        if (stored.low, stored.high) == (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1):
            return signed()
        if (stored.low, stored.high) == (0, 2**bits - 1):
            return unsigned()
    return pl.Int64()
