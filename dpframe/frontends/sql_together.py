"""Joins of subqueries that have groups across units: refused, with the one query that asks the same.

What such groups have is released with noise, and a join looks at rows. Aggregates of the same
groups stand in one SELECT, each with its own rows by FILTER.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpframe.declare import Table
from dpframe.frontends.sql_known import is_aggregate
from dpframe.frontends.sql_origin import sql_error
from dpframe.frontends.sql_released import units_in
from dpframe.frontends.sql_rows import Known, unwrapped
from dpframe.frontends.sql_scope import Scope
from dpframe.plan.nodes import Filter, GroupRows, Node, Project

_EXAMPLE = (
    "SELECT ward, COUNT(*) AS n, AVG(age) FILTER (WHERE active) AS m FROM visits GROUP BY ward"
)


def refuse_joined_groups(
    select: exp.Select, scope: Scope, known: Known, tables: Mapping[str, Table], text: str
) -> None:
    """Refuse a SELECT that shows joined rows, where some of them are groups across units."""
    joined = [join.this for join in select.args.get("joins") or []]
    nodes = {n.alias_or_name.lower(): n for n in (select.args["from_"].this, *joined)}
    released = [
        alias
        for alias, relation in scope.relations.items()
        if relation.is_private and _is_of_groups(relation.node, tables)
    ]
    others = [relation for alias, relation in scope.relations.items() if alias not in released]
    if not joined or not released or any(relation.is_private for relation in others):
        return
    place = nodes[released[-1]] if nodes[released[-1]] in joined else joined[0]
    if others:
        raise sql_error(
            place,
            text,
            "a released table is not joined",
            why="its groups are of many units; a public table is joined to rows, before they are"
            " grouped",
            fix="SELECT region, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward"
            " GROUP BY region",
        )
    queries = [_query(nodes[alias], known) for alias in released]
    raise sql_error(
        place,
        text,
        "two released tables are not joined",
        why="a query releases one table; aggregates of the same groups share it, and its cost",
        fix=_together(queries) or _EXAMPLE,
    )


def _is_of_groups(node: Node, tables: Mapping[str, Table]) -> bool:
    """Whether rows are aggregates of groups that belong to no unit."""
    while isinstance(node, Project | Filter):
        node = node.parent
    return isinstance(node, GroupRows) and bool(node.aggregates) and not units_in(node, tables)


def _query(node: exp.Expression, known: Known) -> exp.Expression:
    if isinstance(node, exp.Subquery):
        return unwrapped(node)
    return unwrapped(known[node.name.lower()].query)


def _together(queries: Sequence[exp.Expression]) -> str | None:
    """One SELECT with the aggregates of several, where they have the same plain keys and table."""
    tables, keys, conditions = set(), set(), []
    for query in queries:
        clauses = {name for name, value in query.args.items() if value}
        if not clauses <= {"kind", "expressions", "from_", "where", "group"}:
            return None
        source, group = query.args["from_"].this, query.args.get("group")
        grouped = [] if group is None else group.expressions
        plain = isinstance(source, exp.Table) and all(isinstance(k, exp.Column) for k in grouped)
        if not plain or (group is not None and not grouped):
            return None
        tables.add(source.name.lower())
        keys.add(tuple(sorted(key.name.lower() for key in grouped)))
        conditions.append(query.args.get("where"))
    if len(tables) > 1 or len(keys) > 1:
        return None
    shared = conditions[0] if len(set(conditions)) == 1 else None
    items: dict[str, str] = {}
    for query, where in zip(queries, conditions, strict=True):
        for item in query.expressions:
            named = isinstance(item.unalias(), exp.Column)
            own = _of_rows(item, None if shared is not None else where)
            if own is None or (not named and item.alias_or_name.lower() in items):
                return None
            items[item.alias_or_name.lower()] = own
    written = f"SELECT {', '.join(items.values())} FROM {tables.pop()}"
    written += "" if shared is None else f" WHERE {_sql(shared.this)}"
    found = ", ".join(keys.pop())
    return f"{written} GROUP BY {found}" if found else written


def _of_rows(item: exp.Expression, where: exp.Expression | None) -> str | None:
    """An item of SELECT whose aggregates look at some of the rows; None where it is not plain."""
    item = item.copy()
    aggregates = [node for node in item.find_all(exp.Expression) if is_aggregate(node)]
    if not all(isinstance(node, exp.AggFunc) for node in aggregates) or item.find(exp.Window):
        return None
    if where is not None:
        for node in aggregates:  # each has a name around it
            node.replace(exp.Filter(this=node.copy(), expression=where.copy()))
    return _sql(item)


def _sql(node: exp.Expression) -> str:
    node = node.copy()
    for column in node.find_all(exp.Column):
        column.set("table", None)
    if isinstance(node, exp.Alias) and node.this.name == node.alias:
        node = node.this
    return node.sql("duckdb").replace("FILTER(", "FILTER (")
