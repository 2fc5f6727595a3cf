"""Other dialects of SQL, read into the meaning that DuckDB's has.

The parser reads each dialect's own syntax and names. Where the same words *mean* something else,
the parsed statement is changed here, or the word is refused: an answer to another question would
be worse than none. Text is compared by its bytes whatever the dialect, because that is a setting
of a database, not of its language; and regular expressions are read as DuckDB's.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from dpframe.errors import ParameterError
from dpframe.frontends.sql_formats import called, strftime_format
from dpframe.frontends.sql_origin import sql_error
from dpframe.frontends.sql_synonyms import KNOWN
from dpframe.plan.functions.casts import HALF_AWAY, TOWARD_ZERO

DUCKDB = "duckdb"
_HALF_EVEN = ""

_ROUNDING = {
    "bigquery": HALF_AWAY,
    "databricks": TOWARD_ZERO,
    "mysql": HALF_AWAY,
    "postgres": _HALF_EVEN,
    "snowflake": HALF_AWAY,
    "spark": TOWARD_ZERO,
    "trino": HALF_AWAY,
    "tsql": TOWARD_ZERO,
}
"""The dialects besides DuckDB's, and how CAST(x AS INT) rounds in each."""

_SYNONYMS = {"postgresql": "postgres", "googlesql": "bigquery", "sqlserver": "tsql"}

_BACKSLASH_ESCAPES = ("bigquery", "databricks", "mysql", "postgres", "spark")
"""Where a backslash in a LIKE pattern escapes the next character without being told."""

_SUNDAY_IS_ONE = ("bigquery", "databricks", "mysql", "spark")
"""Where the day of the week counts from 1; elsewhere Sunday is 0, as in DuckDB."""

_STARTS_COUNTED = ("bigquery", "snowflake", "tsql")
"""Where DATE_DIFF counts the starts of units between two dates, as in DuckDB."""

_INTEGERS = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
_ZONED = {"TIMESTAMPTZ", "TIMESTAMPLTZ"}


def dialect_named(name: object) -> str:
    """The dialect of a name, or an error that lists them.

    >>> dialect_named("PostgreSQL")
    'postgres'
    """
    known = (DUCKDB, *_ROUNDING)
    plain = name.strip().lower() if isinstance(name, str) else ""
    plain = _SYNONYMS.get(plain, plain)
    if plain in known:
        return plain
    near = difflib.get_close_matches(plain, known, n=1)
    raise ParameterError(
        f"dialect={name!r} is not known" + (f"; {near[0]!r} is" if near else ""),
        why="in an unknown dialect the same words may mean something else",
        fix="dialect= one of " + ", ".join(map(repr, sorted(known))),
    )


def in_duckdb_terms(select: exp.Select, dialect: str, text: str) -> exp.Select:
    """The same question with DuckDB's meanings, the places of all names and constants kept."""
    if dialect == DUCKDB:
        return select
    for node in list(select.walk()):
        rewrite = _REWRITES.get(type(node))  # type: ignore[arg-type]
        if rewrite is not None:
            rewrite(node, dialect, text)
    return select


def _refuse(node: exp.Expression, dialect: str, text: str, what: str, fix: str) -> None:
    raise sql_error(
        node,
        text,
        f"{what} means something else in {dialect}",
        why="the answer would be to another question",
        fix=fix,
    )


def _cast(node: Any, dialect: str, text: str) -> None:
    kind = node.args["to"].this
    if getattr(kind, "name", "") in _ZONED and isinstance(node.this, exp.Literal):
        # TIMESTAMP '2024-01-31 12:00:00' is in the zone of the session, as all timestamps are there.
        node.set("to", exp.DataType.build("TIMESTAMP"))
    # TIMESTAMP '2024-01-31 12:00:00' is a TIMESTAMP(0) in Trino.
    elif dialect == "trino" and isinstance(node.this, exp.Literal) and _keeps_all(node):
        node.set("to", exp.DataType.build("TIMESTAMP"))
    if getattr(kind, "name", "") in _INTEGERS and _ROUNDING[dialect]:
        node.meta["rounding"] = _ROUNDING[dialect]


