"""Exact parts on DuckDB, by SQL generated from the plan."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from dpframe.bounds.analysis import Typed
from dpframe.bounds.rows import Selected, Source, joined_columns, stored_tables
from dpframe.declare import Storage, Table
from dpframe.engines.base import Engine, Request, withhold_rows
from dpframe.engines.duckdb_parts import cells_sql, statement_for
from dpframe.engines.duckdb_rows import selected_sql, view_of
from dpframe.engines.duckdb_sums import Way, bare_columns, ways_of
from dpframe.engines.duckdb_text import AS_STORED, sql_of, staged_sql
from dpframe.engines.relations import computed_first, require_silence
from dpframe.engines.steady import reading_once, scans_a_table
from dpframe.plan.domains import Type
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.sqltext import duckdb_name
from dpframe.plan.stages import Staging

if TYPE_CHECKING:
    import duckdb

_INTEGERS = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}

_PLAIN = {
    "BOOLEAN": Type.BOOL,
    "DOUBLE": Type.FLOAT,
    "VARCHAR": Type.TEXT,
    "DATE": Type.DATE,
    "TIMESTAMP": Type.TIMESTAMP,
    "TIMESTAMP_NS": Type.TIMESTAMP,
    "TIMESTAMP_MS": Type.TIMESTAMP,
    "TIMESTAMP_S": Type.TIMESTAMP,
}


def duckdb_storage(name: str) -> Storage:
    """How a DuckDB type is read.

    >>> duckdb_storage("UTINYINT").high
    255
    """
    if name in _INTEGERS:
        return Storage(Type.INT, name, *_INTEGERS[name])
    if name in _PLAIN:
        return Storage(_PLAIN[name], name)
    decimal = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", name)
    if name == "FLOAT" or decimal:
        places = int(decimal.group(1)) if decimal else None
        return Storage(Type.FLOAT, name, exact=False, decimals=places)
    if name.startswith("ENUM("):
        return Storage(Type.TEXT, "ENUM", exact=False)
    return Storage(None, name)


@functools.cache
def scratch() -> duckdb.DuckDBPyConnection:
    """An empty database to evaluate public expressions in; opening one takes 40 ms."""
    import duckdb

    return duckdb.connect()


_RELATIONS = threading.Lock()
"""Held while a relation of the user's own is read: its connection may be that of others, too."""


class DuckDBEngine(Engine):
    """A DuckDB relation, or anything DuckDB can scan without copying it."""

    name = "DuckDB"

    _height: Callable[[], int] | None = None
    _beyond: frozenset[str] = frozenset()
    """Columns that have to be clamped row by row before they are added up."""
    _is_long = False
    """Whether there were more rows than doubles add up exactly."""

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        attach: Callable[[Any, str], object] | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        repeats: bool = False,
        is_steady: bool = True,
        height: Callable[[], int] | None = None,
    ) -> None:
        """Take a relation, what lets another connection read the same data, and its connection.

        A relation of the user's own can be read on its own connection only, which is not ours to
        keep views on, so for others it is copied. `repeats` says that values may be stored once for
        all rows that hold them, `is_steady` of a connection of ours that each time the rows are the
        same, and `height` how many rows there are now, where that is known without reading them.
        """
        self._relation = relation
        self._connection = connection
        self._repeats = repeats
        self._is_steady = is_steady
        self._height = height
        self._views: set[str] = set()
        self._lock = _RELATIONS if connection is None else threading.Lock()
        self._attach = attach or (
            lambda connection, view: connection.register(view, relation.to_arrow_table())
        )

    @property
    def is_steady(self) -> bool:
        if self._connection is not None:
            return self._is_steady
        with self._lock:  # each time: the view that a relation reads may be another by now
            return scans_a_table(self._relation)

    def version_of_relation(self) -> None:
        """A relation of the user's own can change without a trace, so it has no version."""
        with self._lock:
            require_silence(self._relation)

    def height(self) -> int | None:
        return None if self._height is None else self._height()

    def storage(self) -> Mapping[str, Storage]:
        columns, types = self._relation.columns, self._relation.types
        stored = (duckdb_storage(str(t)) for t in types)
        return {c: replace(s, repeats=self._repeats) for c, s in zip(columns, stored, strict=True)}

    def groups(self, request: Request) -> pl.DataFrame:
        for way in ways_of(request, self._beyond):
            if way is Way.DOUBLES and self._is_long:
                continue
            statement = statement_for(request, way)
            parts = [expr.alias(f"p{i}") for i, expr in enumerate(statement.parts)]
            found = self._run(statement.sql, request.source).select(*request.key_names, *parts)
            if not any(found[f"p{i}"].null_count() for i in range(len(parts))):
                break
            # Remembered to save time alone: whatever is tried, its result is vouched for.
            if way is Way.UNCLAMPED:
                self._beyond |= bare_columns(request)
            self._is_long |= way is Way.DOUBLES
        return found

    def cells(self, request: Request) -> pl.DataFrame:
        return self._run(cells_sql(request), request.source)

    def public_rows(self, selected: Selected) -> pl.DataFrame:
        return self._run(selected_sql(selected), selected.source)

    def attach(self, connection: Any, view: str) -> None:
        with self._lock:
            if self._connection is None:
                require_silence(self._relation)
            self._attach(connection, view)

    def evaluate(self, exprs: Sequence[Typed], table: pl.DataFrame) -> pl.DataFrame:
        staging = Staging()
        staged = [staging.rewrite(e.expr) for e in exprs]
        listed = ", ".join(f"{sql_of(e, AS_STORED)} AS c{i}" for i, e in enumerate(staged))
        source = staged_sql("inputs", staging.stages, AS_STORED)
        with scratch().cursor() as connection:
            connection.register("inputs", table)
            found: pl.DataFrame = withhold_rows(
                self.name, lambda: connection.sql(f"SELECT {listed} FROM {source}").pl()
            )
        return found.cast({f"c{i}": POLARS_TYPES[e.domain.type] for i, e in enumerate(exprs)})

    def read_ahead_of_joins(
        self, connection: Any, table: Table, joined: Mapping[str, Sequence[str]]
    ) -> None:
        """Read columns of files to their end before they are joined: a text may be no UTF-8.

        A join does not read one side where the other has no rows. Whether what cannot be read is met
        would tell of them. Plain numbers can always be read.
        """
        stored = {name: table.storage[name] for name in joined.get(table.name, ())}
        plain = (Type.BOOL, Type.INT, Type.FLOAT)
        risky = [name for name, s in stored.items() if s.type not in plain or not s.exact]
        if self._repeats and risky:
            counts = ", ".join(f"COUNT({duckdb_name(name)})" for name in risky)
            connection.sql(f"SELECT {counts} FROM {duckdb_name(view_of(table))}").fetchall()

    def _run(self, sql: str, source: Source) -> pl.DataFrame:
        """Run a query over a source of one table, which a single relation holds."""
        (table,) = stored_tables(source)
        view = view_of(table)
        once = reading_once(sql, [view])
        sql = sql if sql == once or self.is_steady else once
        result: Any
        with self._lock:  # a connection answers one thread at a time, and refuses the others
            if self._connection is None:  # each time, as above: its view may compute something now
                require_silence(self._relation)
                result = computed_first(self._relation).query(view, sql)
            else:  # with a view that stays, a query takes 2 ms less
                if view not in self._views:
                    self._relation.create_view(view)
                    self._views.add(view)
                self.read_ahead_of_joins(self._connection, table, joined_columns(source))
                result = self._connection.sql(sql)
            frame: pl.DataFrame = result.pl()
        return frame
