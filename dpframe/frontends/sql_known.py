"""Which sqlglot nodes are understood: what each may carry, and which function it calls."""

from __future__ import annotations

from sqlglot import exp

from dpframe.frontends.sql_origin import sql_error
from dpframe.frontends.sql_times import TIME_ARGUMENTS, is_field
from dpframe.plan.functions import FUNCTIONS, Function, by_sql_name

_Words = tuple[str, str, str]
"""What is refused, why, and what to write instead."""

_NOT_FIXED: _Words = (
    "is not a fixed value",
    "the same query would ask something else tomorrow, and no answer could be reused",
    "write the day itself: DATE '2024-01-31', or TIMESTAMP '2024-01-31 12:00:00'",
)
_RANDOM: _Words = (
    "is not a fixed value",
    "a random filter would make two answers about the same rows differ",
    "leave it out; sampling gains no budget here",
)
_ZONED: _Words = (
    "time zones are not converted",
    "timestamps are naive, and the zone they were recorded in is not known here",
    "convert before registering: pl.col(x).dt.convert_time_zone(...).dt.replace_time_zone(None)",
)
_AGE: _Words = (
    "AGE is not answered",
    "it yields an interval of years, months and days, which has no order",
    "DATE_DIFF('year', born, DATE '2024-01-31')",
)
_COMPLETE: _Words = (
    "DATE_SUB is not answered",
    "it counts whole units between two dates, by rules that engines do not share",
    "DATE_DIFF('day', start, end), or day - INTERVAL '1' MONTH",
)
_PARSED: _Words = (
    "text is not parsed by a format",
    "engines accept different texts for the same format",
    "CAST(x AS DATE) for text such as 2024-01-31",
)

_SUBQUERY_FIX = (
    "join it in FROM, or use IN (SELECT ...) or EXISTS (...) as a condition of WHERE; the total"
    " beside groups is SUM(COUNT(*)) OVER ()"
)

_HISTOGRAM_FIX = (
    "HISTOGRAM(age, 11), or HISTOGRAM(age, [0, 18, 65, 110]); of single values:"
    " SELECT ward, COUNT(*) FROM visits WHERE ward IN ('er', 'icu') GROUP BY ward"
)

REFUSED: dict[type[exp.Expression], _Words] = {
    exp.Window: (
        "window functions of private rows are not answered",
        "a window looks at many rows, so one row could change the values of all others",
        "of groups: SELECT ward, RANK() OVER (ORDER BY COUNT(*) DESC) FROM visits GROUP BY ward",
    ),
    exp.Subquery: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        _SUBQUERY_FIX,
    ),
    exp.Select: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        _SUBQUERY_FIX,
    ),
    exp.Exists: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        _SUBQUERY_FIX,
    ),
    exp.Interval: (
        "an INTERVAL stands beside a date, after + or -",
        "alone it is neither a number nor a date",
        "day + INTERVAL '1' MONTH, or DATE_DIFF('day', start, end)",
    ),
    exp.CurrentDate: _NOT_FIXED,
    exp.CurrentTime: _NOT_FIXED,
    exp.CurrentTimestamp: _NOT_FIXED,
    exp.CurrentDatetime: _NOT_FIXED,
    exp.Localtime: _NOT_FIXED,
    exp.Localtimestamp: _NOT_FIXED,
    exp.Rand: _RANDOM,
    exp.Uuid: _RANDOM,
    exp.AtTimeZone: _ZONED,
    exp.ConvertTimezone: _ZONED,
    exp.UnixToTime: (
        "counts of seconds and timestamps are not converted",
        "the zone and the unit would have to be guessed",
        "EXTRACT(epoch FROM x) for seconds since 1970",
    ),
    exp.StrToTime: _PARSED,
    exp.StrToDate: _PARSED,
    exp.Glob: (
        "GLOB is not answered",
        "its brackets mean different things to different engines",
        "x LIKE 'a%', or REGEXP_MATCHES(x, '^a')",
    ),
    exp.Collate: (
        "COLLATE is not answered",
        "text is compared by its bytes, on every engine the same",
        "LOWER(x), or x ILIKE 'pattern'",
    ),
    exp.TimestampDiff: (
        "whole units between two timestamps are not counted",
        "DATE_DIFF counts how many starts of the unit lie between",
        "DATE_DIFF('day', start, end), in DuckDB's dialect",
    ),
    exp.Bracket: (
        "indexing is not answered yet",
        "lists, structs and maps have no domain",
        "SUBSTRING(x, 1, 1) for a character of a text; QUANTILE_CONT(x, 0.5) for one of several",
    ),
    exp.Order: (
        "ORDER BY is not answered inside an aggregate",
        "counts and sums have no order",
        "leave it out",
    ),
    exp.Array: (
        "a list cannot stand here",
        "only a list of quantiles is answered, as a column of its own that nothing is computed from",
        "QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.75): quantiles of one column share their cost",
    ),
    exp.IgnoreNulls: (
        "is not an aggregate that can be measured",
        "each aggregate needs a proven bound on what one unit changes",
        "COUNT, SUM and AVG leave NULL out anyway",
    ),
    exp.TableColumn: (
        "is a table, which stands for whole rows",
        "an expression takes the columns of a row, each of which has bounds of its own",
        "COUNT(*) for the number of rows, or a column: COUNT(age)",
    ),
    exp.Star: (
        "* stands for rows",
        "rows are private; only aggregates of them can be released",
        "SELECT COUNT(*) FROM ...",
    ),
}

