"""The SQL that measures parts on DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dpframe.declare import Table
from dpframe.engines.base import TOO_WIDE, KeyFilter, Request, sum_that_counts
from dpframe.engines.duckdb_columns import Inner
from dpframe.engines.duckdb_sums import Aggregates, Total, Way, count_of, total_of
from dpframe.engines.duckdb_text import (
    by_bytes,
    code_of,
    sql_of,
)
from dpframe.plan.domains import Type
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import (
    Blend,
    CodedSum,
    CountDistinct,
    CountRows,
    CountUnits,
    GridCounts,
    Part,
)
from dpframe.plan.sqltext import duckdb_literal, duckdb_name


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that measures the parts of a request, and each part from the columns that it selects.

    What is left to do is arithmetic with a few numbers a group. DuckDB would plan it for longer than
    it takes.
    """

    sql: str
    parts: tuple[pl.Expr, ...]
    """NULL is one that is not known: see `duckdb_sums`."""


def statement_for(request: Request, way: Way = Way.INTEGERS) -> Statement:
    """The one statement that measures every part."""
    if request.table.unit_column is None:
        return _row_level(request, way)
    if any(isinstance(part, CountDistinct) for part in request.parts):
        return _as_selected(_different_values(request), request)
    if any(isinstance(part, CountUnits) for part in request.parts):
        return _as_selected(_by_unit_and_key(request), request)
    return _corrected(request, way)


def _as_selected(sql: str, request: Request) -> Statement:
    return Statement(sql, tuple(pl.col(f"p{i}") for i in range(len(request.parts))))


def _total(part: Part, inner: Inner, way: Way = Way.INTEGERS) -> Total:
    """One part, over the rows of one group."""
    table = inner.request.table
    if isinstance(part, CodedSum | Blend):
        return total_of(part, table, way, inner)
    if isinstance(part, CountDistinct):
        return Total({f"COUNT(DISTINCT {inner.column('d', _value(part, inner))})": 1})
    if part.condition is None:
        return Total({"COUNT(*)": 1})
    summed = sum_that_counts(part, inner.request.parts)
    if summed is not None:
        return count_of(summed, table, way, inner)
    return Total({f"COUNT(*) FILTER (WHERE {inner.condition(part.condition)})": 1})


def _value(part: CountDistinct, inner: Inner) -> str:
    """What a count of different values compares; NULL where a row does not count."""
    values = [_compared(sql_of(expr, inner.read), kind) for expr, kind in part.compared]
    value = f"ROW({', '.join(values)})" if part.beside else values[0]
    if part.condition is None:
        return value
    return f"CASE WHEN {sql_of(part.condition, inner.read)} THEN {value} END"


def _compared(value: str, kind: Type) -> str:
    if kind is Type.TEXT:
        return by_bytes(value)
    # -0.0 and 0.0 are one number
    return f"({value} + CAST('0.0' AS DOUBLE))" if kind is Type.FLOAT else value


def _row_level(request: Request, way: Way) -> Statement:
    inner = Inner(request)
    found = Aggregates([_total(part, inner, way) for part in request.parts])
    sql = (
        f"SELECT {', '.join([*request.key_names, *found.selected])} FROM ({inner.text()})"
        f"{_group_by(request.key_names)}"
    )
    return Statement(sql, tuple(found.parts))


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


# --- units, bounded by weight --------------------------------------------------------------------
#
# v is what a unit contributes to a part in a group, n its rows there, m the norm of its n over the
# groups, r = max_rows. A light unit (m <= r) contributes v * 2^bits, a heavy one v * 2^bits * r / m
# toward zero. Products stay below 2^127: codes of a unit are at most 2^41 on the finer grid, its
# rows at most 2^40, the weight at most 2^40. Where each group is weighed by itself, m is n, and what
# is heavy is not a unit but a unit in a group.


