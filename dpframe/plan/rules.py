"""Plans rewritten into others that mean the same."""

from __future__ import annotations

from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, transform
from dpframe.plan.nodes import (
    HIDDEN,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Sort,
    SortKey,
)


def mode_as_winner(plan: Node) -> Node:
    """`SELECT MODE(x)` alone is `SELECT x ... GROUP BY x ORDER BY COUNT(*) DESC LIMIT 1`.

    NULL is no value, so rows without one are left out. Several aggregates, groups, or a condition
    on the mode are no such plan, and stay as they are.
    """
    match plan:
        case Project(
            Aggregate(parent, (), ((name, AggregateCall("MODE", (value,), False) as call),)),
            columns,
        ):
            pass
        case _:
            return plan
    if call.where is not None:
        parent = Filter(parent, call.where)
    present = Call("not", (Call("is_null", (value,), place=call.place),), place=call.place)
    counted = Aggregate(
        Filter(parent, present),
        (("k0", value),),
        (("a0", AggregateCall("COUNT", (), place=call.place)),),
    )
    score = f"{HIDDEN}0"
    scored = Project(counted, (("k0", Column("k0", call.place)), (score, Column("a0"))))
    best = Limit(Sort(scored, (SortKey(Column(score), descending=True),)), 1)

    def change(expr: Expr) -> Expr | None:
        mode = isinstance(expr, Column) and expr.name == name
        return Column("k0", expr.origin) if mode else None

    return Project(best, tuple((shown, transform(expr, change)) for shown, expr in columns))
