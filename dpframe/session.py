"""The session: the only module that sees every room."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpframe.aggregates.compile import Compiled, compile_plan, scan_of
from dpframe.budget.budget import Budget
from dpframe.budget.exact import Number, positive
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.declare import Keys, Neighbors, Range, Row, Table, Unit, declare
from dpframe.engines.base import Engine, request_for
from dpframe.engines.sources import EngineName, engine_for
from dpframe.errors import BudgetError, DeclarationError, ParameterError
from dpframe.mechanisms import Source
from dpframe.plan.nodes import Node
from dpframe.release.explain import explain, unit_text
from dpframe.release.noisy import NoisyParts, PostProcessing
from dpframe.release.offer import (
    Offer,
    best_offer,
    exact_offer,
    gaussian_offer,
    laplace_offer,
    public_values,
)
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
        self._queries = queries
        self._engines: dict[str, Engine] = {}
        self._tables: dict[str, Table] = {}
        self._source = Source()

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
    ) -> None:
        """Declare a table: its data, its unit of privacy, and what its columns can hold.

        `data` is a Polars frame (lazy or not), a DuckDB relation, an Arrow table, a pandas frame,
        or the path or glob of Parquet or CSV files. It is not copied.
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
        opened = engine_for(data, engine)
        table = declare(
            name,
            opened.storage(),
            unit=Row() if unit is None else unit,
            columns=columns or {},
            neighbors=neighbors,
            size=size,
            public=public,
        )
        self._ledger.declare(name, _terms(table))
        self._tables[name], self._engines[name] = table, opened

    def describe(self) -> str:
        """The tables, their declarations, and the budget, in words."""
        lines = [f"budget     {self._ledger}"]
        for table in self._tables.values():
            lines.append(f"table      {table.name} on {self._engines[table.name].name}")
            lines.append(f"  protects {unit_text(table)}")
            width = max(map(len, table.storage))
            for column, stored in table.storage.items():
                lines.append(f"  {column.ljust(width)}  {stored.name}  {_known(table, column)}")
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
    ) -> Release:
        """Answer a query, and charge its cost to the budget."""
        return self.query(text).release(epsilon=epsilon, rho=rho, share=share)

    def query(self, text: str) -> Query:
        """Analyse a query without spending anything."""
        from dpframe.frontends.sql import plan_of

        return self._analysed(plan_of(text, self._tables), text)

    def _analysed(self, plan: Node, asked: str) -> Query:
        name = scan_of(plan).table
        engine = self._engines[name]
        compiled = compile_plan(plan, self._tables[name], engine.evaluate)
        PostProcessing(compiled).check()
        return Query(self, compiled, engine, asked)

    def __repr__(self) -> str:
        tables = ", ".join(self._tables) or "no tables"
        return f"<Session: {tables}; {self._ledger}>"


class Query:
    """A question that was understood and costs nothing yet."""

    def __init__(self, session: Session, compiled: Compiled, engine: Engine, asked: str) -> None:
        self._session = session
        self._compiled = compiled
        self._engine = engine
        self._asked = asked

    @cached_property
    def _ledger(self) -> Ledger:
        return self._session.ledger

    def cost(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
    ) -> Loss:
        """What a release would be charged."""
        return self._offer(epsilon, rho, share).loss

    def explain(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
    ) -> str:
        """The plan, sensitivities, noise, predicted error and cost, in words. It spends nothing."""
        room = self._ledger.room
        if (epsilon, rho, share) == (None, None, None) and not self._default_share:
            cost = "to be said: explain(epsilon=0.1) shows the noise and its error"
            return explain(self._compiled, None, cost, str(room))
        offer = self._offer(epsilon, rho, share)
        ledger = self._ledger
        admitted = ledger.filter.admits(ledger.spent, offer.loss)
        after = (
            ledger.filter.room(ledger.filter.after(ledger.spent, offer.loss)) if admitted else None
        )
        remains = str(after) if after is not None else f"it would be refused: only {room} remains"
        return explain(self._compiled, offer, str(offer.loss), remains)

    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
    ) -> Release:
        """Charge the cost, then measure, add noise and finish.

        The charge is on disk before the first row is read, so a crash never shows less than was
        spent. A refused release costs nothing.
        """
        offer = self._offer(epsilon, rho, share)
        compiled = self._compiled
        if not compiled.table.public:
            self._ledger.charge(
                offer.loss, asked=self._asked, mechanism=offer.mechanism, scale=offer.scales
            )
        values = self._measured(offer)
        parts = NoisyParts(compiled, offer.layout, offer.laws, values)
        note = "the table is public: exact, at no cost" if compiled.table.public else ""
        return Release(parts, offer.loss, self._session._source, note)

    def _measured(self, offer: Offer) -> tuple[tuple[int, ...], ...]:
        layout = offer.layout
        exact = self._engine.measure(request_for(self._compiled, layout))
        # A part that no unit can change is what was declared, not what the data holds.
        known = {}
        if not self._compiled.table.public:
            known = public_values(layout.parts, offer, self._compiled.table.size)
        noisy = []
        for i, (values, law) in enumerate(zip(exact, offer.laws, strict=True)):
            if i in known:
                noisy.append((known[i],) * len(values))
            elif law is None:
                noisy.append(tuple(values))
            else:
                noisy.append(tuple(law.add(values, self._session._source)))
        return tuple(noisy)

    @property
    def _default_share(self) -> Fraction | None:
        queries = self._session._queries
        return None if queries is None else Fraction(1, queries)

    def _offer(self, epsilon: Number | None, rho: Number | None, share: Number | None) -> Offer:
        compiled = self._compiled
        given = {"epsilon": epsilon, "rho": rho, "share": share}
        said = {name: value for name, value in given.items() if value is not None}
        if compiled.table.public:
            return exact_offer(compiled)
        if not said and self._default_share:
            said = {"share": self._default_share}
        if len(said) != 1:
            raise ParameterError(
                "no cost was said" if not said else f"several costs were said: {', '.join(said)}",
                why="every answer about private rows costs a part of the budget",
                fix="epsilon=0.1, or rho=0.01, or share=0.05 of the session's budget",
            )
        ((name, value),) = said.items()
        amount = positive(value, name)
        if name == "epsilon":
            return laplace_offer(compiled, amount)
        if name == "rho":
            self._require_gaussian()
            return gaussian_offer(compiled, amount)
        if amount > 1:
            raise ParameterError(
                f"share={value} is more than the whole budget",
                why="a share is a fraction of the session's budget",
                fix="share=0.1",
            )
        return best_offer(compiled, self._ledger.filter.share(amount))

    def _require_gaussian(self) -> None:
        if self._ledger.budget.rho is None and self._ledger.budget.delta is None:
            raise BudgetError(
                "rho= cannot be charged to a pure epsilon budget",
                why="Gaussian noise has no finite epsilon without a delta",
                fix="ask with epsilon=, or open the session with dp.Budget(epsilon=1, delta=1e-6)",
            )

    def __repr__(self) -> str:
        return f"<Query: {' '.join(self._asked.split())}>"


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
    domain = table.domains[column]
    if domain.values is not None:
        shown = ", ".join(map(repr, domain.values[:5]))
        return f"one of {shown}" + (", ..." if len(domain.values) > 5 else "")
    if domain.is_bounded:
        return f"from {domain.low} to {domain.high}"
    return "no bounds declared"
