"""The session: the only module that sees every room."""

from __future__ import annotations

import copy
import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpframe.aggregates.compile import compile_plan, tables_of
from dpframe.bounds.keys import refuse_private
from dpframe.bounds.lower import Lowering
from dpframe.budget.budget import Budget
from dpframe.budget.exact import Number
from dpframe.budget.ledger import Ledger
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.declare import Keys, Neighbors, Range, Row, Table, Unit, declare, with_keys
from dpframe.engines.base import Engine
from dpframe.engines.combined import combined
from dpframe.engines.sources import EngineName, open_data
from dpframe.errors import DeclarationError, ParameterError, QueryError
from dpframe.frame import Frame
from dpframe.frontends.histograms import histogram_plan
from dpframe.mechanisms import Source
from dpframe.plan.domains import in_words
from dpframe.plan.nodes import Node
from dpframe.query import Asking, Query
from dpframe.release.choice import Choice
from dpframe.release.cost import Cost
from dpframe.release.explain import unit_text
from dpframe.release.noisy import PostProcessing
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
        self._ledger = Ledger.open(None if ledger is None else Path(ledger), budget)
        self._own_budget = self._ledger.budget
        self._queries = queries
        self._engines: dict[str, Engine] = {}
        self._tables: dict[str, Table] = {}
        self._versions: dict[str, Callable[[], str | None]] = {}
        self._combined: dict[frozenset[str], tuple[Engine, Mapping[str, Table]]] = {}
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
        if not isinstance(name, str) or not name.isidentifier():
            raise DeclarationError(
                f"{name!r} is not a table name",
                why="SQL refers to the table by a plain word",
                fix='session.register("visits", data)',
            )
        if name.lower() in (known.lower() for known in self._tables):
            raise DeclarationError(
                f"table {name!r} is registered already",
                why="answers that were paid for refer to it",
                fix="use another name, or a new session",
            )
        if columns is not None and not isinstance(columns, Mapping):
            raise DeclarationError(
                f"columns={columns!r} is not a mapping",
                why="each column is declared by name",
                fix='columns={"age": dp.Range(0, 110)}',
            )
        if version is not None and (not isinstance(version, str) or not version):
            raise DeclarationError(
                f"version={version!r} is not a text",
                why="it names a state of the data: the same name promises the same rows",
                fix='version="2026-11-16"',
            )
        opened = open_data(data, engine)
        table = declare(
            name,
            opened.engine.storage(),
            unit=Row() if unit is None else unit,
            columns=columns or {},
            neighbors=neighbors,
            size=size,
            public=public,
        )
        self._ledger.declare(name, _terms(table))
        self._tables[name], self._engines[name] = table, opened.engine
        self._versions[name] = _declared_version(version) if version else opened.version

    def describe(self) -> str:
        """The tables, their declarations, and the budget, in words."""
        lines = [f"budget     {self._ledger}"]
        for table in self._tables.values():
            lines.append(f"table      {table.name} on {self._engines[table.name].name}")
            lines.append(f"  protects {unit_text(table)}")
            width = max(map(len, table.storage))
            types = max(len(stored.name) for stored in table.storage.values())
            for column, stored in table.storage.items():
                known = _known(table, column)
                lines.append(f"  {column.ljust(width)}  {stored.name.ljust(types)}  {known}")
        return "\n".join(lines)

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
        fresh: bool = False,
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
        """
        return self.query(text, keys=keys).release(
            epsilon=epsilon,
            rho=rho,
            share=share,
            error=error,
            confidence=confidence,
            delta=delta,
            fresh=fresh,
        )

    def select(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        k: int = 1,
        largest: bool = True,
        keys: Mapping[str, Iterable[Any]] | None = None,
    ) -> Choice:
        """Choose the best candidates by a score, without releasing the scores.

        With GROUP BY, the groups are the candidates and the one other column is their score:
        `SELECT ward, COUNT(*) FROM visits GROUP BY ward`. Without, the columns are the candidates.
        A score is a sum of counts and sums with fixed factors, and its sensitivity is derived. This
        takes far less noise than releasing all scores and looking for the largest.
        """
        cost = Cost(epsilon, rho, share)
        return self.query(text, keys=keys).choose(cost, k=k, largest=largest)

    def histogram(
        self,
        table: str,
        column: str | Sequence[str],
        *,
        bins: int | None = None,
        edges: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
        by: str | Sequence[str] = (),
        nonnegative: bool = False,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        fresh: bool = False,
    ) -> Release:
        """Count the rows in each bin of a column, or of two columns at once.

        `bins` cuts the declared range evenly, `edges` are the ends of the bins (of two columns,
        `edges={"age": [...]}`), and a column with declared keys has a bin for each. `by` names
        columns whose groups are counted apart. One unit changes all bins together by no more than
        its weight, so bins are not paid for singly. `nonnegative` raises counts below 0 to 0: then
        bins that are nearly empty come out too large on average, and so do sums over many bins.

        >>> import polars as pl
        >>> session = Session(Budget(epsilon=1))
        >>> session.register("people", pl.DataFrame({"age": [31]}), columns={"age": Range(0, 110)})
        >>> session.histogram("people", "age", bins=11, epsilon=0.5).frame.columns
        ['low', 'high', 'count']
        """
        columns = [column] if isinstance(column, str) else list(column)
        groups = [by] if isinstance(by, str) else list(by)
        known = self.table(table).columns
        for name in (*columns, *groups):
            if name not in known:
                raise QueryError(
                    f"{name!r} is not a column of {table}",
                    why=f"its columns are {', '.join(known)}",
                    fix=f'session.histogram("{table}", "{known[0]}", bins=20, epsilon=0.1)',
                )
        plan = histogram_plan(
            self._tables[table], columns, bins, edges, groups, nonnegative=nonnegative
        )
        asked = f"histogram of {', '.join(columns)}" + (
            f" by {', '.join(groups)}" if groups else ""
        )
        return self._analysed(plan, f"{asked} in {table}").release(
            epsilon=epsilon, rho=rho, share=share, error=error, confidence=confidence, fresh=fresh
        )

    def query(self, text: str, *, keys: Mapping[str, Iterable[Any]] | None = None) -> Query:
        """Analyse a query without spending anything."""
        from dpframe.frontends.sql import plan_of

        return self._analysed(plan_of(text, self._tables), text, keys)

    def table(self, name: str) -> Frame:
        """A registered table, to be asked by chaining Polars expressions; see `Frame`.

        >>> import polars as pl
        >>> session = Session(Budget(epsilon=1))
        >>> session.register("people", pl.DataFrame({"age": [31]}), columns={"age": Range(0, 110)})
        >>> adults = session.table("people").filter(pl.col("age") >= 18)
        >>> adults.select(pl.len(), pl.col("age").mean()).release(epsilon=0.5).frame.columns
        ['len', 'age']
        """
        if name not in self._tables:
            near = difflib.get_close_matches(str(name), self._tables, n=1)
            raise QueryError(
                f"{name!r} is not a registered table"
                + (f"; did you mean {near[0]!r}?" if near else ""),
                why=f"registered tables: {', '.join(self._tables) or 'none'}",
                fix=f'session.register("{name}", data, columns={{...}})',
            )
        return Frame.of_table(self._tables[name], self._analysed)

    def _analysed(
        self, plan: Node, asked: str, keys: Mapping[str, Iterable[Any]] | None = None
    ) -> Query:
        names = tables_of(plan)
        engine, tables = self._opened(names)
        if keys is not None:
            tables = with_keys({name: tables[name] for name in names}, keys)
        compiled = compile_plan(plan, Lowering(tables, engine.is_unique), engine.evaluate)
        PostProcessing(compiled).check()
        for budget in (self._ledger.budget, self._own_budget):
            if budget.delta is None and not compiled.table.public:
                why = f"choosing some takes a delta, which the budget ({budget}) has not"
                refuse_private(compiled.keys, compiled.private, why)
        asking = Asking(self._ledger, self._own_budget, self._source, self._queries)
        return Query(asking, compiled, engine, lambda: self._version(names), asked)

    def _opened(self, names: Sequence[str]) -> tuple[Engine, Mapping[str, Table]]:
        """One engine over these tables, and the tables as it stores them."""
        if len(names) == 1:
            return self._engines[names[0]], self._tables
        chosen = frozenset(names)
        if chosen not in self._combined:
            engines = {name: self._engines[name] for name in sorted(names)}
            self._combined[chosen] = combined(engines, self._tables)
        return self._combined[chosen]

    def _version(self, names: Sequence[str]) -> str | None:
        """The version of the data of all these tables together; None where one has none."""
        versions = [self._versions[name]() for name in sorted(names)]
        known = [version for version in versions if version is not None]
        return "; ".join(known) if len(known) == len(names) else None

    def as_analyst(self, name: str, budget: Budget | None = None) -> Session:
        """The same tables for one analyst, whose answers are charged to a budget of their own too.

        The first call for a name fixes the analyst's budget; later ones may leave it out. An
        analyst is answered for free only from what that analyst was told before.
        """
        view = copy.copy(self)
        view._ledger = self._ledger.for_analyst(name, budget)
        view._own_budget = budget or self._own_budget
        return view

    def __repr__(self) -> str:
        tables = ", ".join(self._tables) or "no tables"
        return f"<Session: {tables}; {self._ledger}>"


def _declared_version(version: str) -> Callable[[], str | None]:
    return lambda: f"declared {version}"


def _terms(table: Table) -> dict[str, Any]:
    """What a ledger must find unchanged when it is opened again."""
    return {
        "unit": table.unit_column,
        "max_rows": table.max_rows,
        "neighbors": table.neighbors,
        "size": table.size,
        "public": table.public,
    }


def _known(table: Table, column: str) -> str:
    if column not in table.domains:
        return "cannot be used"
    return in_words(table.domains[column])
