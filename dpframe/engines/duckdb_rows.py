"""Rows below an aggregate as DuckDB SQL."""

from __future__ import annotations

from dpframe.bounds.rows import (
    UNIT,
    Grouped,
    Joined,
    Measure,
    Selected,
    Source,
    Stacked,
    Stored,
)
from dpframe.declare import Table
from dpframe.engines.duckdb_text import (
    ROWS,
    by_bytes,
    code_of,
    read_column,
    reader,
    sql_of,
    staged_sql,
    where_sql,
)
from dpframe.plan.domains import INT64, Type
from dpframe.plan.exprs import Column
from dpframe.plan.parts import CodedSum
from dpframe.plan.sqltext import duckdb_name
from dpframe.plan.stages import Staging

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "SEMI JOIN", "anti": "ANTI JOIN"}


def view_of(table: Table) -> str:
    """What a connection calls a registered table."""
    return f"{ROWS}_{table.name}"


def source_sql(source: Source) -> str:
    """What to select from, to get the rows of a source."""
    match source:
        case Stored():
            return duckdb_name(view_of(source.table))
        case Joined():
            return _joined(source)
        case Stacked():
            return "(" + " UNION ALL ".join(selected_sql(s) for s in source.inputs) + ")"
        case Grouped():
            return _grouped(source)


def selected_sql(selected: Selected) -> str:
    """The rows of a selection."""
    table, staging = selected.table, Staging()
    read = reader(table)
    where = None if selected.where is None else staging.rewrite(selected.where)
    columns = [(name, staging.rewrite(expr)) for name, expr in selected.columns]
    listed = [f"{sql_of(expr, read)} AS {duckdb_name(name)}" for name, expr in columns]
    if table.unit_column is not None:
        listed.append(f"{shared_unit(table)} AS {UNIT}")
    source = staged_sql(source_sql(selected.source), staging.stages, read)
    return f"SELECT {', '.join(listed) or '1 AS one'} FROM {source}{where_sql(where, table)}"


def shared_unit(table: Table) -> str:
    """The unit in a type that all tables share; two units stay two."""
    name = str(table.unit_column)
    kind = table.domains[name].type
    text = f"CAST({duckdb_name(name)} AS {kind.value})"
    return by_bytes(text) if kind is Type.TEXT else text


def _joined(source: Joined) -> str:
    left, right = selected_sql(source.left), selected_sql(source.right)
    if source.one_match:
        names = ", ".join(source.on)
        right = f"SELECT DISTINCT ON ({names}) * FROM ({right})"
    equal = []
    for name in source.on:
        sides = [f"l.{name}", f"r.{name}"]
        if source.left.result.domains[name].type is Type.TEXT:
            sides = [by_bytes(side) for side in sides]
        equal.append(" = ".join(sides))
    columns = [f"l.{duckdb_name(name)}" for name, _ in source.left.columns]
    columns += [f"l.{UNIT}"] if source.left.table.unit_column is not None else []
    if source.how in ("inner", "left"):
        columns += [
            f"r.{duckdb_name(name)}" for name, _ in source.right.columns if name not in source.on
        ]
    return (
        f"(SELECT {', '.join(columns) or '1 AS one'} FROM ({left}) AS l"
        f" {_JOINS[source.how]} ({right}) AS r ON {' AND '.join(equal) or 'TRUE'})"
    )


def _grouped(source: Grouped) -> str:
    table = source.input.result
    keys = []
    for name in source.keys:
        text = duckdb_name(name)
        keys.append(by_bytes(text) if table.domains[name].type is Type.TEXT else text)
    listed = [f"{key} AS {duckdb_name(n)}" for key, n in zip(keys, source.keys, strict=True)]
    listed += [f"{_measure(m, table)} AS {duckdb_name(n)}" for n, m in source.measures]
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    inside = selected_sql(source.input)
    return f"(SELECT {', '.join(listed) or 'COUNT(*) AS one'} FROM ({inside}){by})"


def _measure(measure: Measure, table: Table) -> str:
    if measure.column is None:
        return "COUNT(*)"
    value = read_column(table, measure.column)
    match measure.kind:
        case "values":
            return f"COUNT({value})"
        case "distinct":
            return f"COUNT(DISTINCT {value})"
        case "least" | "most":
            if table.domains[measure.column].type is Type.FLOAT:
                value = f"({value} + CAST('0.0' AS DOUBLE))"  # -0.0 and 0.0 are one number
            return f"{'MIN' if measure.kind == 'least' else 'MAX'}({value})"
    assert measure.coding is not None
    code = code_of(CodedSum(None, Column(measure.column), measure.coding), table)
    total, (low, high) = f"SUM(({code})::HUGEINT)", INT64
    return (
        f"CAST(CASE WHEN {total} < {low} THEN {low} WHEN {total} > {high} THEN {high}"
        f" ELSE {total} END AS BIGINT)"
    )
