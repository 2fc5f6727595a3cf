"""Plan expressions as DuckDB SQL. This is the only text that DuckDB is ever given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpframe.declare import Table
from dpframe.engines.comparisons import as_stored
from dpframe.engines.storage import unlisted_integer
from dpframe.errors import InternalError
from dpframe.plan.coding import ROUNDING, Coding
from dpframe.plan.domains import (
    FIRST_DAY,
    FIRST_TIME,
    INT64,
    LAST_DAY,
    LAST_TIME,
    Domain,
    Type,
)
from dpframe.plan.exprs import Call, Column, Expr, Literal, conjuncts
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.parts import CodedSum
from dpframe.plan.sqltext import duckdb_literal, duckdb_name
from dpframe.plan.stages import STAGED, Stages


@dataclass(frozen=True, slots=True)
class Read:
    """The SQL that reads a column, by its name, and the SQL that tells whether it is NULL."""

    value: Callable[[str], str]
    is_null: Callable[[str], str]


AS_STORED = Read(duckdb_name, lambda name: f"({duckdb_name(name)} IS NULL)")
"""Columns as they are, of tables that hold values of their domains."""

ROWS = "dpframe_rows"
"""What generated SQL calls the data."""

INFINITY = "CAST('inf' AS DOUBLE)"


def sql_of(expr: Expr, read: Read) -> str:
    """The SQL of an analysed expression."""
    match expr:
        case Column():
            return read.value(expr.name)
        case Literal():
            if expr.value is None:
                return f"CAST(NULL AS {_sql_type(expr.type)})"
            return duckdb_literal(expr.value)
        case Call("is_null", (Column(name),)):
            return read.is_null(name)
        case Call():
            args = [sql_of(arg, read) for arg in expr.args]
            return FUNCTIONS[expr.function].duckdb(args, expr.params)
    raise InternalError(f"no SQL for a {type(expr).__name__}")


def _sql_type(kind: Type) -> str:
    return "INTEGER" if kind is Type.NULL else kind.value


def reader(table: Table) -> Read:
    """Reads every column of a table through its declared domain."""
    return Read(
        lambda name: name if name.startswith(STAGED) else read_column(table, name),
        lambda name: f"({name} IS NULL)" if name.startswith(STAGED) else _is_null(table, name),
    )


def _is_null(table: Table, name: str) -> str:
    """Whether a column is NULL as the plan means it. A number need not be clamped to know that."""
    domain = table.domains[name]
    if domain.values is None and domain.nullable and domain.type is Type.FLOAT:
        value = stored(table, name)
        return f"({value} IS NULL OR isnan({value}))"
    if domain.values is None and domain.nullable and domain.type is Type.INT:
        return f"({duckdb_name(name)} IS NULL)"
    return f"({read_column(table, name)} IS NULL)"


def where_sql(where: Expr | None, table: Table) -> str:
    """The clause that keeps the rows of a condition; they are read as they are where that suffices."""
    if where is None:
        return ""
    plain = Read(lambda name: stored(table, name), lambda name: _is_null(table, name))
    found = [(as_stored(condition, table), condition) for condition in conjuncts(where)]
    tests = [sql_of(c, reader(table)) if p is None else sql_of(p, plain) for p, c in found]
    return f" WHERE {' AND '.join(tests)}"


def staged_sql(source: str, stages: Stages, read: Read) -> str:
    """The rows of `source` with the columns of every stage beside them."""
    for stage in stages:
        listed = ", ".join(f"{sql_of(expr, read)} AS {name}" for name, expr in stage)
        source = f"(SELECT *, {listed} FROM {source})"
    return source


def stored(table: Table, name: str) -> str:
    """A column in the plan's type (integers of up to 64 bits in their own), its values as they are."""
    storage, column = table.storage[name], duckdb_name(name)
    if storage.type is Type.TIMESTAMP:
        return _microseconds(column, storage.name)
    if storage.is_wide:
        unlisted = unlisted_integer(table.domains[name])
        return f"COALESCE(TRY_CAST({column} AS BIGINT), CASE WHEN {column} IS NOT NULL THEN {unlisted} END)"
    if not storage.exact and storage.type is not None:
        column = f"CAST({column} AS {storage.type.value})"
    return by_bytes(column) if storage.type is Type.TEXT else column


def by_bytes(text: str) -> str:
    """Text that is compared and grouped byte by byte.

    A column or a connection may have another collation. Then 'er' and 'ER' are one group, named
    after whichever row is met first: one row would rename the group of a thousand others.
    """
    return f'({text} COLLATE "binary")'


