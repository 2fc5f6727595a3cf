"""Which SELECTs measure, which compute on what an inner one released, and which look at rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpframe.declare import Table
from dpframe.frontends.sql_known import is_aggregate
from dpframe.frontends.sql_names import ctes_around
from dpframe.frontends.sql_rows import unwrapped
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.nodes import Filter, GroupRows, Join, Node, Project, Scan, Union


def aggregates(select: exp.Expression) -> bool:
    """Whether a SELECT aggregates by itself, whatever its subqueries and windows do."""
    return bool(select.args.get("group")) or measures(select)


def measures(select: exp.Expression) -> bool:
    """Whether there is an aggregate in a SELECT of its own, and not keys alone."""
    clauses = [select.args.get(k) for k in ("having", "qualify", "order")]
    own = [*select.expressions, *(c for c in clauses if c is not None)]
    return any(is_aggregate(n) for e in own for n in _own(e))


def asks_of_groups(select: exp.Expression) -> bool:
    """Whether a SELECT aggregates columns as they are, and does more than count.

    Counts and sums of groups have no bounds as rows, so nothing else could answer it.
    """
    found = [n for e in select.expressions for n in _own(e) if isinstance(n, exp.AggFunc)]
    plain = all(isinstance(n, _AGAIN) and _of_a_column(n) for n in found)
    return plain and not all(isinstance(n, exp.Count) for n in found)


_PLACES = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile)
_SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
_AGAIN = (exp.Avg, exp.Count, exp.Max, exp.Min, exp.Sum, *_PLACES, *_SPREADS)


def _of_a_column(node: exp.Expression) -> bool:
    """Whether an aggregate looks at a column, or counts rows."""
    within = node.parent
    if isinstance(within, exp.WithinGroup):
        return all(isinstance(by.this, exp.Column) for by in within.expression.expressions)
    return isinstance(node.this, exp.Column | exp.Star)


def _own(node: exp.Expression) -> Iterator[exp.Expression]:
    """What is in an expression, but for functions over windows and for subqueries.

    `SUM(COUNT(*)) OVER ()` has one aggregate, which is COUNT(*).
    """
    if isinstance(node, exp.Subquery | exp.Select):
        return
    inner: list[exp.Expression] = list(node.iter_expressions())
    if isinstance(node, exp.Window):
        called = node.this
        while isinstance(called, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            called = called.this
        inner = [n for n in inner if n is not node.this] + list(called.iter_expressions())
    else:
        yield node
    for each in inner:
        yield from _own(each)


def only_source(select: exp.Expression) -> exp.Expression | None:
    """The subquery or common table expression that a SELECT reads, if it reads nothing else."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return None
    node = source.this
    if isinstance(node, exp.Subquery):
        return unwrapped(node)
    for cte in ctes_around(select):
        if isinstance(node, exp.Table) and cte.alias.lower() == node.name.lower():
            inner: exp.Expression = cte.this
            return inner
    return None


def reads_noisy(select: exp.Expression) -> bool:
    """Whether a SELECT only computes on what an inner one released: that is post-processing."""
    if not isinstance(select, exp.Select) or aggregates(select) or select.args.get("distinct"):
        return False
    return has_noisy_source(select)


def has_noisy_source(select: exp.Expression) -> bool:
    """Whether a SELECT reads one that aggregates; of units, or of all rows."""
    inner = only_source(select)
    return isinstance(inner, exp.Select) and (aggregates(inner) or reads_noisy(inner))


def around_groups(select: exp.Expression) -> list[exp.Expression]:
    """A SELECT, the one that it reads if that aggregates or reads one that does, and so on."""
    found = [select]
    while has_noisy_source(found[-1]):
        inner = only_source(found[-1])
        assert inner is not None
        found.append(inner)
    return found


def units_in(node: Node, tables: Mapping[str, Table]) -> set[str]:
    """The columns of private rows that name their unit.

    A subquery that groups by one of them has rows that belong to units; one that does not, has
    groups across units, which can only be released.
    """
    match node:
        case Scan():
            table = tables[node.table.lower()]
            return set() if table.unit_column is None else {table.unit_column}
        case Filter():
            return units_in(node.parent, tables)
        case Project():
            return _named(node.columns, units_in(node.parent, tables))
        case GroupRows():
            return _named(node.keys, units_in(node.parent, tables))
        case Join():
            right = units_in(node.right, tables) if node.how == "inner" else set()
            return units_in(node.left, tables) | right
        case Union():
            return set.intersection(*(units_in(each, tables) for each in node.inputs))
    return set()


def _named(columns: tuple[tuple[str, Expr], ...], units: set[str]) -> set[str]:
    return {name for name, e in columns if isinstance(e, Column) and e.name in units}
