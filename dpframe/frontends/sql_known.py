"""Which sqlglot nodes are understood: what each may carry, and which function it calls."""

from __future__ import annotations

from sqlglot import exp

from dpframe.frontends.sql_origin import sql_error
from dpframe.plan.functions import FUNCTIONS, Function, by_sql_name

REFUSED: dict[type[exp.Expression], tuple[str, str, str]] = {
    exp.Window: (
        "window functions are not answered",
        "a window looks at many rows, so one row could change the values of all others",
        "aggregate with GROUP BY instead",
    ),
    exp.Subquery: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        "join it in FROM, or use IN (SELECT ...) or EXISTS (...) as a condition of WHERE",
    ),
    exp.Select: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        "join it in FROM, or use IN (SELECT ...) or EXISTS (...) as a condition of WHERE",
    ),
    exp.Exists: (
        "a subquery cannot stand here",
        "a value that all rows share would depend on the rows of every unit",
        "join it in FROM, or use IN (SELECT ...) or EXISTS (...) as a condition of WHERE",
    ),
    exp.ILike: (
        "ILIKE is not answered yet",
        "engines fold case differently",
        "LOWER(x) LIKE 'pattern'",
    ),
    exp.Interval: (
        "INTERVAL is not answered yet",
        "date arithmetic is not bounded yet",
        "compare with a date: d >= DATE '2024-01-31'",
    ),
    exp.Escape: (
        "ESCAPE is not answered yet",
        "only % and _ have a meaning in a pattern",
        "CONTAINS(x, 'text'), or STARTS_WITH and ENDS_WITH",
    ),
    exp.Bracket: (
        "indexing is not answered yet",
        "lists, structs and maps have no domain",
        "SUBSTRING(x, 1, 1) for a character of a text",
    ),
    exp.Order: (
        "ORDER BY is not answered inside an aggregate",
        "counts and sums have no order",
        "leave it out",
    ),
    exp.Array: (
        "a list cannot stand here",
        "each answer is one value per group",
        "QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.75): quantiles of one column share their cost",
    ),
    exp.IgnoreNulls: (
        "is not an aggregate that can be measured",
        "each aggregate needs a proven bound on what one unit changes",
        "COUNT, SUM and AVG leave NULL out anyway",
    ),
    exp.Star: (
        "* stands for rows",
        "rows are private; only aggregates of them can be released",
        "SELECT COUNT(*) FROM ...",
    ),
}


# Besides operands, what a node may carry without changing what it means here. Anything else would
# be ignored in silence, as NOT in `x NOT LIKE 'a'` once was, so it is refused.
_ARGUMENTS = {"this", "expression", "expressions"}
_OTHER_ARGUMENTS: dict[type[exp.Expression], set[str]] = {
    exp.Between: {"low", "high"},
    exp.Case: {"ifs", "default"},
    exp.Cast: {"to"},
    exp.Concat: {"safe", "coalesce"},
    exp.DPipe: {"safe"},
    exp.DateTrunc: {"unit"},
    exp.Greatest: {"ignore_nulls"},
    exp.If: {"true", "false"},
    exp.In: {"query"},
    exp.Least: {"ignore_nulls"},
    exp.Like: {"negate"},
    exp.Literal: {"is_string"},
    exp.Replace: {"replacement"},
    exp.Round: {"decimals"},
    exp.Substring: {"start", "length"},
    exp.TimestampTrunc: {"unit"},
    exp.Trim: {"position"},
    exp.TryCast: {"to", "safe"},
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
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)


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


def known_functions() -> list[str]:
    """The functions by the names that people write."""
    calls = {kind.key: name for name, kind in reversed(exp.FUNCTION_BY_NAME.items())}
    written = {n for f in FUNCTIONS.values() for n in f.sql}
    found = {calls.get(n, n) for n in written if n in calls or n not in _PARSER_WORDS}
    return sorted(n.upper() for n in found - {"AND", "OR"} | {"CASE", "CAST", "EXTRACT", "NULLIF"})
