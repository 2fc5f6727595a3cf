"""Chains of Polars methods, built into the plan that the same question in SQL has.

Below the aggregate, columns that are computed from others are written out in full wherever they
are used: what is left is filters over a scan, and one aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from dpframe.declare import Table, readable
from dpframe.errors import QueryError
from dpframe.frontends.polars_aggregates import group_leaf, is_aggregate, released_call, with_places
from dpframe.frontends.polars_arguments import Named, no_such_column, released, unique
from dpframe.frontends.polars_exprs import TermReader
from dpframe.frontends.polars_histograms import is_hist, read_hist
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import PolarsOrigin, polars_error
from dpframe.frontends.polars_unknown import UNMEASURED
from dpframe.frontends.polars_windows import Windows, is_one_value
from dpframe.plan.exprs import (
    MOST_TERMS,
    AggregateCall,
    Call,
    Column,
    Expr,
    WindowOrder,
    columns_of,
    literal,
    number_of_terms,
)
from dpframe.plan.nodes import (
    HIDDEN,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Regroup,
    Sort,
    SortKey,
    Window,
    chain,
    list_name,
    place_in_list,
)


def _checked(expr: Expr, term: Term) -> Expr:
    """Refuse what later steps could not walk."""
    if number_of_terms(expr) > MOST_TERMS:
        raise polars_error(
            term,
            "it is too large once computed columns are written out",
            why=f"an expression has {MOST_TERMS:,} terms at most",
            fix="use is_in([...]) for a long list, or ask several queries",
        )
    return expr


# --- private rows --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrivateRows:
    """Rows of a table: some of them, with columns that are computed row by row.

    Stability: each row belongs to the unit of the row of the table that it is.
    """

    table: Table
    """What is known of the columns of `base`."""
    base: Node
    columns: Mapping[str, Expr]
    """What each column is, over those of the base."""
    schema_of: Callable[[Mapping[str, Expr]], Mapping[str, pl.DataType]] = field(compare=False)
    predicates: tuple[Expr, ...] = ()

    def schema(self) -> Mapping[str, pl.DataType]:
        """The types by which selectors choose."""
        return self.schema_of(self.columns)

    def node(self) -> Node:
        """The rows that are kept, with the columns of the base."""
        node = self.base
        for predicate in self.predicates:
            node = Filter(node, predicate)
        return node

    def is_usable(self, expr: Expr) -> bool:
        """Whether a column is not one of a type that cannot be read."""
        return not isinstance(expr, Column) or expr.name in self.table.domains

    def filter(self, conditions: Named) -> PrivateRows:
        """Keep the rows where all conditions hold."""
        reader = self.reader()
        kept = tuple(_checked(reader.read(term), term) for _, term in conditions)
        return replace(self, predicates=(*self.predicates, *kept))

    def with_columns(self, given: Named) -> PrivateRows:
        """Add columns, or replace them."""
        return replace(self, columns={**self.columns, **self._read(given)})

    def select(self, given: Named) -> PrivateRows:
        """Have these columns, and no others."""
        return replace(self, columns=self._read(given))

    def _read(self, given: Named) -> dict[str, Expr]:
        reader = self.reader()
        found: dict[str, Expr] = {}
        for name, term in unique(given):
            # A column that cannot be used may be carried along.
            kept = self.columns.get(term.options["name"]) if term.name == "col" else None
            found[name] = _checked(reader.read(term), term) if kept is None else kept
        return found

    def aggregated(self, keys: Named, given: Named) -> NoisyTable:
        """One row per group, one column per key and per aggregate."""
        rows = self.reader()
        released([*keys, *given])
        by = []
        for name, term in keys:
            key = _checked(rows.read(term), term)
            if not columns_of(key):
                raise polars_error(
                    term,
                    "is a constant, which makes no groups",
                    why="a key is computed from a column",
                    fix="leave it out",
                )
            by.append((name, key))
        found: dict[AggregateCall, str] = {}
        names = {key: f"k{i}" for i, key in enumerate(dict.fromkeys(key for _, key in by))}
        if any(is_hist(term) for _, term in given):
            bins, count, outputs = read_hist(
                given, rows, f"k{len(names)}", "a0", {name for name, _ in by}
            )
            names[bins], found[count] = f"k{len(names)}", "a0"
        else:
            groups = TermReader(group_leaf(rows, found))
            outputs = {name: _checked(groups.read(term), term) for name, term in with_places(given)}
        if not found:
            raise QueryError(
                "there is no aggregate",
                why="rows are private; only aggregates of them can be released",
                fix='.agg(pl.len()), or .agg(pl.col("x").mean())',
            )
        node = self.node()
        node = Aggregate(
            node,
            tuple((name, key) for key, name in names.items()),
            tuple((name, call) for call, name in found.items()),
        )
        shown = {name: self._shown(names[key], key) for name, key in by}
        return NoisyTable(node, {**shown, **outputs})

    def _shown(self, name: str, key: Expr) -> Expr:
        """A key as it is released. In Polars, truncated dates are dates."""
        column = Column(name, key.origin)
        if isinstance(key, Call) and key.function == "date_trunc":
            (kind,) = self.schema_of({"": key.args[0]}).values()
            if kind == pl.Date:
                return Call("cast", (column,), ("DATE",), key.origin)
        return column

    def reader(self) -> TermReader:
        """Reads expressions of single rows."""

        def leaf(term: Term) -> Expr | None:
            if term.name == "col":
                return self._column(term)
            if is_aggregate(term):
                raise polars_error(
                    term,
                    "an aggregate cannot stand here",
                    why="each row is computed from that row alone; one row would change all others",
                    fix="aggregate in .group_by(...).agg(...), or in .select(...) alone",
                )
            return None

        return TermReader(leaf)

    def _column(self, term: Term) -> Expr:
        name = term.options["name"]
        if name not in self.columns:
            raise no_such_column(term, name, self.columns)
        found = self.columns[name]
        if not isinstance(found, Column):
            return found
        if found.name not in self.table.domains:
            stored = self.table.storage[found.name]
            why, fix = readable(stored)
            raise polars_error(
                term, f"a column of type {stored.name} cannot be used", why=why, fix=fix
            )
        return Column(found.name, PolarsOrigin(term))


# --- a noisy table -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """What comes out of the aggregate. All that is done to it is post-processing."""

    node: Node
    columns: Mapping[str, Expr]
    """What each column is, over those of the node."""

    def plan(self) -> Node:
        """The whole plan."""
        kinds = Project | Aggregate | Window | Regroup
        top = next((n for n in chain(self.node) if isinstance(n, kinds)), None)
        names = [name for name, _ in top.columns] if isinstance(top, Project) else []
        unchanged = all(expr == Column(name) for name, expr in self.columns.items())
        if names == list(self.columns) and unchanged:
            return self.node
        return Project(self.node, tuple(self.columns.items()))

    def filter(self, conditions: Named) -> NoisyTable:
        """Keep the rows whose noisy values meet all conditions."""
        windows = Windows(self.node)
        kept = [_checked(self.reader(windows).read(term), term) for _, term in conditions]
        node = windows.node()
        for predicate in kept:
            node = Filter(node, predicate)
        return replace(self, node=node)

    def with_columns(self, given: Named) -> NoisyTable:
        """Add columns, or replace them."""
        windows = Windows(self.node)
        columns = {**self.columns, **self._read(given, windows)}
        return NoisyTable(windows.node(), columns)

    def select(self, given: Named) -> NoisyTable:
        """Have these columns, and no others; aggregates alone make one row."""
        if all(is_one_value(term) for _, term in given):
            return self.aggregated([], given)
        windows = Windows(self.node)
        columns = self._read(given, windows)
        return NoisyTable(windows.node(), columns)

    def aggregated(self, keys: Named, given: Named) -> NoisyTable:
        """Group again: one row per group, one column per key and per aggregate."""
        released([*keys, *given])
        rows = TermReader(self._leaf)
        by = [(name, f"k{i}", rows.read(term)) for i, (name, term) in enumerate(keys)]
        found: dict[AggregateCall, str] = {}
        groups = TermReader(group_leaf(rows, found, released_call))
        outputs = {name: _checked(groups.read(term), term) for name, term in given}
        if not found and not by:
            raise polars_error(
                given[0][1],
                "is a constant, which is no answer",
                why="an answer is computed from what was measured",
                fix='.select(pl.col("len").sum())',
            )
        calls = tuple((name, call) for call, name in found.items())
        node = Regroup(self.node, tuple((own, key) for _, own, key in by), calls)
        shown: dict[str, Expr] = {name: Column(own) for name, own, _ in by}
        return NoisyTable(node, {**shown, **outputs})

    def _read(self, given: Named, windows: Windows) -> dict[str, Expr]:
        reader = self.reader(windows)
        found: dict[str, Expr] = {}
        for name, term in released(given):
            places = self._places(term)
            found |= {place_in_list(name, i): self.columns[c] for i, c in enumerate(places)}
            if not places:
                found[name] = _checked(reader.read(term), term)
        return found

    def _places(self, term: Term) -> list[str]:
        """The columns of the list that a term names, which can be kept but not computed with."""
        while term.name == "alias":
            term = term.inputs[0]
        name = term.options["name"] if term.name == "col" else None
        return [c for c in self.columns if c != name and list_name(c) == name]

    def sort(
        self, by: Sequence[Term], descending: Sequence[bool], nulls_last: Sequence[bool]
    ) -> NoisyTable:
        """Order the rows."""
        windows = Windows(self.node)
        reader = self.reader(windows)
        hidden: list[tuple[str, Expr]] = []
        keys: list[SortKey] = []
        for term, down, last in zip(by, descending, nulls_last, strict=True):
            if term.name == "col" and term.options["name"] in self.columns:
                name = term.options["name"]
            else:
                name = f"{HIDDEN}{len(hidden)}"
                hidden.append((name, reader.read(term)))
            keys.append(SortKey(Column(name), down, last))
        node = Sort(Project(windows.node(), (*self.columns.items(), *hidden)), tuple(keys))
        return NoisyTable(node, {name: Column(name) for name in self.columns})

    def limit(self, rows: int | None, offset: int = 0) -> NoisyTable:
        """Keep some rows."""
        above = [n for n in chain(self.node) if not isinstance(n, Filter)]
        if isinstance(above[0], Aggregate):  # as in SQL, columns are computed first
            node = Project(self.node, tuple(self.columns.items()))
            return NoisyTable(
                Limit(node, rows, offset), {name: Column(name) for name in self.columns}
            )
        return replace(self, node=Limit(self.node, rows, offset))

    def first_of_each(self, keys: Named, rows: int) -> NoisyTable:
        """Keep the first rows of each group of these keys, in the order that they were sorted in.

        Guarantee: it reads released numbers, so it costs nothing (Dwork and Roth 2014, Prop. 2.1).
        """
        for _, term in keys:
            if term.name != "col":
                raise polars_error(
                    term,
                    "is no column of the released table",
                    why="the rows that are kept are shown with the columns that they have",
                    fix='.with_columns(key=...) first, then .group_by("key").head(3)',
                )
        order = _order_of(self.node)
        if not order:
            raise QueryError(
                "the rows have no order",
                why="which of them are the first of each group would be left to chance",
                fix='.sort("n", descending=True).group_by("month").head(3)',
            )
        windows, reader = Windows(self.node), TermReader(self._leaf)
        by = {name: reader.read(term) for name, term in keys}
        place = windows.row_number(tuple(by.values()), order)
        node = Filter(windows.node(), Call("less_equal", (place, literal(rows))))
        return NoisyTable(node, {**by, **self.columns})

    def reader(self, windows: Windows) -> TermReader:
        """Reads expressions over the noisy columns, and over many rows of them."""
        return TermReader(windows.leaf(self._leaf))

    def _leaf(self, term: Term) -> Expr | None:
        if term.name == "col":
            name = term.options["name"]
            if self._places(term):
                raise polars_error(
                    term,
                    "is a list, which nothing is computed from here",
                    why="what is computed from an answer is computed from its numbers",
                    fix="aggregate the quantile that is meant, too; it costs nothing more",
                )
            if name not in self.columns:
                raise no_such_column(term, name, map(list_name, self.columns))
            return self.columns[name]
        if term.name in UNMEASURED:
            raise polars_error(
                term,
                "aggregates a table that is aggregated already",
                why="of released numbers, only some aggregates have error bars",
                fix="sum, mean, min, max, count or len of a column, or compute it from"
                " .release(...).frame",
            )
        if is_aggregate(term):
            raise polars_error(
                term,
                "cannot stand here",
                why="it looks at many rows, inside of what looks at many rows itself",
                fix='compute it first: .with_columns(total=pl.col("n").sum())',
            )
        return None


def _order_of(node: Node) -> tuple[WindowOrder, ...]:
    """What the rows of a noisy table were sorted by last; nothing if they were not."""
    while isinstance(node, Filter | Window | Limit):
        node = node.parent
    keys = node.by if isinstance(node, Sort) else ()
    return tuple(WindowOrder(key.column, key.descending, key.nulls_last) for key in keys)