def _by_unit_and_key(request: Request) -> str:
    """Group by (unit, keys), find heavy units, scale their parts, add up by keys."""
    sums = []
    for i, (part, bits) in enumerate(zip(request.parts, request.bits, strict=True)):
        flag, size = ("is_wide", "g") if isinstance(part, CountUnits) else ("is_heavy", "m")
        scaled = f"CASE WHEN {flag} THEN {_scaled(i, request, size)}"
        sums.append(f"COALESCE(SUM({scaled} ELSE v{i} * {1 << bits} END), 0) AS p{i}")
    names = request.key_names
    return (
        f"WITH pairs AS MATERIALIZED ({_pairs(request)}), heavy AS ({_heavy(request)})"
        f" SELECT {', '.join([*(f'pairs.{k}' for k in names), *sums])} FROM pairs LEFT JOIN heavy"
        f" ON {_same_weight('pairs', request)}{_group_by([f'pairs.{k}' for k in names])}"
    )


def _corrected(request: Request, way: Way) -> Statement:
    """Add up all rows by keys as if every unit were light, and correct for the heavy ones.

    A unit with at most r rows is light in either norm, so only units with more (the suspects) go
    through the grouping by (unit, keys), which is what costs.
    """
    names, inner = request.key_names, Inner(request)
    found = Aggregates([_total(part, inner, way) for part in request.parts])
    fixes, parts = [], []
    for i, (bits, whole) in enumerate(zip(request.bits, found.parts, strict=True)):
        fixes.append(f"SUM({_scaled(i, request)} - v{i} * {1 << bits}) AS f{i}")
        parts.append(whole * (1 << bits) + pl.col(f"f{i}").fill_null(0).cast(pl.Int128))
    shown, same = [f"pairs.{k}" for k in names], _same_weight("pairs", request)
    matches = [f"whole.{k} IS NOT DISTINCT FROM fixes.{k}" for k in names]
    same_keys = " AND ".join(matches) or "TRUE"
    selected = [*(f"whole.{k}" for k in names), *found.names, *(f"f{i}" for i in range(len(fixes)))]
    sql = (
        f"WITH suspects AS ({_suspects(request)}), pairs AS MATERIALIZED ({_pairs(request, 'suspects')}),"
        f" heavy AS ({_heavy(request)}),"
        f" fixes AS (SELECT {', '.join([*shown, *fixes])} FROM pairs JOIN heavy ON {same}"
        f" WHERE is_heavy{_group_by(shown)}),"
        f" whole AS (SELECT {', '.join([*names, *found.selected])} FROM ({inner.text()})"
        f"{_group_by(names)})"
        f" SELECT {', '.join(selected)} FROM whole LEFT JOIN fixes ON {same_keys}"
    )
    return Statement(sql, tuple(parts))


def _different_values(request: Request) -> str:
    """Weigh units by the values that they hold; a value counts as its heaviest holder's weight."""
    (part,), (bits,), names = request.parts, request.bits, request.key_names
    assert isinstance(part, CountDistinct)
    inner = Inner(request)
    inner.columns |= {"u": _unit(request.table), "d": _value(part, inner)}
    keys = [f"{k}, " for k in names]
    held = (
        f"SELECT u, {''.join(keys)}d FROM ({inner.text()}) WHERE d IS NOT NULL"
        f"{_group_by(['u', *names, 'd'])}{_having(request)}"
    )
    if request.chosen is not None:
        held = _with_chosen_keys(held, request.chosen)
    pairs = f"SELECT u, {''.join(keys)}COUNT(*)::HUGEINT AS n FROM held{_group_by(['u', *names])}"
    factor = request.table.max_rows << (20 if request.norm == 2 else 0)
    weight = f"CASE WHEN is_heavy THEN {factor << bits}::HUGEINT // m ELSE {1 << bits} END"
    of_held = [f"held.{k}" for k in names]
    values = (
        f"SELECT {', '.join([*of_held, 'd'])}, MAX({weight}) AS w FROM held LEFT JOIN heavy"
        f" ON {_same_weight('held', request)}{_group_by([*of_held, 'd'])}"
    )
    return (
        f"WITH held AS MATERIALIZED ({held}), pairs AS ({pairs}), heavy AS ({_heavy(request)})"
        f" SELECT {''.join(keys)}COALESCE(SUM(w), 0) AS p0 FROM ({values}){_group_by(names)}"
    )


