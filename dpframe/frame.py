"""Method chaining: a lazy frame that can only be released."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from dpframe.bounds.analysis import condition, typed
from dpframe.declare import Storage, Table, Unit
from dpframe.errors import QueryError
from dpframe.frontends.histograms import histogram_plan
from dpframe.frontends.polars import PrivateRows
from dpframe.frontends.polars_aggregates import has_aggregate
from dpframe.frontends.polars_arguments import (
    Columns,
    IntoExpr,
    Named,
    Renaming,
    chosen,
    conditions,
    named_terms,
    not_null,
    renamed,
    source_code,
    without,
)
from dpframe.frontends.polars_joins import How, join_names, joined, unique_rows
from dpframe.frontends.polars_missing import no_attribute
from dpframe.frontends.polars_text import Written
from dpframe.frontends.polars_unseen import UnseenFrame, UnseenGroups
from dpframe.histogram import HistogramQuery
from dpframe.plan.bins import Closed, Wish
from dpframe.plan.domains import Domain, Type, in_words
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.functions.casts import polars_type
from dpframe.plan.nodes import Node, Scan
from dpframe.release.words import unit_text
from dpframe.summary import Analyse, Summary

Describe = Callable[[Node], Table]
"""What is known of the columns of rows that were joined or grouped."""


class Frame(UnseenFrame):
    """The rows of a table, to be filtered, computed with and aggregated, and never to be seen.

    Methods are those of `pl.LazyFrame` and take its expressions. Each one returns a new frame;
    nothing is read before `release`, which is a method of what `agg` and `select` make.
    """

    def __init__(
        self, rows: PrivateRows, analyse: Analyse, describe: Describe, written: str
    ) -> None:
        self._rows = rows
        self._analyse = analyse
        self._describe = describe
        self._written = written

    @classmethod
    def of_table(cls, table: Table, analyse: Analyse, describe: Describe) -> Frame:
        """All rows of a registered table; `session.table(name)` makes it."""
        columns: dict[str, Expr] = {name: Column(name) for name in table.storage}
        rows = _rows_over(Scan(table.name), table, columns)
        return cls(rows, analyse, describe, f'session.table("{table.name}")')

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
        of_rows = [(name, term) for name, term in given if not has_aggregate(term)]
        if given and not of_rows:
            return Summary(self._rows.aggregated([], given), self._analyse, written)
        if len(of_rows) < len(given):
            self._rows.select(of_rows)  # beside an aggregate, what is not known is to blame
        return Frame(self._rows.select(given), self._analyse, self._describe, written)

    def drop(self, *columns: Columns) -> Frame:
        """Leave columns out."""
        kept = without(columns, self._rows.schema)
        return self._with(self._rows.select(kept), "drop", repr(list(columns))[1:-1])

    def rename(self, mapping: Renaming) -> Frame:
        """Give columns other names."""
        given, names = renamed(mapping, self._rows.schema)
        return self._with(self._rows.select(given), "rename", repr(names))

    def drop_nulls(self, subset: Columns | None = None) -> Frame:
        """Leave rows out that have a NULL in one of these columns, or in any column."""
        names = self.columns if subset is None else chosen(subset, self._rows.schema)
        return self._with(self._rows.filter(not_null(names)), "drop_nulls", repr(names))

    # --- several tables --------------------------------------------------------------------------

    def join(
        self,
        other: Frame,
        on: Any = None,
        how: How = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
    ) -> Frame:
        """Put the rows of a public table beside these, or those of a private one by the unit.

        Each row then still belongs to one unit: the other side must be public, or the join must
        compare the units of both sides.
        """
        if not isinstance(other, Frame):
            raise QueryError(
                f"a {type(other).__name__} cannot be joined",
                why="only registered tables say whose rows they hold",
                fix='session.register("other", data, public=True), then .join(session.table('
                '"other"), on=...)',
            )
        if how not in ("inner", "left", "semi", "anti", "cross"):
            raise QueryError(
                f"how={how!r} is not answered",
                why="rows without a match on this side would belong to no unit",
                fix='how="inner", "left", "semi", "anti" or "cross"; for "right" swap the tables',
            )
        pairs = join_names(on, left_on, right_on, how, self.columns, other.columns)
        compared = ", ".join(a if a == b else f"{a} = {b}" for a, b in pairs)
        code = f'.join({other._written}, on="{compared}", how="{how}")'
        node, columns = joined(self._rows, other._rows, pairs, how, suffix, Written(code))
        return self._over(node, columns, code)

    def unique(
        self, subset: Columns | None = None, *, keep: str = "any", maintain_order: bool = False
    ) -> Frame:
        """One row for all that are equal, where the unit's column is among those compared."""
        if keep not in ("any", "first", "last") or maintain_order:
            raise QueryError(
                f"unique(keep={keep!r}, maintain_order={maintain_order!r}) is not answered",
                why="private rows have no order, and each stands for all that equal it",
                fix=".unique()",
            )
        names = None if subset is None else chosen(subset, self._rows.schema)
        node = unique_rows(self._rows, names, Written(".unique()"))
        return self._over(node, {name: Column(name) for name in self._rows.columns}, ".unique()")

    def _over(self, node: Node, columns: Mapping[str, Expr], code: str) -> Frame:
        table = self._describe(node)
        if isinstance(table.unit, Unit):
            unit = Column(table.unit.column)
            shown = [name for name, expr in columns.items() if expr == unit]
            named = replace(table.unit, column=shown[0] if shown else "unit")
            table = replace(table, unit=named)
        rows = _rows_over(node, replace(table, name="joined tables"), columns)
        return Frame(rows, self._analyse, self._describe, f"{self._written}{code}")

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

    def histogram(
        self,
        column: str | Sequence[str],
        *,
        bins: int | Mapping[str, int] | None = None,
        edges: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
        by: str | Sequence[str] = (),
        closed: Closed = "left",
        cumulative: bool = False,
        hierarchical: bool | None = None,
        margins: bool = False,
        nonnegative: bool = False,
        consistent: bool = False,
    ) -> HistogramQuery:
        """Count the rows in each bin of a column, or of two columns at once: a question to ask.

        `bins` cuts the declared range evenly, `edges` are the ends of the bins (of two columns,
        `bins={"age": 11}, edges={"cost": [...]}`), and without either, each value has a bin of its own
        where they are declared keys, conditions, or few whole numbers or days. `by` names columns
        whose groups are counted apart. One unit changes all bins together by no more than
        its weight, so bins are not paid for singly. A bin has its lower end, and with
        `closed="right"` its upper one.

        `cumulative` adds the rows below each upper end. Sums of many bins add up their noise:
        `hierarchical=True` counts coarser bins too, for a part of the cost, so that the error of a
        range of bins (`release.between(low, high)`) grows with the logarithm of their number. Of
        two columns, `margins=True` counts each column alone beside the cells, and the cells add up
        to that (`release.margin("age")`). Cumulative counts and margins are measured so where that
        is predicted to be better; `explain` and the answer say why.

        `nonnegative` raises counts below 0 to 0: then bins that are nearly empty come out too large
        on average, and so do sums over many bins. `consistent` takes the nearest counts that are
        not negative and add up: to the number of rows where that is public, else to their noisy
        total. Then nearly empty bins come out too large, and the others too small by as much.

        >>> import dpframe as dp
        >>> people = pl.DataFrame({"age": [31, 59]})
        >>> frame = people.dp.protect(dp.Budget(epsilon=1), columns={"age": dp.Range(0, 110)})
        >>> ages = frame.filter(pl.col("age") >= 18).histogram("age", bins=11, cumulative=True)
        >>> "counts  of the bins alone" in ages.explain(epsilon=0.5)
        True
        >>> ages.release(epsilon=0.5).frame.columns
        ['low', 'high', 'count', 'cumulative']
        """
        columns, groups = _names(column), _names(by)
        wish = Wish(cumulative, hierarchical, margins, nonnegative, consistent)
        rows = self._rows
        plan, shown = histogram_plan(
            rows, lambda expr: _domain(expr, rows.table), columns, bins, edges, groups, closed, wish
        )
        said = {"bins": bins, "edges": edges, "by": groups or None}
        options = [f"{name}={value!r}" for name, value in said.items() if value is not None]
        options += [f"{name}=True" for name in wish.asked]
        named = repr(columns[0]) if len(columns) == 1 else repr(columns)
        asked = f"{self._written}.histogram({', '.join([named, *options])})"
        found = self._analyse(plan, asked, shown=shown)
        assert isinstance(found, HistogramQuery)
        return found

    # --- what is known ---------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._rows.columns)

    def _code(self) -> str:
        return self._written

    def _types(self) -> Mapping[str, pl.DataType]:
        return self._rows.schema()

    def _with(self, rows: PrivateRows, method: str, arguments: str) -> Frame:
        return Frame(rows, self._analyse, self._describe, f"{self._written}.{method}({arguments})")

    def _known(self) -> list[tuple[str, str, str]]:
        found = []
        for name, expr in self._rows.columns.items():
            domain = _domain(expr, self._rows.table)
            if domain is None:
                found.append((name, "", "cannot be used"))
            else:
                found.append((name, domain.type.value, in_words(domain)))
        return found

    def _numbers(self) -> list[str]:
        """The columns that can be aggregated as they are."""
        table, found = self._rows.table, []
        for name, expr in self._rows.columns.items():
            domain = _domain(expr, table)
            if domain is None or not domain.is_bounded or name == table.unit_column:
                continue
            if domain.type in (Type.INT, Type.FLOAT):
                found.append(name)
        return found

    if not TYPE_CHECKING:  # so that a misspelt method is found before it is run

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # asked for by notebooks and by pickle, not by people
                raise AttributeError(name)
            raise no_attribute("a frame", name, self._written, self._numbers())

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


class GroupBy(UnseenGroups):
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

    def _code(self) -> str:
        return f"{self._frame._written}.group_by({source_code(self._keys)})"

    def _table_code(self) -> str:
        return self._frame._written

    def _types(self) -> Mapping[str, pl.DataType]:
        return self._rows.schema()

    def _numbers(self) -> list[str]:
        keys = {key for key, _ in self._keys}
        return [number for number in self._frame._numbers() if number not in keys]

    if not TYPE_CHECKING:  # so that a misspelt method is found before it is run

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise no_attribute("group_by(...)", name, self._code(), self._numbers())

    def __repr__(self) -> str:
        return f"<GroupBy: {source_code(self._keys)}; .agg(...) comes next>"


def _names(given: str | Sequence[str]) -> list[str]:
    """Names as they may be given; what is no name is refused later."""
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    return list(given) if listed else [given]  # type: ignore[list-item]


def _rows_over(base: Node, table: Table, columns: Mapping[str, Expr]) -> PrivateRows:
    def schema_of(given: Mapping[str, Expr]) -> dict[str, pl.DataType]:
        return {name: _dtype(expr, table) for name, expr in given.items()}

    return PrivateRows(table, base, columns, schema_of)


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