def read_column(table: Table, name: str) -> str:
    """A column as the plan means it: NaN is NULL, and values lie in the declared domain.

    A bound that is declared but not enforced would be a bug: noise is calibrated to it.
    """
    domain, storage, column = table.domains[name], table.storage[name], duckdb_name(name)
    text = stored(table, name)
    if domain.values is not None:
        # Not clamped first: that would make a listed key of a value beyond the last one.
        listed = ", ".join(duckdb_literal(v) for v in domain.values)
        text = f"CASE WHEN {text} IN ({listed}) THEN CAST({text} AS {domain.type.value}) END"
        if domain.nullable or not domain.values:
            return text
        return f"COALESCE({text}, {duckdb_literal(domain.values[0])})"
    match domain.type:
        case Type.INT:
            text = _integer(column, domain, storage.low, storage.high)
        case Type.FLOAT:
            text = _float(text, domain)
        case Type.DATE:
            text = _clamped(column, domain.low or FIRST_DAY, domain.high or LAST_DAY, "DATE")
        case Type.TIMESTAMP if domain.is_bounded:
            text = _clamped(text, domain.low, domain.high, "TIMESTAMP")
    if not domain.nullable:
        text = f"COALESCE({text}, {duckdb_literal(domain.low)})"
    return text


def _integer(column: str, domain: Domain, least: int | None, most: int | None) -> str:
    """Clamp in the stored type, which may be wider than 64 bits, then convert."""
    low = INT64[0] if domain.low is None else domain.low
    high = INT64[1] if domain.high is None else domain.high
    below = least is None or least < low
    above = most is None or most > high
    all_below, all_above = most is not None and most < low, least is not None and least > high
    if all_below or all_above:  # beyond an end that the stored type cannot even be compared with
        text = f"CASE WHEN {column} IS NOT NULL THEN {low if all_below else high} END"
    elif below and above:  # what lies inside comes first: nearly every row does
        text = (
            f"CASE WHEN {column} BETWEEN {low} AND {high} THEN {column}"
            f" WHEN {column} < {low} THEN {low} WHEN {column} > {high} THEN {high} END"
        )
    elif below:
        text = f"CASE WHEN {column} < {low} THEN {low} ELSE {column} END"
    elif above:
        text = f"CASE WHEN {column} > {high} THEN {high} ELSE {column} END"
    else:
        text = column
    return f"CAST({text} AS BIGINT)"


def _float(value: str, domain: Domain) -> str:
    if not domain.is_bounded:
        return f"CASE WHEN NOT isnan({value}) THEN {value} END"
    low, high = duckdb_literal(domain.low), duckdb_literal(domain.high)
    return (  # what lies inside comes first: nearly every row does; at an end, -0.0 is that end
        f"CASE WHEN {value} > {low} AND {value} < {high} THEN {value}"
        f" WHEN {value} <= {low} THEN {low} WHEN {value} <= {INFINITY} THEN {high} END"
    )


def _clamped(column: str, low: object, high: object, kind: str) -> str:
    first, last = (f"CAST('{end}' AS {kind})" for end in (low, high))
    return (
        f"CASE WHEN {column} < {first} THEN {first} WHEN {column} > {last} THEN {last}"
        f" ELSE {column} END"
    )


def _microseconds(column: str, kind: str) -> str:
    """Microseconds, rounded down, inside the calendar that every engine shares.

    Clamped in the stored unit first, so that the conversion cannot overflow.
    """
    if kind == "TIMESTAMP_NS":
        # A cast would round to nearest. // rounds toward zero, and epoch_ns of an infinity is
        # NULL: to Polars those two are the first and the last nanosecond.
        count, epoch = f"epoch_ns({column})", "make_timestamp_ns(0)"
        down = f"{count} // 1000 - CASE WHEN {count} % 1000 < 0 THEN 1 ELSE 0 END"
        ends = f"CASE WHEN {column} < {epoch} THEN {INT64[0] // 1000} ELSE {INT64[1] // 1000} END"
        return f"make_timestamp(CASE WHEN isinf({column}) THEN {ends} ELSE {down} END)"
    if kind in ("TIMESTAMP_MS", "TIMESTAMP_S"):
        last = LAST_TIME.replace(microsecond=0 if kind == "TIMESTAMP_S" else 999_000)
        return f"CAST({_clamped(column, FIRST_TIME, last, kind)} AS TIMESTAMP)"
    return _clamped(column, FIRST_TIME, LAST_TIME, "TIMESTAMP")


Named = Callable[[str], str]
"""What some SQL is called that is mentioned more than once: itself, or a column that holds it."""