def _keeps_all(node: Any) -> bool:
    """Whether a text is read as a timestamp of as many digits as it has, so that none is rounded."""
    kind, digits = node.args["to"], len(node.this.name.partition(".")[2])
    given = [param.name for param in kind.expressions]
    return getattr(kind.this, "name", "") == "TIMESTAMP" and given == [str(digits)]


def _like(node: Any, dialect: str, text: str) -> None:
    escaped = isinstance(node.parent, exp.Escape)
    if dialect in _BACKSLASH_ESCAPES and not escaped:
        node.meta["escape"] = "\\"
    if dialect == "tsql" and "[" in node.expression.name:
        _refuse(node, dialect, text, "[ in a pattern", "x LIKE 'a%' OR x LIKE 'b%'")


def _weekday(node: Any, dialect: str, text: str) -> None:
    if dialect == "tsql":
        _refuse(node, dialect, text, "the day of the week", "DATE_DIFF, or dialect='duckdb'")
    if dialect in _SUNDAY_IS_ONE:
        parent, key, index = node.parent, node.arg_key, node.index
        moved = exp.Paren(this=exp.Add(this=node, expression=exp.Literal.number(1)))
        parent.set(key, moved, index)


def _week(node: Any, dialect: str, text: str) -> None:
    if dialect in ("bigquery", "mysql", "tsql"):
        _refuse(node, dialect, text, "the number of a week", "dialect='duckdb' for ISO weeks")


def _extract(node: Any, dialect: str, text: str) -> None:
    field = node.this.name.lower()
    if field in ("dayofweek", "dow", "day_of_week") and dialect == "trino":
        node.set("this", exp.var("isodow"))
    elif field in ("dayofweek", "dow"):
        if field == "dayofweek" or dialect in ("spark", "databricks"):
            _weekday(node, dialect, text)
    elif field == "week":
        _week(node, dialect, text)


def _truncation(node: Any, dialect: str, text: str) -> None:
    unit = node.args["unit"]
    if isinstance(unit, exp.WeekStart):
        if unit.name.upper() != "MONDAY":
            _refuse(node, dialect, text, "WEEK, which begins on Sunday,", "ISOWEEK")
        node.set("unit", exp.var("week"))
    short = {"mm": "month", "mon": "month", "yy": "year", "yyyy": "year", "isoweek": "week"}
    name = node.args["unit"].name.lower()
    if name in short:
        node.set("unit", exp.var(short[name]))
    if name == "week" and dialect == "tsql":
        _refuse(node, dialect, text, "WEEK, which begins on Sunday,", "dialect='duckdb'")
    node.set("input_type_preserved", None)
    # PostgreSQL and Spark make timestamps of dates, as DuckDB does.
    if isinstance(node, exp.DateTrunc) or dialect in ("snowflake", "trino", "tsql"):
        node.meta["keeps_dates"] = True


def _addition(node: Any, dialect: str, text: str) -> None:
    node.meta["keeps_dates"] = dialect != "postgres"
    # DATE_SUB(d, 5) is parsed as adding 5 * -1.
    amount = node.expression
    if isinstance(amount, exp.Mul) and isinstance(amount.this, exp.Literal):
        node.set("expression", exp.Neg(this=amount.this))


def _sum(node: Any, dialect: str, text: str) -> None:
    if node.find(exp.Interval):
        node.meta["keeps_dates"] = dialect != "postgres"


def _difference(node: Any, dialect: str, text: str) -> None:
    unit = node.args.get("unit")
    if unit is None:
        for key in ("this", "expression"):  # whole days, whatever the time of day
            node.set(key, exp.TsOrDsToDate(this=node.args[key]))
        return
    week = isinstance(unit, exp.WeekStart) or unit.name.lower() in ("week", "isoweek")
    if dialect not in _STARTS_COUNTED or week:
        _refuse(
            node,
            dialect,
            text,
            f"a difference in units of {'week' if week else unit.name.lower()}",
            "DATE_DIFF('day', start, end) with dialect='duckdb'",
        )


