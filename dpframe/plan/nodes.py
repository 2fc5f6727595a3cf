"""Relational nodes. Below an `Aggregate` rows are private; above it they are a noisy table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpframe.plan.exprs import AggregateCall, Column, Expr

HIDDEN = "__dpframe_sort"
"""Columns whose names begin so exist only to sort by, and are dropped at the end."""

GROUPING = "__dpframe_grouping_"
"""Columns whose names begin so say of a key whether a row is *not* grouped by it: 0 or 1."""


@dataclass(frozen=True, slots=True)
class Node:
    """A table."""


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """The rows of a registered table, each column read through its declared domain.

    Stability: each row belongs to the unit that the table's declaration names.
    """

    table: str


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Keep the rows where `predicate` holds.

    Stability: each output row belongs to the unit of the input row it is.
    """

    parent: Node
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """One row per group of `keys`, one column per key and per aggregate.

    This is where privacy is paid for: what comes out is measured with noise.
    """

    parent: Node
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    sets: tuple[tuple[str, ...], ...] = ()
    """Several groupings, each by some of the keys (ROLLUP and the like); none for one by all."""


@dataclass(frozen=True, slots=True)
class Project(Node):
    """Compute named columns from those of the parent."""

    parent: Node
    columns: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column to sort by."""

    column: Column
    descending: bool = False
    nulls_last: bool = True


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """Order the rows of a noisy table. Over private rows it means nothing."""

    parent: Node
    by: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """Keep some rows of a noisy table. Over private rows it would couple units."""

    parent: Node
    rows: int | None
    offset: int = 0


def chain(node: Node) -> Iterator[Node]:
    """The node and those below it, topmost first; every node here has one parent at most."""
    while True:
        yield node
        parent = getattr(node, "parent", None)
        if parent is None:
            return
        node = parent


def aggregate_of(node: Node) -> Aggregate:
    """The aggregate that a query is built on; there is exactly one."""
    return next(n for n in chain(node) if isinstance(n, Aggregate))
