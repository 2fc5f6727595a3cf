"""GROUP BY, ORDER BY and LIMIT: what the words of a clause come to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from dpframe.errors import SQLError
from dpframe.frontends.sql_known import REFUSED, is_aggregate
from dpframe.frontends.sql_origin import origin_of, place_of_word, sql_error

_DEEPEST = 100
"""Expressions nest this deep at most: reading, analysing and running them are all recursive."""

_MOST_CONDITIONS = 500
"""Conditions that are connected by AND and OR, in a whole query."""

_LARGEST = 5_000
"""Terms of all expressions of a query; constants in lists do not count."""

_MOST_SETS = 64
"""Groupings of one query; CUBE over six columns has that many."""

_MOST_ROWS = 2**40
"""More than any noisy table has; a larger LIMIT is the same."""


def refuse_what_is_too_large(select: exp.Select, text: str) -> None:
    """Refuse what later steps could not walk; a chain of ANDs or ORs is one level."""
    depths = {id(select): 0}
    nodes = [node for node in select.walk() if node is not select and node.parent is not None]
    for node in nodes:
        level = isinstance(node, exp.Connector) and type(node) is type(node.parent)
        depths[id(node)] = depths[id(node.parent)] + (0 if level else 1)
    connectors = sum(isinstance(node, exp.Connector) for node in nodes)
    deepest = max(depths.values())
    if deepest > _DEEPEST or connectors > _MOST_CONDITIONS or _size(select, nodes) > _LARGEST:
        raise SQLError(
            "the query is too long or nested too deeply",
            why=f"expressions go {_DEEPEST} levels deep at most, and a query has"
            f" {_MOST_CONDITIONS} ANDs and ORs and {_LARGEST:,} terms at most, written out",
            fix="use IN (...) for a long list, or ask several queries",
        )


def _size(select: exp.Select, nodes: Sequence[Any]) -> int:
    """The number of terms once written out: x BETWEEN 1 AND 2 is two comparisons of x."""
    sizes = {id(node): 0 if isinstance(node, exp.Literal) else 1 for node in (select, *nodes)}
    for node in reversed(nodes):  # parents come before their children
        sizes[id(node.parent)] += sizes[id(node)] * _mentions(node)
    return sizes[id(select)]


def _mentions(node: exp.Expression) -> int:
    """How often what it is part of mentions it."""
    whole = node.parent
    if node.arg_key != "this":
        return 1
    match whole:
        case exp.Nullif() | exp.Between():
            return 2
        case exp.Case():
            return max(1, len(whole.args["ifs"]))
        case exp.In():
            return max(1, sum(e.find(exp.Column) is not None for e in whole.expressions))
    return 1


def refuse_wrong_ordinals(select: exp.Select, text: str) -> None:
    """Refuse GROUP BY 9 and ORDER BY 0, which name no column; and constants to sort by."""
    for clause in ("group", "order"):
        node = select.args.get(clause)
        for item in node.expressions if node is not None else []:
            target = item.this if isinstance(item, exp.Ordered) else item
            number = target.this if isinstance(target, exp.Neg) else target
            if not isinstance(number, exp.Literal) or (clause == "group" and number.is_string):
                continue
            if number.is_string or number is not target or not _is_ordinal(number, select):
                raise sql_error(
                    target,
                    text,
                    f"{clause.upper()} BY takes a column, or its number",
                    why=f"the query has columns 1 to {len(select.expressions)}",
                    fix=f"{clause.upper()} BY 1",
                )


def _is_ordinal(number: exp.Literal, select: exp.Select) -> bool:
    return number.this.isdecimal() and 1 <= int(number.this) <= len(select.expressions)


def group_keys(select: exp.Select, text: str) -> list[exp.Expression]:
    """The expressions to group by, each once. A constant groups nothing."""
    group = select.args.get("group")
    if group is None:
        return []
    clauses = [c for c in ("cube", "rollup", "grouping_sets", "totals") if group.args.get(c)]
    if clauses:
        name = clauses[0].upper().replace("_", " ")
        raise sql_error(
            place_of_word(text, name) or group,
            text,
            f"WITH {name} is not answered",
            why="DuckDB writes several groupings in another way",
            fix="GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), (a), ())",
        )
    if group.args.get("all"):
        if group.expressions:
            raise sql_error(
                group.expressions[0],
                text,
                "GROUP BY ALL takes no other keys",
                why="it groups by every column of SELECT that is no aggregate",
                fix="GROUP BY ALL, or list the keys",
            )
        items = [item.unalias() for item in select.expressions]
        keys = [i for i in items if not any(map(is_aggregate, i.walk()))]
    elif group.expressions:
        keys = [key for item in group.expressions for key in _flat(item)]
        _refuse_results(keys, select, text)
        if any(isinstance(item, _SEVERAL) for item in group.expressions):
            _refuse_constants(keys, text)
    else:
        raise sql_error(
            place_of_word(text, "GROUP BY"),
            text,
            "GROUP BY names nothing",
            why="groups need a key",
            fix="GROUP BY a column, or leave it out",
        )
    return [key for key in dict.fromkeys(keys) if not _is_constant(key)]


def _is_constant(key: exp.Expression) -> bool:
    """Whether a key is the same in all rows; what cannot be read is left for the reader to refuse."""
    return key.find(exp.Column, exp.AggFunc, *REFUSED) is None


_WINDOW_AS_KEY = (
    "SELECT t, SUM(n) FROM (SELECT ward, COUNT(*) AS n, NTILE(4) OVER (ORDER BY ward) AS t"
    " FROM visits GROUP BY ward) GROUP BY t"
)
_COUNT_AS_KEY = "SELECT n, COUNT(*) FROM (SELECT id, LEAST(COUNT(*), 20) AS n FROM visits GROUP BY id) GROUP BY n"


def _refuse_results(keys: Sequence[exp.Expression], select: exp.Select, text: str) -> None:
    """Refuse keys that are computed of groups: aggregates and windows, or their names."""
    results = {item.alias_or_name.lower(): item.unalias() for item in select.expressions}
    found: dict[exp.Expression, exp.Expression] = {}
    for key in keys:
        named = {
            id(column): results.get(column.name.lower())
            for column in key.find_all(exp.Column)
            if not column.table  # else it is a column of a table, which goes before
        }
        inner = next((e for e in (key, *named.values()) if e is not None and _is_result(e)), None)
        if inner is not None:
            found[key] = inner
    if not found:
        return
    key, result = next(iter(found.items()))
    places = [origin_of(each, text) for each in keys if each not in found]
    others = ", ".join(dict.fromkeys(place.text() for place in places if place is not None))
    name = key.name if isinstance(key, exp.Column) else ""
    if result.find(exp.Window):
        what = "is a window, and groups are made before windows look at them"
        why = "a window looks at many rows, so one row could change the values of all others"
        around = f"around the groups it costs nothing: {_WINDOW_AS_KEY}"
    else:
        what = "is an aggregate, and groups are made before they are aggregated"
        why = "a group has one such number, which is noisy, so it cannot say which rows are in it"
        around = f"to count units by a number that each has: {_COUNT_AS_KEY}"
    fix = (
        f"GROUP BY {others}; {name or 'it'} is in each row of the answer then" if others else around
    )
    raise sql_error(key, text, what, why=why, fix=fix)


def _is_result(node: exp.Expression) -> bool:
    return any(isinstance(n, exp.Window) or is_aggregate(n) for n in node.find_all(exp.Expression))


_SEVERAL = (exp.Cube, exp.Rollup, exp.GroupingSets)


def grouping_sets(select: exp.Select, text: str) -> list[list[exp.Expression]]:
    """The groupings of ROLLUP, CUBE and GROUPING SETS; none where there is just one."""
    group = select.args.get("group")
    items = [] if group is None else group.expressions
    if not any(isinstance(item, _SEVERAL) for item in items):
        return []
    found: list[list[exp.Expression]] = [[]]
    for item in items:
        found = [[*some, *more] for some in found for more in _groupings(item, text)]
        _refuse_many(len(found), text)
    sets = [list(dict.fromkeys(keys)) for keys in found]
    if len({frozenset(keys) for keys in sets}) < len(sets):
        raise sql_error(
            place_of_word(text, "GROUP BY"),
            text,
            "a grouping is listed twice",
            why="each one is measured, and paid for",
            fix="GROUP BY GROUPING SETS ((a, b), (a), ()), each once",
        )
    return sets


def _groupings(node: exp.Expression, text: str) -> list[list[exp.Expression]]:
    """The alternatives that one item of GROUP BY stands for."""
    if not isinstance(node, _SEVERAL):
        return [_flat(node)]
    if isinstance(node, exp.GroupingSets):
        return [keys for item in node.expressions for keys in _groupings(item, text)]
    parts = [_flat(item) for item in node.expressions]
    sizes = range(len(parts), -1, -1)
    if isinstance(node, exp.Rollup):
        return [[key for part in parts[:size] for key in part] for size in sizes]
    _refuse_many(2 ** len(parts), text)
    kept = (some for size in sizes for some in itertools.combinations(parts, size))
    return [[key for part in some for key in part] for some in kept]


def _refuse_many(number: int, text: str) -> None:
    if number > _MOST_SETS:
        raise sql_error(
            place_of_word(text, "GROUP BY"),
            text,
            f"there are {number} groupings",
            why=f"they share one budget, so a query has {_MOST_SETS} at most",
            fix="list those you need: GROUPING SETS ((a, b), (a), ())",
        )


def _refuse_constants(keys: Sequence[exp.Expression], text: str) -> None:
    for key in keys:
        if _is_constant(key):
            raise sql_error(
                key,
                text,
                "a grouping takes columns, not constants",
                why="a number here would be a constant, and not the number of a column",
                fix="name the column: ROLLUP (ward, sex)",
            )


def _flat(node: exp.Expression) -> list[exp.Expression]:
    """Take apart GROUP BY (a, b), ROLLUP (a, b) and the like, and the parentheses of (a)."""
    if isinstance(node, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
        return [key for item in node.expressions for key in _flat(item)]
    return _flat(node.this) if isinstance(node, exp.Paren) else [node]


def row_count(select: exp.Select, clause: str, text: str) -> int | None:
    """The number of LIMIT, OFFSET or FETCH; None for all rows."""
    node = select.args.get(clause)
    if node is None:
        return None
    given = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
    options = node.args.get("limit_options")
    other = node.args.get("expressions") or (
        options is not None and (options.args.get("percent") or options.args.get("with_ties"))
    )
    if not other:
        if given is None:
            return 1  # FETCH FIRST ROW ONLY
        if isinstance(given, exp.Null) or (isinstance(given, exp.Var) and given.name == "ALL"):
            return None
        if isinstance(given, exp.Literal) and not given.is_string and given.this.isdecimal():
            return min(int(given.this), _MOST_ROWS)
    raise sql_error(
        node,
        text,
        f"{clause.upper()} takes a whole number",
        why="it keeps a number of rows of the noisy table",
        fix=f"{clause.upper()} 10",
    )


def refuse_qualify(select: exp.Select, text: str) -> None:
    """Refuse QUALIFY over rows that are not released."""
    if select.args.get("qualify"):
        raise sql_error(
            place_of_word(text, "QUALIFY") or select.args["qualify"],
            text,
            "QUALIFY is not answered over private rows",
            why="which rows are kept would depend on the rows of other units",
            fix="keep groups: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
            " QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 3",
        )
