"""The columns that parts are added up from on DuckDB: computed once per row, below the aggregation."""

from __future__ import annotations

import polars as pl

from dpframe.engines.base import Request
from dpframe.engines.duckdb_rows import source_sql
from dpframe.engines.duckdb_text import (
    Read,
    by_bytes,
    reader,
    sql_of,
    staged_sql,
    stored,
    where_sql,
)
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Call, Column, Expr
from dpframe.plan.functions.casts import duckdb_whole
from dpframe.plan.stages import STAGED

VALUE = f"{STAGED}_value"
"""Columns whose names begin so hold what codes are computed from."""


class Inner:
    """The columns that are computed once per row, below the aggregation."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.read = reader(request.table)
        self.columns: dict[str, str] = {}
        self._values: dict[str, str] = {}
        for name, key, kept, public in zip(
            request.key_names, request.keys, request.key_filters, request.frame, strict=True
        ):
            if isinstance(key, Column) and kept.values is not None:
                # Rows outside declared keys are dropped after grouping: no need to look them up.
                self.columns[name] = stored(request.table, key.name)
            else:
                # Where keys were chosen, or listed, rows may have others.
                covered = request.chosen is None and public.len() > 0
                self.columns[name] = _key_sql(key, public, self.read, covered=covered)

    def column(self, prefix: str, sql: str) -> str:
        """The name of a computed column; the same SQL is computed once."""
        for name, existing in self.columns.items():
            if existing == sql and name.startswith(prefix):
                return name
        name = f"{prefix}{len(self.columns)}"
        self.columns[name] = sql
        return name

    def __call__(self, sql: str) -> str:
        """The name of a column with a code."""
        return self.column("c", sql)

    def value(self, sql: str) -> str:
        """The name of a column that codes are computed from: clamping mentions it several times."""
        return self._values.setdefault(sql, f"{VALUE}{len(self._values)}")

    def condition(self, expr: Expr) -> str:
        return self.column("w", sql_of(expr, self.read))

    def text(self) -> str:
        listed = ", ".join(f"{sql} AS {name}" for name, sql in self.columns.items()) or "1 AS one"
        kept = where_sql(self.request.where, self.request.table)
        source = staged_sql(source_sql(self.request.source), self.request.stages, self.read)
        if not self._values:
            return f"SELECT {listed} FROM {source}{kept}"
        values = ", ".join(f"{sql} AS {name}" for sql, name in self._values.items())
        return f"SELECT {listed} FROM (SELECT *, {values} FROM {source}{kept})"


def _key_sql(key: Expr, public: pl.Series, read: Read, *, covered: bool) -> str:
    """A computed key. A float that is made an integer has 8 bits, where all its values fit.

    Groups of such keys are looked up in an array, which is faster than hashing. `covered` says that
    the key has no values but those of its public groups.
    """
    if covered and isinstance(key, Call) and key.function == "convert":
        source, target, *rounding = key.params
        small = public.dtype == pl.Int64 and public.drop_nulls().is_between(-128, 127).all()
        if source == Type.FLOAT.name and target == "BIGINT" and small:
            return duckdb_whole(sql_of(key.args[0], read), rounding, "TINYINT")
    text = sql_of(key, read)
    return by_bytes(text) if public.dtype == pl.String else text