REFUSED_NAMES: dict[str, _Words] = {
    **dict.fromkeys(
        ("histogram_exact", "histogram_values"),
        (
            "only HISTOGRAM is answered",
            "an answer has a row for each bin, and each has an error bar of its own",
            _HISTOGRAM_FIX,
        ),
    ),
    **dict.fromkeys(
        ("now", "get_current_timestamp", "transaction_timestamp", "today", "get_current_time"),
        _NOT_FIXED,
    ),
    "age": _AGE,
    "date_sub": _COMPLETE,
    "datesub": _COMPLETE,
    "timezone": _ZONED,
}
"""Functions that are refused with words of their own, by name."""


# Besides operands, what a node may carry without changing what it means here. Anything else would
# be ignored in silence, as NOT in `x NOT LIKE 'a'` once was, so it is refused.
_ARGUMENTS = {"this", "expression", "expressions"}
_OTHER_ARGUMENTS: dict[type[exp.Expression], set[str]] = {
    exp.Between: {"low", "high"},
    exp.Case: {"ifs", "default"},
    exp.Cast: {"to"},
    exp.Coalesce: {"is_null"},
    exp.Concat: {"safe", "coalesce"},
    exp.DPipe: {"safe"},
    exp.Div: {"typed", "safe"},
    exp.Greatest: {"ignore_nulls"},
    exp.If: {"true", "false"},
    exp.In: {"query"},
    exp.Least: {"ignore_nulls"},
    exp.Like: {"negate"},
    exp.ILike: {"negate"},
    exp.Literal: {"is_string"},
    exp.Nvl2: {"true", "false"},
    exp.Pad: {"fill_pattern", "is_left"},
    exp.RegexpLike: {"flag", "full_match"},
    exp.RegexpILike: {"flag"},
    exp.Replace: {"replacement"},
    exp.Round: {"decimals"},
    exp.SplitPart: {"delimiter", "part_index"},
    exp.StrPosition: {"substr", "clamp_position"},
    exp.Substring: {"start", "length"},
    exp.Trim: {"position"},
    exp.TryCast: {"to", "safe"},
    exp.Xor: {"round_input"},
    **TIME_ARGUMENTS,
}


def arguments_of(node: exp.Expression) -> set[str]:
    """The names of the arguments that a reader of this node looks at."""
    return _ARGUMENTS | _OTHER_ARGUMENTS.get(type(node), set())


def refuse_unread(node: exp.Expression, read: set[str], statement: str) -> None:
    """Refuse a node that says more than is read of it."""
    unread = [k for k, v in node.args.items() if v not in (None, False, []) and k not in read]
    if unread:
        raise sql_error(
            node,
            statement,
            f"{unread[0].replace('_', ' ').upper()} is not understood here",
            why="ignoring a part of a query would answer another question",
            fix="write it without",
        )


def is_aggregate(node: exp.Expression) -> bool:
    """Whether a node is an aggregate, with its FILTER or without."""
    known = isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)
    return known or is_any_value(node) or is_histogram(node) or _is_called(node)


def _is_called(node: exp.Expression) -> bool:
    """Whether a node is an aggregate that the parser has no kind of its own for."""
    return isinstance(node, exp.Anonymous) and node.name.upper() in _CALLED


_CALLED = (
    *("FAVG", "FSUM", "GEOMEAN", "GEOMETRIC_MEAN", "KAHAN_SUM", "KURTOSIS_POP", "SEM"),
    *("SKEWNESS_POP", "SUMKAHAN", "WAVG", "WEIGHTED_AVG"),
)


def is_histogram(node: exp.Expression) -> bool:
    """Whether a node is a call of HISTOGRAM."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "histogram"


def is_any_value(node: exp.Expression) -> bool:
    """Whether a node is ANY_VALUE, around which the parser puts the IGNORE NULLS that it implies."""
    return isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue)


def _parser_words() -> frozenset[str]:
    """What the parser calls its nodes: add, eq, dpipe. Nobody writes these as functions."""
    kinds = (v for v in vars(exp).values() if isinstance(v, type))
    return frozenset(k.key for k in kinds if issubclass(k, exp.Expression))


_PARSER_WORDS = _parser_words()


def function_of(node: exp.Expression) -> Function | None:
    """The entry of the function table that a node calls."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return None if name in _PARSER_WORDS else by_sql_name(name)
    names = [node.key, *(node.sql_names() if isinstance(node, exp.Func) else [])]
    return next((f for f in map(by_sql_name, map(str.lower, names)) if f is not None), None)


def is_foreign(node: exp.Expression) -> bool:
    """Whether a node calls a function that the parser knows, and nobody here."""
    named = isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous)
    return named and not is_field(node) and function_of(node) is None


def known_functions() -> list[str]:
    """The functions by the names that people write."""
    calls = {kind.key: name for name, kind in reversed(exp.FUNCTION_BY_NAME.items())}
    written = {n for f in FUNCTIONS.values() for n in f.sql}
    found = {calls.get(n, n) for n in written if n in calls or n not in _PARSER_WORDS}
    return sorted(n.upper() for n in found - _OTHERWISE_WRITTEN | _READ_BY_HAND)


_OTHERWISE_WRITTEN = {"AND", "OR", "STR_POSITION", "TIME_TO_UNIX"}
_READ_BY_HAND = {
    *("CASE", "CAST", "DATE_ADD", "DATE_DIFF", "DATE_TRUNC", "DAYNAME", "EXTRACT", "LOG", "LPAD"),
    *("MONTHNAME", "NULLIF", "NVL2", "PI", "REGEXP_FULL_MATCH", "REGEXP_MATCHES", "RPAD"),
    *("STRFTIME", "STRPOS", "TRY_CAST"),
}
"""What is offered besides what the function table says."""