def code_of(part: CodedSum, table: Table, named: Named = str) -> str:
    """The integer code of a sum's expression, NULL where it adds nothing."""
    coded = _integer_code if part.coding.is_integer else _grid_code
    return _where_it_counts(coded(part, table, named), part, table)


def double_code_of(part: CodedSum, table: Table, named: Named) -> str:
    """The same of an expression on a grid, as a double that is a whole number."""
    return _where_it_counts(_grid_code(part, table, named, in_doubles=True), part, table)


def unclamped_code_of(part: CodedSum, table: Table) -> str | None:
    """What `double_code_of` clamps to the range of codes, where a sum is of a column as it is stored.

    It cannot fail: it is NaN or infinite where the column is, or where a code would be too large.
    """
    column = _plain_float_column(part.expr, table)
    if column is None or part.condition is not None or part.coding.is_integer:
        return None
    return _rounded(stored(table, column), part.coding)


_FEW = 2**15
"""Of so many different values, writers of Parquet make a list for each run of rows."""


def clamped_once(part: CodedSum, table: Table) -> str | None:
    """A column clamped to a range of few integers, with NULL as its low end.

    DuckDB computes a chain of functions once for each value that a Parquet file lists, not for each
    row that has it; of CASE it does not. Elsewhere these two functions are slower.
    """
    if not isinstance(part.expr, Column) or part.condition is not None:
        return None
    domain, storage = table.domains[part.expr.name], table.storage[part.expr.name]
    if domain.type is not Type.INT or domain.values is not None or storage.is_wide:
        return None
    low, high = domain.low, domain.high
    if not storage.repeats or (low, high) != (part.coding.low, part.coding.high):
        return None  # the low end that is taken away again has to be the one that is added
    if not part.coding.is_integer or part.coding.high - part.coding.low > _FEW:
        return None
    # LEAST and GREATEST skip NULL, so that of NULL the first makes the low end.
    return f"LEAST(GREATEST({duckdb_name(part.expr.name)}, {low}), {high})"


def _where_it_counts(code: str, part: CodedSum, table: Table) -> str:
    if part.condition is None:
        return code
    return f"CASE WHEN {sql_of(part.condition, reader(table))} THEN {code} END"


def _integer_code(part: CodedSum, table: Table, named: Named) -> str:
    value = sql_of(part.expr, reader(table))
    if isinstance(part.expr, Column):
        return value  # clamped on reading
    # Clamped here whatever the analysis proved: the sensitivity rests on this line alone.
    ends = Domain(Type.INT, part.coding.low, part.coding.high)
    return _integer(named(f"({value})"), ends, None, None)


def _grid_code(part: CodedSum, table: Table, named: Named, *, in_doubles: bool = False) -> str:
    """The ladder that clamps, scales and rounds in one go.

    Inside the bounds CAST rounds half to even and cannot fail; what lies outside gets the codes of
    the bounds; NaN, which DuckDB sorts above infinity, and NULL fall through to NULL.
    """
    coding, otherwise = part.coding, ""
    ends = (coding.low, coding.high)
    first, last = (duckdb_literal(float(end)) for end in ends) if in_doubles else map(str, ends)
    column = _plain_float_column(part.expr, table)
    if column is not None:
        # The ladder clamps as reading would, so the column need not be read first.
        value = stored(table, column)
        otherwise = "" if table.domains[column].nullable else f" ELSE {first}"
    else:
        value = named(f"CAST({sql_of(part.expr, reader(table))} AS DOUBLE)")
    low, high = (duckdb_literal(coding.value(code)) for code in ends)
    # Inside the bounds the cast cannot fail. If it did after all, no error may tell of a row.
    scaled = f"TRY_CAST({value} * {duckdb_literal(float(coding.scale))} AS BIGINT)"
    return (
        f"CASE WHEN {value} BETWEEN {low} AND {high}"
        f" THEN {_rounded(value, coding) if in_doubles else scaled}"
        f" WHEN {value} < {low} THEN {first}"
        f" WHEN {value} <= {INFINITY} THEN {last}{otherwise} END"
    )


def _rounded(value: str, coding: Coding) -> str:
    """A number in codes, rounded half to even if it lies within 2^51 of them."""
    constant = duckdb_literal(ROUNDING)
    return f"(({value} * {duckdb_literal(float(coding.scale))} + {constant}) - {constant})"


def _plain_float_column(expr: Expr, table: Table) -> str | None:
    """The column that an expression is, where that is a float with a range."""
    if isinstance(expr, Column):
        domain = table.domains[expr.name]
        if domain.type is Type.FLOAT and domain.values is None:
            return expr.name
    return None