def _quotient(node: Any, dialect: str, text: str) -> None:
    # A sum of PostgreSQL's BIGINT is a NUMERIC, so SUM(x) / COUNT(*) is no whole number; one of
    # INTEGER, such as 0 and 1 in SUM(CASE ... END) / COUNT(*), is a BIGINT.
    if dialect == "postgres":
        sums = [n for n in _values(node) if isinstance(n, exp.Sum)]
        if any(_is_bigint(value) for total in sums for value in _values(total)):
            node.set("typed", False)


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a number is made of, without what it depends on in other ways."""
    yield node
    if isinstance(node, exp.Cast | exp.Predicate | exp.Length):
        return
    for part in node.iter_expressions():
        if not (isinstance(node, exp.Case | exp.If) and part is node.this):
            yield from _values(part)


def _is_bigint(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return bool(node.to.is_type("BIGINT", "DECIMAL"))
    return isinstance(node, exp.Column)


def _similar(node: Any, dialect: str, text: str) -> None:
    _refuse(node, dialect, text, "SIMILAR TO", "x ~ '^pattern$', or LIKE")


def _formatted(node: Any, dialect: str, text: str) -> None:
    """A date written as text, in the words of the dialect."""
    if isinstance(node, exp.ToChar) and node.args.get("format") is None:
        return
    named = isinstance(node.args["format"], exp.Literal) and node.args["format"].name
    if named in ("%A", "%B") and called(node, text) in ("DATENAME", "MONTHNAME"):
        if dialect == "tsql":  # which casts it to a type that is not known here
            node.this.replace(node.this.this)
        return  # DATENAME(month, day) has no format
    if dialect in _OTHERS_WRITE and called(node, text) == "TO_CHAR":
        _refuse(node, dialect, text, "TO_CHAR", _OTHERS_WRITE[dialect])
    form = exp.Literal.string(strftime_format(node, dialect, text))
    written = exp.TimeToStr(this=node.this, format=form)
    written.meta.update(node.meta)
    node.replace(written)


_OTHERS_WRITE = {
    "bigquery": "FORMAT_DATE('%Y-%m', day)",
    "mysql": "DATE_FORMAT(day, '%Y-%m')",
    "trino": "DATE_FORMAT(day, '%Y-%m')",
}
"""Where formats have directives, and TO_CHAR is another function, with words for them."""


def _abbreviated(node: Any, dialect: str, text: str) -> None:
    if node.args.get("abbreviated") or dialect in ("databricks", "spark"):
        form = "%b" if isinstance(node, exp.Monthname) else "%a"
        written = exp.TimeToStr(this=node.this, format=exp.Literal.string(form))
        written.meta.update(node.meta)
        node.replace(written)


def _named(node: Any, dialect: str, text: str) -> None:
    if node.meta.get(KNOWN):
        return
    raise sql_error(
        node,
        text,
        f"the function {node.name.upper()} of {dialect} is not known",
        why="a function needs proven bounds, and a meaning that every engine shares",
        fix="write the query with DuckDB's functions, and dialect='duckdb'",
    )


def _length(node: Any, dialect: str, text: str) -> None:
    if dialect == "bigquery":
        node.set("binary", None)  # of text it counts characters there, too
    if dialect == "tsql":
        _refuse(node, dialect, text, "LEN, which leaves out trailing spaces,", "dialect='duckdb'")


_REWRITES: dict[type[exp.Expression], Callable[[Any, str, str], None]] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Like: _like,
    exp.ILike: _like,
    exp.DayOfWeek: _weekday,
    exp.Week: _week,
    exp.Extract: _extract,
    exp.DateTrunc: _truncation,
    exp.TimestampTrunc: _truncation,
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.DateAdd: _addition,
    exp.DateSub: _addition,
    exp.DatetimeAdd: _addition,
    exp.DatetimeSub: _addition,
    exp.TimestampAdd: _addition,
    exp.TimestampSub: _addition,
    exp.TsOrDsAdd: _addition,
    exp.AddMonths: _addition,
    exp.DateDiff: _difference,
    exp.DatetimeDiff: _difference,
    exp.Div: _quotient,
    exp.SimilarTo: _similar,
    exp.TimeToStr: _formatted,
    exp.ToChar: _formatted,
    exp.Dayname: _abbreviated,
    exp.Monthname: _abbreviated,
    exp.Anonymous: _named,
    exp.Length: _length,
}
