"""A noisy table to be: aggregates, what is done with them afterwards, and their release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn, Protocol

import polars as pl

from dpframe.budget.exact import Number
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError, QueryError
from dpframe.frontends.polars import NoisyTable
from dpframe.frontends.polars_arguments import (
    Columns,
    IntoExpr,
    Named,
    Renaming,
    chosen,
    conditions,
    flat,
    named_terms,
    not_null,
    renamed,
    source_code,
    terms,
    without,
)
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import code_of
from dpframe.frontends.polars_unseen import UnseenAnswer
from dpframe.frontends.polars_winners import best_rows
from dpframe.plan.domains import INT64
from dpframe.plan.functions.casts import polars_type
from dpframe.plan.nodes import Node, list_name
from dpframe.plan.shown import Shown
from dpframe.query import Query
from dpframe.release.table import Release


class Analyse(Protocol):
    """Makes a question of a plan and of what was written."""

    def __call__(
        self, plan: Node, asked: str, *, shown: Shown | None = None, bounds: str | None = None
    ) -> Query:
        """Analyse a plan; `shown` says what it shows, if it is a histogram that was asked for.

        With `bounds="auto"` the ranges that it lacks are learned.
        """


class Summary(UnseenAnswer):
    """A noisy table to be: aggregates of private rows, and what is done with them afterwards.

    Everything here is computed from noisy numbers, so it costs nothing beyond the release.
    """

    def __init__(self, table: NoisyTable, analyse: Analyse, written: str) -> None:
        self._table = table
        self._analyse = analyse
        self._written = written
        self._query: Query | None = None

    # --- afterwards ------------------------------------------------------------------------------

    def filter(self, *predicates: IntoExpr | Iterable[IntoExpr], **constraints: Any) -> Summary:
        """Keep the rows whose noisy values meet every predicate, as HAVING does."""
        given = conditions(predicates, constraints, self._schema)
        return self._with(self._table.filter(given), "filter", source_code(given))

    def with_columns(self, *exprs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Summary:
        """Add columns that are computed from noisy ones, or replace them."""
        given = named_terms(exprs, named, self._schema)
        return self._with(self._table.with_columns(given), "with_columns", source_code(given))

    def select(self, *exprs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Summary:
        """Choose columns; or the best rows of them: `pl.col("ward").max_by("len")`."""
        given = named_terms(exprs, named, self._schema)
        if not given:
            raise QueryError(
                "no column is selected", why="an answer has columns", fix='.select("len")'
            )
        best, table, shown = best_rows(given), self._table, given
        if best is not None:
            last = [True] * len(best.by)
            table, shown = table.sort(best.by, best.descending, last).limit(best.rows), best.shown
        return self._with(table.select(shown), "select", source_code(given))

    def drop(self, *columns: Columns) -> Summary:
        """Leave columns out."""
        kept = without(columns, self._schema)
        return self._with(self._table.select(kept), "drop", repr(list(columns))[1:-1])

    def rename(self, mapping: Renaming) -> Summary:
        """Give columns other names."""
        given, names = renamed(mapping, self._schema)
        return self._with(self._table.select(given), "rename", repr(names))

    def drop_nulls(self, subset: Columns | None = None) -> Summary:
        """Leave rows out that have a NULL in one of these columns, or in any column."""
        names = self.columns if subset is None else chosen(subset, self._schema)
        return self._with(self._table.filter(not_null(names)), "drop_nulls", repr(names))

    def sort(
        self,
        by: IntoExpr | Iterable[IntoExpr],
        *more_by: IntoExpr,
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
    ) -> Summary:
        """Order the rows by noisy values or by keys."""
        keys = self._sort_keys([by, *more_by])
        down, last = (_for_each(g, len(keys)) for g in (descending, nulls_last))
        arguments = [code_of(key) for key in keys]
        arguments += [f"descending={descending!r}"] if any(down) else []
        arguments += [f"nulls_last={nulls_last!r}"] if any(last) else []
        return self._with(self._table.sort(keys, down, last), "sort", ", ".join(arguments))

    def head(self, n: int = 5) -> Summary:
        """Keep the first rows; `sort` first, or they are those with the least keys."""
        return self._with(self._table.limit(_rows(n)), "head", str(n))

    def limit(self, n: int = 5) -> Summary:
        """Keep the first rows: another name of `head`."""
        return self.head(n)

    def first(self) -> Summary:
        """Keep the first row, as `head(1)` does."""
        return self.head(1)

    def tail(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: rows are counted from the start."""
        raise QueryError(
            "the last rows are not cut off",
            why="rows are counted from the start, and sorted the other way round the last are first",
            fix='.sort("len", descending=True).head(1), or .bottom_k(1, by="len")',
        )

    last = tail

    def slice(self, offset: int, length: int | None = None) -> Summary:
        """Keep some rows from an offset on."""
        rows = None if length is None else _rows(length)
        return self._with(self._table.limit(rows, _rows(offset)), "slice", f"{offset}, {length}")

    def top_k(
        self,
        k: int,
        *,
        by: IntoExpr | Iterable[IntoExpr],
        reverse: bool | Sequence[bool] = False,
    ) -> Summary:
        """Keep the rows with the largest noisy values."""
        return self._best("top_k", k, by, reverse, largest=True)

    def bottom_k(
        self,
        k: int,
        *,
        by: IntoExpr | Iterable[IntoExpr],
        reverse: bool | Sequence[bool] = False,
    ) -> Summary:
        """Keep the rows with the smallest noisy values."""
        return self._best("bottom_k", k, by, reverse, largest=False)

    def group_by(self, *by: IntoExpr | Iterable[IntoExpr], **named_by: IntoExpr) -> Regrouping:
        """Group the noisy rows again, by some of their keys; `.agg(...)` comes next."""
        return Regrouping(self, named_terms(by, named_by, self._schema))

    def _best(
        self,
        method: str,
        k: int,
        by: IntoExpr | Iterable[IntoExpr],
        reverse: bool | Sequence[bool],
        *,
        largest: bool,
    ) -> Summary:
        keys = self._sort_keys([by])
        down = [largest != turned for turned in _for_each(reverse, len(keys))]
        found = self._table.sort(keys, down, [True] * len(keys)).limit(_rows(k))
        return self._with(found, method, f"{k}, by=[{', '.join(map(code_of, keys))}]")

    def _sort_keys(self, by: Iterable[Any]) -> list[Term]:
        return [term for each in flat(by) for term in terms(each, self._schema)]

    # --- asking ----------------------------------------------------------------------------------

    def query(self, *, bounds: Literal["auto"] | None = None) -> Query:
        """The question, analysed; it costs nothing yet."""
        if bounds is not None:
            return self._analyse(self._table.plan(), self._written, bounds=bounds)
        if self._query is None:
            self._query = self._analyse(self._table.plan(), self._written)
        return self._query

    def cost(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        bounds: Literal["auto"] | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> Loss:
        """What a release would be charged. It spends nothing."""
        return self.query(bounds=bounds).cost(
            epsilon=epsilon,
            rho=rho,
            share=share,
            error=error,
            confidence=confidence,
            delta=delta,
            error_bars=error_bars,
            fresh=fresh,
        )

    def explain(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        bounds: Literal["auto"] | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> str:
        """The plan, sensitivities, noise, predicted error and cost, in words. It spends nothing."""
        return self.query(bounds=bounds).explain(
            epsilon=epsilon,
            rho=rho,
            share=share,
            error=error,
            confidence=confidence,
            delta=delta,
            error_bars=error_bars,
            fresh=fresh,
        )

    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        bounds: Literal["auto"] | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> Release:
        """Charge the cost, then measure, add noise and finish; see `Session.sql`."""
        return self.query(bounds=bounds).release(
            epsilon=epsilon,
            rho=rho,
            share=share,
            error=error,
            confidence=confidence,
            delta=delta,
            error_bars=error_bars,
            fresh=fresh,
        )

    def collect(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: an answer has a price, which `release` asks for."""
        raise QueryError(
            "answers are released, not collected",
            why="each answer is charged to the session's budget, so its cost has to be said",
            fix=".release(epsilon=0.1)",
        )

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(map(list_name, self._table.columns)))

    def _table_code(self) -> str:
        return self._written

    def _schema(self) -> Mapping[str, pl.DataType]:
        """The types by which selectors choose; they follow from the analysis."""
        return {name: polars_type(domain.type) for name, domain in self.query().columns.items()}

    def _with(self, table: NoisyTable, method: str, arguments: str) -> Summary:
        return Summary(table, self._analyse, f"{self._written}.{method}({arguments})")

    def __repr__(self) -> str:
        return f"<Summary: {', '.join(self.columns)}; .release(epsilon=...) answers it>"


class Regrouping:
    """A noisy table in groups, to be aggregated again. It costs nothing beyond the release."""

    def __init__(self, summary: Summary, keys: Named) -> None:
        self._summary, self._keys = summary, keys

    def agg(self, *aggs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Summary:
        """One row per group: the keys, and these aggregates of noisy columns."""
        given = named_terms(aggs, named, self._summary._schema)
        table = self._summary._table.aggregated(self._keys, given)
        return self._summary._with(
            table, f"group_by({source_code(self._keys)}).agg", source_code(given)
        )

    def head(self, n: int = 5) -> Summary:
        """The first rows of each group; `sort` says which they are."""
        table = self._summary._table.first_of_each(self._keys, _rows(n))
        return self._summary._with(table, f"group_by({source_code(self._keys)}).head", str(n))

    def len(self, name: str = "len") -> Summary:
        """The number of rows of each group."""
        return self.agg(pl.len().alias(name))

    def __repr__(self) -> str:
        return f"<Regrouping: {source_code(self._keys)}; .agg(...) comes next>"


def _for_each(given: bool | Sequence[bool], count: int) -> list[bool]:
    listed = list(given) if isinstance(given, Sequence) else [given] * count
    if not all(isinstance(each, bool) for each in listed):
        raise ParameterError(
            f"{given!r} is no direction",
            why="each column is sorted up or down: False or True",
            fix="descending=True, or a list with one for each column",
        )
    if len(listed) != count:
        raise ParameterError(
            f"{len(listed)} directions for {count} columns",
            why="each column to sort by has one, or all share one",
            fix="descending=True, or a list with one for each column",
        )
    return listed


def _rows(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ParameterError(
            f"{n!r} is not a number of rows",
            why="rows are counted from the start",
            fix=".head(5)",
        )
    return min(n, INT64[1])  # there are no more rows than that, and engines count no further
