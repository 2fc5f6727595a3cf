"""Which numbers are bent functions of noisy ones, so that redraws lie on one side of them.

`CASE WHEN n > 40 THEN 1 ELSE 0 END` is a step. If all groups lie just above it, half of the noisy
ones lie below, and so does half of each redraw: adding up redraws would never come near the truth.
So where such numbers are added up, each row takes the least and the largest that it is in any
redraw: groups that may be on either side make the error bar.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dpframe.engines import windows as engine
from dpframe.plan.exprs import Call, Column, Expr
from dpframe.plan.nodes import Node, Project, Regroup, Window
from dpframe.release.above import noisy_below, reads

ADDED = ("SUM", "AVG", "COUNT", "COUNT_IF")
"""Functions of many rows that add up what is in each."""

_STRAIGHT = ("add", "subtract", "negate", "plus", "divide", "cast", "convert", "coalesce")
"""Functions that are linear in each argument, or nearly so; a share is one."""


def bent_below(plan: Node, aggregates: set[str]) -> Iterator[tuple[Node, set[str]]]:
    """Each node from below, and the columns of its parent that are bent functions of noise."""
    names: set[str] = set()
    for node, noisy, _ in noisy_below(plan, aggregates):
        yield node, names
        match node:
            case Project():
                names = {name for name, e in node.columns if is_bent(e, noisy, names)}
            case Window():
                names = names - {name for name, _ in node.columns}
            case Regroup():
                names = set()


def is_bent(expr: Expr, noisy: set[str], bent: set[str]) -> bool:
    """Whether an expression is a bent function of noisy columns.

    >>> from dpframe.plan.exprs import literal
    >>> large = Call("greater", (Column("n"), literal(40)))
    >>> is_bent(large, {"n"}, set()), is_bent(Column("n"), {"n"}, set())
    (True, False)
    """
    if isinstance(expr, Column):
        return expr.name in bent
    if not isinstance(expr, Call) or not reads(expr, noisy):
        return False
    straight = expr.function in _STRAIGHT
    if expr.function == "multiply":
        straight = sum(reads(arg, noisy) for arg in expr.args) == 1
    if expr.function == "case":
        straight = not any(reads(condition, noisy) for condition in expr.args[:-1:2])
    return not straight or any(is_bent(arg, noisy, bent) for arg in expr.args)


def farthest_values(
    inputs: pl.DataFrame, number: int, name: str, by: list[str], *, largest: bool
) -> pl.DataFrame:
    """The argument of a function in every row as the largest, or the least, of all its redraws.

    A sum takes NULL for 0. COUNT counts a row if it has a value in some redraw, or in all of them.
    An average of some rows lies between the least and the largest of all of them.
    """
    column = engine.argument(number, 0)
    if column not in inputs.columns:
        return inputs
    value = pl.col(column)
    if name == "COUNT":
        kept = value.is_not_null().any() if largest else value.is_not_null().all()
        chosen = pl.when(kept.over(by) if by else kept).then(pl.lit(1))
        return inputs.with_columns(chosen.alias(column))
    if name == "COUNT_IF":
        value = value.fill_null(False)
        found = value.any() if largest else value.all()
    else:
        value = value.fill_null(0) if name == "SUM" else value
        found = value.max() if largest else value.min()
    far = inputs.with_columns((found.over(by) if by else found).alias(column))
    if name != "AVG" or not inputs[column].null_count():
        return far
    return far.with_columns(pl.col(column).max() if largest else pl.col(column).min())
