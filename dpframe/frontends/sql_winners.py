"""ARG_MAX over groups: the key of the group with the best score, read as ORDER BY and LIMIT 1."""

from __future__ import annotations

from sqlglot import exp

from dpframe.errors import SQLError
from dpframe.frontends.sql_origin import sql_error

_CLAUSES = ("group", "having", "order", "limit", "offset", "distinct", "joins", "qualify")
"""What a SELECT of the best group has none of."""


def best_row(select: exp.Select, text: str) -> exp.Select | None:
    """A SELECT of ARG_MAX(key, score) as that of the first row by the score; None if it is none.

    `SELECT ARG_MAX(ward, n) FROM t` is `SELECT ward FROM t WHERE ward IS NOT NULL ORDER BY n DESC
    LIMIT 1`: a NULL key is passed over. That is so if nothing else is asked of the rows of `t`,
    which have to be groups: of private rows nobody may ask for the first one.

    >>> from sqlglot import parse_one
    >>> found = best_row(parse_one("SELECT MIN_BY(ward, n) AS w FROM t WHERE n > 3"), "")
    >>> print(found.sql())
    SELECT ward AS w FROM t WHERE n > 3 AND NOT ward IS NULL ORDER BY (n) ASC NULLS LAST LIMIT 1
    """
    found = [n for item in select.expressions for n in item.find_all(exp.ArgMax, exp.ArgMin)]
    if not found:
        return None
    first = found[0]
    if (
        any(node != first for node in found)
        or first.expression is None
        or first.find(exp.Distinct)
        or first.args.get("count")
        or any(select.args.get(clause) for clause in _CLAUSES)
        or any(_asks_more(item) for item in select.expressions)
    ):
        raise _not_alone(first, text)

    def change(node: exp.Expression) -> exp.Expression:
        shown: exp.Expression = node.this.copy() if node == first else node
        return shown

    best = select.copy()
    best.set("expressions", [item.transform(change) for item in select.expressions])
    present = exp.Not(this=exp.Is(this=first.this.copy(), expression=exp.Null()))
    best = best.where(present, copy=False)
    # In parentheses it is an expression, and not the name of a column that is shown.
    score, largest = exp.Paren(this=first.expression.copy()), isinstance(first, exp.ArgMax)
    by = exp.Ordered(this=score, desc=largest, nulls_first=False)
    best.set("order", exp.Order(expressions=[by]))
    return best.limit(1, copy=False)


def _asks_more(item: exp.Expression) -> bool:
    """Whether there is more in a column than ARG_MAX, and what is computed from it."""

    def change(node: exp.Expression) -> exp.Expression:
        return exp.Null() if isinstance(node, exp.ArgMax | exp.ArgMin) else node

    return item.transform(change).find(exp.Column, exp.AggFunc, exp.Filter) is not None


def _not_alone(node: exp.Expression, text: str) -> SQLError:
    return sql_error(
        node,
        text,
        "the best group is chosen in a query of its own",
        why="only then is it chosen without releasing the scores",
        fix="SELECT ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward);"
        " or SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3",
    )
