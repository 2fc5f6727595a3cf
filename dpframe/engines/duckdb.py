"""Exact parts on DuckDB, by SQL generated from the plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from dpframe.bounds.analysis import Typed
from dpframe.declare import Storage
from dpframe.engines.base import Engine, KeyFilter, Request, withhold_rows
from dpframe.engines.duckdb_text import code_of, reader, sql_of, stored
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import CodedSum, CountRows, CountUnits, Part
from dpframe.plan.sqltext import duckdb_literal, duckdb_name

if TYPE_CHECKING:
    import duckdb

ROWS = "dpframe_rows"
"""What generated SQL calls the data."""

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
    if name == "FLOAT" or re.fullmatch(r"DECIMAL\(\d+,\s*\d+\)", name):
        return Storage(Type.FLOAT, name, exact=False)
    if name.startswith("ENUM("):
        return Storage(Type.TEXT, "ENUM", exact=False)
    return Storage(None, name)


class DuckDBEngine(Engine):
    """A DuckDB relation, or anything DuckDB can scan without copying it."""

    name = "DuckDB"

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def storage(self) -> Mapping[str, Storage]:
        columns, types = self._relation.columns, self._relation.types
        return {c: duckdb_storage(str(t)) for c, t in zip(columns, types, strict=True)}

    def groups(self, request: Request) -> pl.DataFrame:
        return self._run(parts_sql(request))

    def evaluate(self, exprs: Sequence[Typed], table: pl.DataFrame) -> pl.DataFrame:
        import duckdb

        listed = ", ".join(f"{sql_of(e.expr, duckdb_name)} AS c{i}" for i, e in enumerate(exprs))
        with duckdb.connect() as connection:
            connection.register("inputs", table)
            found: pl.DataFrame = withhold_rows(
                self.name, lambda: connection.sql(f"SELECT {listed} FROM inputs").pl()
            )
        return found.cast({f"c{i}": POLARS_TYPES[e.domain.type] for i, e in enumerate(exprs)})

    def _run(self, sql: str) -> pl.DataFrame:
        result: Any = self._relation.query(ROWS, sql)
        frame: pl.DataFrame = result.pl()
        return frame


def parts_sql(request: Request) -> str:
    """The one statement that measures every part in one pass over the rows."""
    if request.table.unit_column is None:
        return _row_level(request)
    return _weighted(request)


class _Inner:
    """The columns that are computed once per row, below the aggregation."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.read = reader(request.table)
        self.columns: dict[str, str] = {}
        for name, key, kept in zip(
            request.key_names, request.keys, request.key_filters, strict=True
        ):
            if isinstance(key, Column) and kept.values is not None:
                # Rows outside declared keys are dropped after grouping: no need to look them up.
                self.columns[name] = stored(request.table, key.name)
            else:
                self.columns[name] = sql_of(key, self.read)

    def column(self, prefix: str, sql: str) -> str:
        """The name of a computed column; the same SQL is computed once."""
        for name, existing in self.columns.items():
            if existing == sql and name.startswith(prefix):
                return name
        name = f"{prefix}{len(self.columns)}"
        self.columns[name] = sql
        return name

    def condition(self, expr: Expr) -> str:
        return self.column("w", sql_of(expr, self.read))

    def text(self) -> str:
        listed = ", ".join(f"{sql} AS {name}" for name, sql in self.columns.items()) or "1 AS one"
        where = self.request.where
        kept = "" if where is None else f" WHERE {sql_of(where, self.read)}"
        return f"SELECT {listed} FROM {ROWS}{kept}"


def _part(part: Part, inner: _Inner) -> str:
    """The exact integer of one part, over the rows of one group."""
    if isinstance(part, CodedSum):
        code = inner.column("c", code_of(part, inner.request.table))
        total = f"COALESCE(SUM({code}), 0)"
        return total if part.centre == 0 else f"({total} - {part.centre}::HUGEINT * COUNT({code}))"
    if part.condition is None:
        return "COUNT(*)"
    return f"COUNT(*) FILTER (WHERE {inner.condition(part.condition)})"


