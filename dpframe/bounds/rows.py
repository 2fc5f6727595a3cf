"""What an engine is asked for below an aggregate: stored rows, joined, stacked and grouped.

A plan's rows come down to one source, a condition, and expressions over the source's columns:
filters and projections are folded into these, however deep they were nested. A source that is not
a registered table has a `Table` of its own, whose domains were derived, and whose unit is the
column `UNIT`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dpframe.declare import Table
from dpframe.errors import QueryError
from dpframe.plan.coding import Coding
from dpframe.plan.exprs import (
    MOST_TERMS,
    Column,
    Expr,
    columns_of,
    conjunction,
    number_of_terms,
    transform,
)
from dpframe.plan.fingerprint import canonical, canonical_where

UNIT = "__dpframe_unit"
"""What derived rows call the column that names their unit."""

ON = "__dpframe_on"
"""Columns whose names begin so are what a join compares."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The rows of a registered table, as they are stored."""

    table: Table


@dataclass(frozen=True, slots=True)
class Selected:
    """Columns computed from the rows of a source that pass a condition, all analysed.

    Where the rows have a unit column, it comes along under the name `UNIT`, as it is stored: read
    through a declared domain, two units might become one.
    """

    source: Source
    table: Table
    where: Expr | None
    columns: tuple[tuple[str, Expr], ...]
    result: Table
    """What is known of the columns that come out."""

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """All that is computed of each row."""
        computed = tuple(expr for _, expr in self.columns)
        return computed if self.where is None else (*computed, self.where)


@dataclass(frozen=True, slots=True)
class Joined:
    """The rows of `left`, each beside the rows of `right` whose columns `on` are the same."""

    left: Selected
    right: Selected
    how: Literal["inner", "left", "semi", "anti"]
    on: tuple[str, ...]
    one_match: bool
    """Whether to drop all but one of the rows on the right that agree on `on`.

    Where rows are units, a row that matched twice would count twice. The public side was seen to
    have one row for each; should it have changed since, the bound still holds.
    """


@dataclass(frozen=True, slots=True)
class Stacked:
    """The rows of several selections with the same columns."""

    inputs: tuple[Selected, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """One value per group of rows, exact, and the same in whatever order the rows come."""

    kind: Literal["rows", "values", "distinct", "total", "least", "most"]
    column: str | None = None
    coding: Coding | None = None
    """For a total: how values become integers. The total stays an integer, clamped to 64 bits."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """One row per group of a selection."""

    input: Selected
    keys: tuple[str, ...]
    measures: tuple[tuple[str, Measure], ...]


Source = Stored | Joined | Stacked | Grouped


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a source: which are kept, and what its columns are called above."""

    table: Table
    """The source's columns, their domains, and its unit."""
    source: Source
    predicates: tuple[Expr, ...]
    columns: dict[str, Expr]

    @property
    def where(self) -> Expr | None:
        """The condition that every row meets."""
        return conjunction(self.predicates)

    @property
    def unit(self) -> Expr | None:
        """The column that names the unit; None where each row is its own."""
        column = self.table.unit_column
        return None if column is None else Column(column)

    def over_source(self, expr: Expr) -> Expr:
        """An expression over the names above, as one over the source's columns."""

        def change(inner: Expr) -> Expr | None:
            if not isinstance(inner, Column):
                return None
            found = self.columns[inner.name]
            # A plain column is shown where it was written last.
            return replace(found, place=inner.place) if isinstance(found, Column) else found

        found = transform(expr, change)
        if number_of_terms(found) > MOST_TERMS:
            raise QueryError(
                "an expression is too large once subqueries are written out",
                why=f"it has {MOST_TERMS:,} terms at most, and columns of columns grow fast",
                fix="use each column of a subquery fewer times, or ask several queries",
            )
        return found


def stored_tables(source: Source) -> tuple[Table, ...]:
    """The registered tables that a source reads, once each."""
    sources = [source, *(each.source for each in selections(source))]
    return tuple({s.table.name: s.table for s in sources if isinstance(s, Stored)}.values())


def joined_columns(source: Source) -> dict[str, tuple[str, ...]]:
    """The columns that a source with a join in it reads of each registered table; none without."""
    below = tuple(selections(source))
    if not any(isinstance(s, Joined) for s in (source, *(each.source for each in below))):
        return {}
    found: dict[str, dict[str, None]] = {}
    for each in below:
        if isinstance(each.source, Stored):
            names = [name for expr in each.exprs for name in columns_of(expr)]
            unit = each.table.unit_column
            known = found.setdefault(each.source.table.name, {})
            known.update(dict.fromkeys(names if unit is None else [*names, unit]))
    return {table: tuple(names) for table, names in found.items()}


def selections(source: Source) -> Iterator[Selected]:
    """All selections below a source."""
    match source:
        case Stored():
            inputs: tuple[Selected, ...] = ()
        case Joined():
            inputs = (source.left, source.right)
        case Stacked():
            inputs = source.inputs
        case Grouped():
            inputs = (source.input,)
    for each in inputs:
        yield each
        yield from selections(each.source)


def canonical_source(source: Source) -> str:
    """A source as text, with everything that its rows depend on besides the data."""
    match source:
        case Stored():
            known = sorted(source.table.domains.items())
            return f"{source.table.name}({','.join(f'{n!r}={domain!r}' for n, domain in known)})"
        case Joined():
            sides = f"{canonical_selected(source.left)},{canonical_selected(source.right)}"
            return f"join({source.how},{source.on},{source.one_match},{sides})"
        case Stacked():
            return f"stack({','.join(map(canonical_selected, source.inputs))})"
        case Grouped():
            measures = [f"{name!r}={measure!r}" for name, measure in source.measures]
            return f"group({source.keys!r},{measures!r},{canonical_selected(source.input)})"


def canonical_selected(selected: Selected) -> str:
    """A selection as text, with everything that its rows depend on besides the data."""
    columns = [
        f"{name!r}={canonical(expr)}" for name, expr in sorted(selected.columns, key=lambda c: c[0])
    ]
    where, unit = canonical_where(selected.where), selected.table.unit_column
    return f"select({','.join(columns)};{where};{unit!r};{canonical_source(selected.source)})"