def cells_sql(request: Request) -> str:
    """The one statement that measures a grid: a count per keys and cell."""
    (part,) = request.parts
    assert isinstance(part, GridCounts)
    inner = Inner(request)
    code = code_of(part.codes, request.table, inner.value)
    inner.columns["cell"] = f"({code} - {part.coding.low}) // {part.width}"
    names = [*request.key_names, "cell"]
    listed, present = ", ".join(names), f" WHERE cell IS NOT NULL{_group_by(names)}"
    if request.table.unit_column is None:
        return f"SELECT {listed}, COUNT(*) AS p0 FROM ({inner.text()}){present}"
    (bits,) = request.bits
    whole = f"SELECT {listed}, COUNT(*)::HUGEINT AS w0 FROM ({inner.text()}){present}"
    inner.columns["u"] = _unit(request.table)
    owned = (
        f"SELECT rows.u, {listed}, COUNT(*)::HUGEINT AS v0 FROM ({inner.text()}) AS rows"
        f" SEMI JOIN suspects ON rows.u IS NOT DISTINCT FROM suspects.u"
        f" WHERE cell IS NOT NULL{_group_by(['rows.u', *names])}"
    )
    same_cell = " AND ".join(f"whole.{k} IS NOT DISTINCT FROM fixes.{k}" for k in names)
    return (
        f"WITH suspects AS ({_suspects(request)}),"
        f" pairs AS MATERIALIZED ({_pairs(request.only([]), 'suspects')}),"
        f" heavy AS ({_heavy(request)}),"
        f" fixes AS (SELECT {listed}, SUM({_scaled(0, request)} - v0 * {1 << bits}) AS f0"
        f" FROM ({owned}) AS owned JOIN heavy ON owned.u IS NOT DISTINCT FROM heavy.u"
        f" WHERE is_heavy{_group_by(names)}),"
        f" whole AS ({whole})"
        f" SELECT {', '.join(f'whole.{k}' for k in names)},"
        f" w0 * {1 << bits} + COALESCE(f0, 0) AS p0 FROM whole LEFT JOIN fixes ON {same_cell}"
    )


def _suspects(request: Request) -> str:
    """Units with more than `max_rows` rows; no other unit can be heavy."""
    return (
        f"SELECT u FROM ({_units(request)}) GROUP BY u HAVING COUNT(*) > {request.table.max_rows}"
    )


def _units(request: Request) -> str:
    """The unit of every row that passes."""
    inner = Inner(request)
    inner.columns = {"u": _unit(request.table)}
    return inner.text()


def _pairs(request: Request, only: str | None = None) -> str:
    """What each unit contributes to each part in each public group; `only` names some units."""
    inner = Inner(request)
    inner.columns["u"] = _unit(request.table)
    raw = []
    for i, part in enumerate(request.parts):
        if isinstance(part, CountUnits):
            seen = _total(CountRows(part.condition), inner).sql
            raw.append(f"CASE WHEN {seen} > 0 THEN 1 ELSE 0 END::HUGEINT AS v{i}")
        else:
            raw.append(f"({_total(part, inner).sql})::HUGEINT AS v{i}")
    columns = ["u", *request.key_names]
    listed = ", ".join([*columns, "COUNT(*)::HUGEINT AS n", *raw])
    restricted = f" SEMI JOIN {only} ON rows.u IS NOT DISTINCT FROM {only}.u" if only else ""
    pairs = (
        f"SELECT {listed} FROM ({inner.text()}) AS rows{restricted}"
        f"{_group_by([f'rows.{c}' for c in columns])}{_having(request)}"
    )
    return pairs if request.chosen is None else _with_chosen_keys(pairs, request.chosen)


