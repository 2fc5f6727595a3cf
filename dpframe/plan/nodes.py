"""Relational nodes. Below an `Aggregate` rows are private; above it they are a noisy table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dpframe.plan.exprs import AggregateCall, Column, Expr, Origin, WindowCall

RESERVED = "__dpframe"
"""Names that begin so are the library's own."""

HIDDEN = f"{RESERVED}_sort"
"""Columns whose names begin so exist only to sort by, and are dropped at the end."""

_LISTED = f"{RESERVED}_list"
"""Columns whose names begin so are the places of a list, which the release puts together."""

GROUPING = "__dpframe_grouping_"
"""Columns whose names begin so say of a key whether a row is *not* grouped by it: 0 or 1."""


def place_in_list(name: str, index: int) -> str:
    """What the column is called that is a place of the list of this name.

    >>> listed(place_in_list("q", 2)), listed("q")
    (('q', 2), None)
    """
    return f"{_LISTED}{index}_{name}"


def listed(column: str) -> tuple[str, int] | None:
    """The list that a column is a place of, and which one."""
    if not column.startswith(_LISTED):
        return None
    index, _, name = column.removeprefix(_LISTED).partition("_")
    return name, int(index)


def shown_name(column: str) -> str:
    """What a place of a list is called beside the others: q[1], as in SQL."""
    place = listed(column)
    return column if place is None else f"{place[0]}[{place[1] + 1}]"


def list_name(column: str) -> str:
    """What a column is called in an answer, where the places of a list are one column."""
    place = listed(column)
    return column if place is None else place[0]


@dataclass(frozen=True, slots=True)
class Node:
    """A table."""

    @property
    def parents(self) -> tuple[Node, ...]:
        """The tables it is made from."""
        parent = getattr(self, "parent", None)
        return () if parent is None else (parent,)


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
class Join(Node):
    """Rows of both sides whose `on` expressions are equal, pair by pair; NULL equals nothing.

    The columns of the two sides have different names. A semi-join keeps the rows on the left that
    have a match, an anti-join those that have none.

    Stability: each output row belongs to the unit of the row on the left. That holds if the right
    side is public, or if the units of both sides are equated.
    """

    left: Node
    right: Node
    how: Literal["inner", "left", "semi", "anti"]
    on: tuple[tuple[Expr, Expr], ...]
    not_in: bool = False
    """Whether an anti-join stands for NOT IN, which means something else where there are NULLs."""
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Union(Node):
    """The rows of several tables with the same column names, one after another (UNION ALL).

    Stability: each output row belongs to the unit of the input row it is.
    """

    inputs: tuple[Node, ...]
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.inputs


@dataclass(frozen=True, slots=True)
class GroupRows(Node):
    """One row per group of `keys` inside each unit: GROUP BY in a subquery.

    Stability: the unit is one of the keys, so a group's rows, and its one output row, belong to it.
    """

    parent: Node
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    place: Origin | None = field(default=None, compare=False, repr=False)


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


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Add columns to a noisy table that are computed from many of its rows.

    Guarantee: it reads released numbers alone, so it costs nothing. Over private rows it would let
    one unit change the values of all others; there is no such node below an aggregate.
    """

    parent: Node
    columns: tuple[tuple[str, WindowCall], ...]


@dataclass(frozen=True, slots=True)
class Regroup(Node):
    """Aggregate a noisy table: one row per group of `keys`, which are computed from its own keys.

    Guarantee: it reads released numbers alone, so it costs nothing.
    """

    parent: Node
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]


def chain(node: Node) -> Iterator[Node]:
    """The node and all below it, topmost first."""
    yield node
    for parent in node.parents:
        yield from chain(parent)


def aggregate_of(node: Node) -> Aggregate:
    """The aggregate that a query is built on; there is exactly one."""
    return next(n for n in chain(node) if isinstance(n, Aggregate))