def _row_level(request: Request) -> str:
    inner = _Inner(request)
    parts = [f"{_part(part, inner)} AS p{i}" for i, part in enumerate(request.parts)]
    return (
        f"SELECT {', '.join([*request.key_names, *parts])} FROM ({inner.text()})"
        f"{_group_by(request.key_names)}{_having(request)}"
    )


def _group_by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _having(request: Request) -> str:
    tests = [
        _admitted(name, kept)
        for name, kept in zip(request.key_names, request.key_filters, strict=True)
    ]
    tests = [t for t in tests if t]
    return f" HAVING {' AND '.join(tests)}" if tests else ""


def _admitted(name: str, kept: KeyFilter) -> str:
    if kept.values is None:
        return "" if kept.null else f"{name} IS NOT NULL"
    listed = f"{name} IN ({', '.join(duckdb_literal(v) for v in kept.values)})"
    return f"({listed} OR {name} IS NULL)" if kept.null else listed


def _weighted(request: Request) -> str:
    """Group by (unit, keys), find heavy units, scale their parts, add up by keys.

    Only units above the bound are looked at twice. Products stay below 2^127: codes of a unit are
    at most 2^41, its rows at most 2^40, the weight at most 2^40.
    """
    inner = _Inner(request)
    inner.columns["u"] = duckdb_name(str(request.table.unit_column))
    raw = []
    for i, (part, bits) in enumerate(zip(request.parts, request.bits, strict=True)):
        if isinstance(part, CountUnits):
            seen = _part(CountRows(part.condition), inner)
            raw.append(f"CASE WHEN {seen} > 0 THEN {1 << bits} ELSE 0 END::HUGEINT AS v{i}")
        else:
            raw.append(f"({_part(part, inner)})::HUGEINT * {1 << bits} AS v{i}")
    names, rows = request.key_names, request.table.max_rows
    pairs = (
        f"SELECT {', '.join(['u', *names, 'COUNT(*)::HUGEINT AS n', *raw])} FROM ({inner.text()})"
        f"{_group_by(['u', *names])}{_having(request)}"
    )
    weighed = "SUM(n)" if request.norm == 1 else "SUM(n * n)"
    bound = rows if request.norm == 1 else rows * rows
    heavy = (
        f"SELECT u, {_norm(weighed, request.norm)} AS m, {weighed} > {bound} AS is_heavy,"
        f" {_norm('COUNT(*)', request.norm)} AS g, COUNT(*) > {bound} AS is_wide"
        f" FROM pairs GROUP BY u HAVING is_heavy OR is_wide"
    )
    factor = rows if request.norm == 1 else rows << 20
    sums = []
    for i, part in enumerate(request.parts):
        flag, size = ("is_wide", "g") if isinstance(part, CountUnits) else ("is_heavy", "m")
        # // rounds toward zero in DuckDB, which never lengthens a unit's vector.
        sums.append(
            f"COALESCE(SUM(CASE WHEN {flag} THEN v{i} * {factor} // {size} ELSE v{i} END), 0) AS p{i}"
        )
    return (
        f"WITH pairs AS MATERIALIZED ({pairs}), heavy AS ({heavy})"
        f" SELECT {', '.join([*names, *sums])} FROM pairs LEFT JOIN heavy"
        f" ON pairs.u IS NOT DISTINCT FROM heavy.u{_group_by(names)}"
    )


def _norm(squared_or_sum: str, norm: int) -> str:
    """The norm as an integer, rounded up; for the Euclidean one, in units of 2^-20.

    The square root is correctly rounded and scaling by 2^20 is exact, so the factor 1 + 2^-40
    outweighs every rounding error, and the ceiling is at least the norm.
    """
    if norm == 1:
        return squared_or_sum
    root = f"SQRT(CAST({squared_or_sum} AS DOUBLE)) * CAST('1048576.0' AS DOUBLE)"
    return f"CAST(CEIL({root} * CAST('{1 + 2**-40!r}' AS DOUBLE)) AS HUGEINT)"