def _with_chosen_keys(pairs: str, chosen: pl.DataFrame) -> str:
    """Only pairs whose private keys were released: rows of other keys weigh nothing."""
    nulls = [f"CAST(NULL AS {_sql_type(dtype)})" for dtype in chosen.dtypes]
    rows = (
        ", ".join(n if v is None else duckdb_literal(v) for v, n in zip(row, nulls, strict=True))
        for row in chosen.iter_rows()
    )
    listed = ", ".join(f"({row})" for row in rows)
    same = " AND ".join(f"found.{n} IS NOT DISTINCT FROM chosen.{n}" for n in chosen.columns)
    return (
        f"SELECT * FROM ({pairs}) AS found SEMI JOIN (VALUES {listed})"
        f" AS chosen({', '.join(chosen.columns)}) ON {same}"
    )


def _sql_type(dtype: pl.DataType) -> str:
    return next(kind.value for kind, found in POLARS_TYPES.items() if found == dtype)


def _same_weight(table: str, request: Request) -> str:
    """Whether a row of `table` is of a unit, or of one in a group, that is listed as heavy."""
    owner = ["u", *request.key_names] if request.weighs_each_group else ["u"]
    return " AND ".join(f"{table}.{c} IS NOT DISTINCT FROM heavy.{c}" for c in owner)


def _heavy(request: Request) -> str:
    """Units above the bound, with the norm of their rows, and of the groups they are in."""
    rows = request.table.max_rows
    if request.weighs_each_group:  # in one group: its rows there, and it is there but once
        listed = ", ".join(["u", *request.key_names])
        return (
            f"SELECT {listed}, n AS m, TRUE AS is_heavy, 1 AS g, FALSE AS is_wide"
            f" FROM pairs WHERE n > {rows}"
        )
    weighed = "SUM(n)" if request.norm == 1 else "SUM(n * n)"
    bound = rows if request.norm == 1 else rows * rows
    groups = _norm("COUNT(*)", request.norm)
    if request.most_groups is not None:  # so wide that all it adds is rounded down to 0
        groups = f"CASE WHEN COUNT(*) > {request.most_groups} THEN {TOO_WIDE} ELSE {groups} END"
    return (
        f"SELECT u, {_norm(weighed, request.norm)} AS m, {weighed} > {bound} AS is_heavy,"
        f" {groups} AS g, COUNT(*) > {bound} AS is_wide"
        f" FROM pairs GROUP BY u HAVING is_heavy OR is_wide"
    )


def _scaled(index: int, request: Request, size: str = "m") -> str:
    """A part of a heavy unit. // rounds toward zero, which never lengthens its vector."""
    factor = request.table.max_rows << (20 if request.norm == 2 else 0)
    return f"v{index} * {factor << request.bits[index]} // {size}"


def _unit(table: Table) -> str:
    """The unit as it is stored: two values are one unit only if they are the same value."""
    name = str(table.unit_column)
    text = duckdb_name(name)
    return by_bytes(text) if table.storage[name].name == "VARCHAR" else text


def _norm(squared_or_sum: str, norm: float) -> str:
    """The norm as an integer, rounded up; for the Euclidean one, in units of 2^-20.

    The square root is correctly rounded and scaling by 2^20 is exact, so the factor 1 + 2^-40
    outweighs every rounding error, and the ceiling is at least the norm.
    """
    if norm == 1:
        return squared_or_sum
    root = f"SQRT(CAST({squared_or_sum} AS DOUBLE)) * CAST('1048576.0' AS DOUBLE)"
    return f"CAST(CEIL({root} * CAST('{1 + 2**-40!r}' AS DOUBLE)) AS HUGEINT)"
