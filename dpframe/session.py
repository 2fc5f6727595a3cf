"""The session: the only module that sees every room."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn

from dpframe.aggregates.compile import compile_plan, tables_of
from dpframe.budget.budget import Budget
from dpframe.budget.exact import Number
from dpframe.budget.ledger import Ledger
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.catalog import Catalog, terms_of_table
from dpframe.declare import Keys, Neighbors, Range, Row, Unit
from dpframe.engines.files import EngineName
from dpframe.engines.rehearsal import require_computable
from dpframe.errors import LedgerError, ParameterError
from dpframe.frame import Frame
from dpframe.frontends.sql_plans import Plans
from dpframe.histogram import HistogramQuery
from dpframe.mechanisms import Source
from dpframe.plan.bins import Closed
from dpframe.plan.nodes import Node
from dpframe.plan.shown import Shown, shown_by
from dpframe.query import Query
from dpframe.ranges import LearningQuery, missing_ranges
from dpframe.regression import Regression, Scales
from dpframe.release.asking import Asking, Said
from dpframe.release.chosen import Choice
from dpframe.release.cost import Cost
from dpframe.release.histogram import Histogram
from dpframe.release.noisy import PostProcessing
from dpframe.release.selection import refuse_keys
from dpframe.release.table import Release


class Session:
    """Tables, and one budget that every answer about them draws on.

    >>> import polars as pl
    >>> session = Session(Budget(epsilon=1))
    >>> session.register("people", pl.DataFrame({"age": [31, 59]}), columns={"age": Range(0, 110)})
    >>> release = session.sql("SELECT COUNT(*) AS n, AVG(age) AS age FROM people", epsilon=0.25)
    >>> release.frame.columns
    ['n', 'age']
    >>> str(session.remaining)
    'epsilon 0.75'
    """

    def __init__(
        self,
        budget: Budget,
        ledger: str | os.PathLike[str] | None = None,
        *,
        queries: int | None = None,
    ) -> None:
        """Open a session on a budget.

        `ledger` is a file that remembers what was spent, for life: a session that opens it again
        goes on where the last one stopped. Without it, the budget lasts as long as the session.
        `queries=k` lets each query cost 1/k of the budget when nothing else is said.
        """
        if not isinstance(budget, Budget):
            raise ParameterError(
                f"budget={budget!r} is not a Budget",
                why="a budget says which kind of privacy is promised",
                fix="dp.Session(dp.Budget(epsilon=1.0)), or with delta=1e-6, or dp.Budget(rho=0.1)",
            )
        if queries is not None and (
            isinstance(queries, bool) or not isinstance(queries, int) or queries < 1
        ):
            raise ParameterError(
                f"queries={queries!r} is not a positive whole number",
                why="each query costs one share of this many",
                fix="dp.Session(budget, queries=20)",
            )
        self._ledger = Ledger.open(ledger, budget)
        self._own_budget = self._ledger.budget
        self._queries = queries
        self._catalog = Catalog()
        self._tables, self._engines = self._catalog.tables, self._catalog.engines
        self._plans = Plans(self._tables)
        self._source = Source()

    def close(self) -> None:
        """Let go of the ledger's file. The session answers no more questions."""
        self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what is protected -----------------------------------------------------------------------

    def register(
        self,
        name: str,
        data: Any,
        *,
        unit: Row | Unit | None = None,
        columns: Mapping[str, Range | Keys] | None = None,
        engine: EngineName | None = None,
        public: bool = False,
        neighbors: Neighbors = "add_remove",
        size: int | None = None,
        version: str | None = None,
    ) -> None:
        """Declare a table: its data, its unit of privacy, and what its columns can hold.

        `data` is a Polars frame (lazy or not), a DuckDB relation, an Arrow table, a pandas frame,
        or the path or glob of Parquet or CSV files. It is not copied.

        Answers are free where the same was measured on the same version of the data. Files have a
        new version when they change, frames when they are registered. Relations and pandas frames
        can change unnoticed, so their answers are reused only if the owner names a `version`;
        with one, answers are also reused by later sessions on the same ledger.
        """
        self._catalog.add(
            name,
            data,
            unit=unit,
            columns=columns,
            engine=engine,
            public=public,
            neighbors=neighbors,
            size=size,
            version=version,
            agreed=lambda table: self._ledger.declare(name, terms_of_table(table)),
        )

    def describe(self) -> str:
        """The tables, their declarations, and the budget, in words."""
        return "\n".join([f"budget     {self._ledger}", *self._catalog.in_words()])

    # --- the budget ------------------------------------------------------------------------------

    @property
    def budget(self) -> Budget:
        """The budget, as it was opened."""
        return self._ledger.budget

    @property
    def spent(self) -> Spent:
        """What all releases so far have cost together."""
        return self._ledger.spent

    @property
    def remaining(self) -> Room:
        """What one more release may cost."""
        return self._ledger.room

    @property
    def ledger(self) -> Ledger:
        """The record of what was spent, when and for what."""
        return self._ledger

    # --- questions -------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        keys: Mapping[str, Iterable[Any]] | None = None,
        bounds: Literal["auto"] | None = None,
        error_bars: bool = True,
        fresh: bool = False,
        dialect: str = "duckdb",
    ) -> Release:
        """Answer a query, and charge its cost to the budget.

        The cost is a pure `epsilon`, a zCDP `rho`, a `share` of the budget, or an `error` that
        every answer stays within with some `confidence` (0.95 if not said), at the least cost.
        A question whose parts were measured before is answered from them, at no cost, unless
        `fresh=True`.

        Columns to group by have public keys if they were declared with some, if WHERE lists them,
        or if `keys={"ward": ["er", "icu"]}` does so for this query. Other keys are chosen
        privately: a third of the cost, and `delta` of what the budget keeps for that (by default a
        tenth of it, or the same share as the cost), show the keys that many units hold.

        `dialect` is the one that the text is written in: "postgres", "spark", "bigquery" and more.
        GoogleSQL's `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1)` says its own cost.

        With `bounds="auto"`, what is added up without a declared range gets one that is learned
        for a fifth of the cost; the release shows it.

        A quarter of what a quantile costs pays for its error bar. With `error_bars=False` all of it
        goes to the place, which then has none. Other error bars are free, and stay.
        """
        cost = Cost(epsilon, rho, share, error, confidence, delta, error_bars)
        query = self.query(text, keys=keys, bounds=bounds, dialect=dialect)
        return query.answer(cost, fresh=fresh)

    def select(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        k: int = 1,
        largest: bool = True,
        keys: Mapping[str, Iterable[Any]] | None = None,
        dialect: str = "duckdb",
    ) -> Choice:
        """Choose the best candidates by a score, without releasing the scores.

        With GROUP BY, the groups are the candidates and the one other column is their score:
        `SELECT ward, COUNT(*) FROM visits GROUP BY ward`. Without, the columns are the candidates.
        A score is a sum of counts and sums with fixed factors, and its sensitivity is derived.
        `error` asks for the least cost at which no choice is further behind the best score.
        """
        cost = Cost(epsilon, rho, share, error, confidence)
        return self.query(text, keys=keys, dialect=dialect).choose(cost, k=k, largest=largest)

    def linear_regression(
        self,
        table: str,
        y: str,
        x: str | Sequence[str],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        fresh: bool = False,
    ) -> Regression:
        """Explain a column by others: the line of least squares, with standard errors.

        All columns are numbers with declared ranges, or conditions, which count as 0 and 1; rows with
        a NULL in one of them are left out.
        """
        found = self.table(table)._rows.table
        scales = Scales.of(found, y, x)
        asked = f"linear_regression({table!r}, {y!r}, x={list(scales.names[:-1])!r})"
        query = self._analysed(scales.plan(found), asked)
        cost = Cost(epsilon, rho, share, takes_error=False)
        return Regression(scales, query.answer(cost, fresh=fresh))

    def histogram(
        self,
        table: str,
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
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        fresh: bool = False,
    ) -> Histogram:
        """Count the rows in each bin of a column, or of two, and charge the cost to the budget.

        It is `session.table(table).histogram(...).release(...)`: `Frame.histogram` says what is
        asked for, and has an `explain` that spends nothing.
        """
        return (
            self.table(table)
            .histogram(
                column,
                bins=bins,
                edges=edges,
                by=by,
                closed=closed,
                cumulative=cumulative,
                hierarchical=hierarchical,
                margins=margins,
                nonnegative=nonnegative,
                consistent=consistent,
            )
            .answer(Cost(epsilon, rho, share, error, confidence, delta), fresh=fresh)
        )

    def query(
        self,
        text: str,
        *,
        keys: Mapping[str, Iterable[Any]] | None = None,
        bounds: Literal["auto"] | None = None,
        dialect: str = "duckdb",
    ) -> Query:
        """Analyse a query without spending anything."""
        from dpframe.frontends.sql_terms import check_unit, terms_of

        plan, terms = self._plans.of(text, dialect), terms_of(text)
        for name in tables_of(plan):
            if not self._tables[name].public:
                check_unit(terms, self._tables[name], text)
        said = Said(terms.epsilon, terms.delta)
        return self._analysed(plan, text, keys, said, bounds=bounds)

    def table(self, name: str) -> Frame:
        """A registered table, to be asked by chaining Polars expressions; see `Frame`.

        >>> import polars as pl
        >>> session = Session(Budget(epsilon=1))
        >>> session.register("people", pl.DataFrame({"age": [31]}), columns={"age": Range(0, 110)})
        >>> adults = session.table("people").filter(pl.col("age") >= 18)
        >>> adults.select(pl.len(), pl.col("age").mean()).release(epsilon=0.5).frame.columns
        ['len', 'age']
        """
        return Frame.of_table(self._catalog.table(name), self._analysed, self._catalog.described)

    def _analysed(
        self,
        plan: Node,
        asked: str,
        keys: Mapping[str, Iterable[Any]] | None = None,
        said: Said | None = None,
        shown: Shown | None = None,
        bounds: str | None = None,
    ) -> Query:
        """The question that a plan asks; some are answered by other plans, or by several."""
        missing = {}
        if bounds is not None:
            missing = missing_ranges(bounds, plan, self._catalog.lowering(plan)[1])
        if missing:
            return LearningQuery(
                plan, missing, lambda other: self._analysed(other, asked, keys), said or Said()
            )
        counted, found = shown or shown_by(plan), self._query(plan, asked, keys, said)
        if counted is None:
            return found
        return HistogramQuery(
            found, plan, counted, lambda other: self._query(other, asked, keys, said)
        )

    def _query(
        self,
        plan: Node,
        asked: str,
        keys: Mapping[str, Iterable[Any]] | None,
        said: Said | None,
    ) -> Query:
        engine, lowering = self._catalog.lowering(plan, keys)
        compiled = compile_plan(plan, lowering, engine.evaluate)
        PostProcessing(compiled).check()
        refuse_keys(compiled, self._ledger.budget, self._own_budget)
        require_computable(engine, compiled)
        asking = Asking(self._ledger, self._own_budget, self._source, self._queries)
        names = tables_of(plan)
        return Query(asking, compiled, engine, lambda: self._catalog.version(names), asked, said)

    def as_analyst(self, name: str, budget: Budget | None = None) -> Session:
        """The same tables for one analyst, whose answers are charged to a budget of their own too.

        The first call for a name fixes the analyst's budget; later ones may leave it out. An
        analyst is answered for free only from what that analyst was told before.
        """
        view = copy.copy(self)
        view._ledger = self._ledger.for_analyst(name, budget)
        view._own_budget = view._ledger.accounts[-1].filter.budget
        return view

    def __repr__(self) -> str:
        try:
            left = str(self._ledger)
        except LedgerError as error:  # closed, perhaps: it can be looked at all the same
            left = error.what
        return f"<Session: {', '.join(self._tables) or 'no tables'}; {left}>"

    def __copy__(self) -> Session:
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "a session is not pickled, and there is no deep copy of it",
            why="it holds the data and the way to its ledger, which are of this process",
            fix="dp.Session(budget, ledger=...) on the same file: processes share what is left",
        )
