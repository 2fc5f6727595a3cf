"""Several registered tables on one engine, so that they can be joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from dpframe.bounds.rows import Source, joined_columns, stored_tables
from dpframe.declare import Storage, Table
from dpframe.engines.base import Engine
from dpframe.engines.duckdb import DuckDBEngine, duckdb_storage
from dpframe.engines.duckdb_rows import view_of
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.polars_rows import Frames
from dpframe.engines.sandbox import sandbox
from dpframe.engines.steady import reading_once


def combined(
    engines: Mapping[str, Engine], tables: Mapping[str, Table]
) -> tuple[Engine, dict[str, Table]]:
    """One engine over all of these tables, and the tables as that engine stores them.

    Frames are joined by Polars; as soon as one of the tables is on DuckDB, all are read by DuckDB.
    """
    if all(isinstance(engine, PolarsEngine) for engine in engines.values()):
        return _Frames({n: e for n, e in engines.items() if isinstance(e, PolarsEngine)}), {
            name: tables[name] for name in engines
        }
    return _Views(engines), {
        name: replace(tables[name], storage=_duckdb_storage(engine))
        for name, engine in engines.items()
    }


def _duckdb_storage(engine: Engine) -> Mapping[str, Storage]:
    """How DuckDB sees the columns."""
    if not isinstance(engine, PolarsEngine):
        return engine.storage()
    with sandbox() as connection:
        connection.register("empty", engine.empty())
        found = connection.table("empty")
        return {c: duckdb_storage(str(t)) for c, t in zip(found.columns, found.types, strict=True)}


class _Frames(PolarsEngine):
    """Several frames."""

    def __init__(self, engines: Mapping[str, PolarsEngine]) -> None:
        self._engines = engines

    @property
    def is_steady(self) -> bool:
        return all(engine.is_steady for engine in self._engines.values())

    def storage(self) -> Mapping[str, Storage]:
        raise NotImplementedError("each table has its own columns")

    def frames(self, source: Source) -> Frames:
        joined = joined_columns(source)
        names = [table.name for table in stored_tables(source)]
        return {name: self._engines[name].ahead_of_joins(joined.get(name)) for name in names}


class _Views(DuckDBEngine):
    """Several sources that one connection reads."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines
        self._connection: Any = None

    def storage(self) -> Mapping[str, Storage]:
        raise NotImplementedError("each table has its own columns")

    def _run(self, sql: str, source: Source) -> pl.DataFrame:
        tables, joined = stored_tables(source), joined_columns(source)
        if self._connection is None:
            self._connection = sandbox()
        cursor = self._connection.cursor()
        for table in tables:
            # Each time: what a relation of the user's own holds may have changed.
            engine = self._engines[table.name]
            engine.attach(cursor, view_of(table))
            if isinstance(engine, DuckDBEngine):
                engine.read_ahead_of_joins(cursor, table, joined)
        # A relation of the user's own was copied just now.
        again = [t for t in tables if not self._engines[t.name].is_steady]
        frame: pl.DataFrame = cursor.sql(reading_once(sql, map(view_of, again))).pl()
        return frame
