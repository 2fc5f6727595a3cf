"""Which unit owns each row. An operation whose rows belong to no single unit is refused."""

from __future__ import annotations

from functools import singledispatch

from dpframe.declare import Table
from dpframe.errors import QueryError
from dpframe.plan.nodes import Filter, Node, Scan


@singledispatch
def unit_of(node: Node, table: Table) -> str | None:
    """The column that names the owner of each row; None where each row is its own unit."""
    raise QueryError(
        f"rows of {type(node).__name__} belong to no single unit",
        why="one unit could decide which rows of others are kept, so noise would not cover it",
        fix="aggregate first; ORDER BY and LIMIT go after the aggregate",
    )


@unit_of.register
def _(node: Scan, table: Table) -> str | None:
    return table.unit_column


@unit_of.register
def _(node: Filter, table: Table) -> str | None:
    return unit_of(node.parent, table)  # dropping rows gives no row another owner
