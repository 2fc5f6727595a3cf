"""From the nodes below an aggregate to rows, each of which belongs to exactly one unit.

An operation is let through if each of its output rows belongs to one unit and depends on that
unit's rows, and on public tables, alone (DESIGN section 3). Then whatever a unit does moves its own
rows only, and bounding contributions once, right before the aggregate, bounds everything. The rest
is refused: one unit could decide which rows of others are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpframe.bounds.analysis import Typed, in_common_type, refused
from dpframe.bounds.derive import (
    analysed,
    derived,
    named_columns,
    refused_at,
    renamed,
    selected,
)
from dpframe.bounds.groups import group_rows
from dpframe.bounds.rows import (
    ON,
    UNIT,
    Joined,
    Rows,
    Selected,
    Stacked,
    Stored,
    stored_tables,
)
from dpframe.declare import Row, Table
from dpframe.errors import QueryError
from dpframe.plan.domains import Type, merged
from dpframe.plan.exprs import Column, Expr, Origin, columns_of
from dpframe.plan.fingerprint import canonical
from dpframe.plan.nodes import Filter, GroupRows, Join, Node, Project, Scan, Union

IsUnique = Callable[[Selected], bool]
"""Whether the rows of a public selection have different values in its columns `ON`."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """Lowers plans over some registered tables."""

    tables: Mapping[str, Table]
    is_unique: IsUnique

    def rows(self, node: Node, needed: frozenset[str] | None = None) -> Rows:
        """The rows of a node; of its columns those that are `needed`, or all."""
        match node:
            case Scan():
                table = self.tables[node.table]
                if table.public:  # it protects no unit, whatever was declared
                    table = replace(table, unit=Row())
                return Rows(table, Stored(table), (), {c: Column(c) for c in table.domains})
            case Filter():
                rows = self.rows(node.parent, _with(needed, [node.predicate]))
                predicate = rows.over_source(node.predicate)
                return replace(rows, predicates=(*rows.predicates, predicate))
            case Project():
                kept = [(n, e) for n, e in node.columns if needed is None or n in needed]
                rows = self.rows(node.parent, _with(frozenset(), [e for _, e in kept]))
                return replace(rows, columns={n: rows.over_source(e) for n, e in kept})
            case Join():
                return self._join(node, needed)
            case Union():
                return self._union(node, needed)
            case GroupRows():
                exprs = [e for _, e in (*node.keys, *node.aggregates)]
                return group_rows(node, self.rows(node.parent, _with(frozenset(), exprs)), needed)
        raise QueryError(
            f"rows of {type(node).__name__} belong to no single unit",
            why="one unit could decide which rows of others are kept, so noise would not cover it",
            fix="aggregate first; ORDER BY and LIMIT go after the aggregate",
        )

    # --- joins -----------------------------------------------------------------------------------

    def _join(self, node: Join, needed: frozenset[str] | None) -> Rows:
        left = self.rows(node.left, _with(needed, [a for a, _ in node.on]))
        right = self.rows(node.right, _with(needed, [b for _, b in node.on]))
        pairs = [(left.over_source(a), right.over_source(b)) for a, b in node.on]
        by_unit = (left.unit, right.unit) in pairs
        _require_one_owner(node, left, right, by_unit)
        if node.not_in:
            _require_no_nulls(node, left, right, pairs)
        pairs = [pair for pair in pairs if pair != (left.unit, right.unit)]
        keys = sorted((_comparable(*pair, left, right) for pair in pairs), key=_in_words)
        outputs = [_needed(side, needed) for side in (left, right)]
        if node.how in ("semi", "anti"):
            outputs[1] = {}
        # Names that no alias enters: no one can take the unit's, and none makes another question.
        names = [
            {n: f"{side}{i}" for i, n in enumerate(found)}
            for side, found in zip(("l", "r"), outputs, strict=True)
        ]
        first = selected(left, renamed(outputs[0], names[0]), [a for a, _ in keys])
        second = selected(right, renamed(outputs[1], names[1]), [b for _, b in keys])
        rows_are_units = not left.table.public and left.unit is None
        one_match = rows_are_units and node.how in ("inner", "left")
        if one_match and not (keys and self.is_unique(second)):
            raise refused_at(
                node.place,
                "a row may match several rows of the public side",
                why="each row is one protected unit, and would count once for every match",
                fix="join on columns that are unique on the public side, or declare"
                " unit=dp.Unit(column, max_rows=...), which bounds what a unit adds up to",
            )
        # The units are the same column then, so comparing them comes first.
        on = ((UNIT,) if by_unit else ()) + tuple(f"{ON}{i}" for i in range(len(keys)))
        source = Joined(first, second, node.how, on, one_match)
        domains = {n: first.result.domains[n] for n in names[0].values()}
        for name in names[1].values():
            domain = second.result.domains[name]
            missing = node.how == "left"
            domains[name] = (
                replace(domain, nullable=True, null_is_value=True) if missing else domain
            )
        columns = named_columns(outputs[0], names[0], left)
        owner = right if by_unit and node.how == "inner" else None
        columns |= named_columns(outputs[1], names[1], owner)
        private = [s.table for s in (left, right) if not s.table.public]
        return Rows(derived(domains, private, first.result), source, (), columns)

    # --- unions ----------------------------------------------------------------------------------

    def _union(self, node: Union, needed: frozenset[str] | None) -> Rows:
        inputs = [self.rows(parent, needed) for parent in node.inputs]
        _require_same_owners(node, inputs)
        given = list(_needed(inputs[0], needed))
        names = {n: f"c{i}" for i, n in enumerate(given)}
        exprs = {
            n: in_common_type([analysed(rows, rows.columns[n]) for rows in inputs]) for n in given
        }
        parts = tuple(
            selected(rows, {names[n]: exprs[n][i].expr for n in given})
            for i, rows in enumerate(inputs)
        )
        domains = {names[n]: merged([e.domain for e in exprs[n]]) for n in given}
        columns: dict[str, Expr] = {n: Column(names[n]) for n in given}
        for name in given:
            # The unit keeps its meaning if it is the unit on every side.
            if all(rows.unit is not None and rows.columns[name] == rows.unit for rows in inputs):
                columns[name] = Column(UNIT)
        private = [rows.table for rows in inputs if not rows.table.public]
        return Rows(derived(domains, private, parts[0].result), Stacked(parts), (), columns)


# --- what the operations share -------------------------------------------------------------------


def _needed(rows: Rows, needed: frozenset[str] | None) -> dict[str, Expr]:
    return {n: e for n, e in rows.columns.items() if needed is None or n in needed}


def _with(needed: frozenset[str] | None, exprs: Iterable[Expr]) -> frozenset[str] | None:
    return None if needed is None else needed.union(*(columns_of(e) for e in exprs))


def _in_words(pair: tuple[Typed, Typed]) -> tuple[str, str]:
    return canonical(pair[0].expr), canonical(pair[1].expr)


def _comparable(a: Expr, b: Expr, left: Rows, right: Rows) -> tuple[Typed, Typed]:
    """Two expressions in the type that they are compared in."""
    first, second = in_common_type([analysed(left, a), analysed(right, b)])
    if first.domain.type is Type.FLOAT:
        raise refused(
            a,
            "cannot be joined on",
            why="fractions that were computed in two ways differ in their last digits",
            fix="join on integers, text or dates: CAST(x AS BIGINT)",
        )
    return first, second


# --- who owns a row ------------------------------------------------------------------------------


def _require_one_owner(node: Join, left: Rows, right: Rows, by_unit: bool) -> None:
    if right.table.public:
        return
    if left.table.public:
        raise refused_at(
            node.place,
            "a public table is joined to a private one",
            why="a public row would be there or not because of some unit, and belong to none",
            fix="put the private table first: FROM private JOIN public, or private.join(public)"
            + ("" if node.how != "left" else "; a public row without a match has no owner"),
        )
    if left.unit is None or right.unit is None:
        raise refused_at(
            node.place,
            "tables in which each row is a unit cannot be joined to one another",
            why="a joined row would belong to two units at once",
            fix='register both with unit=dp.Unit("person_id", max_rows=...), and join on it',
        )
    if not by_unit:
        raise refused_at(
            node.place,
            "the join does not equate the units",
            why="a joined row would belong to two units at once",
            fix=f"join on the units too: ... AND left.{left.table.unit_column} ="
            f" right.{right.table.unit_column}".replace(UNIT, "unit"),
        )
    _require_same_type(node.place, [left, right])
    _require_same_relation(node.place, [left, right])


def _require_no_nulls(
    node: Join, left: Rows, right: Rows, pairs: Sequence[tuple[Expr, Expr]]
) -> None:
    """NOT IN is true of no row at all if the other side has a NULL: one unit would decide it."""
    for a, b in pairs:
        if analysed(left, a).domain.nullable or analysed(right, b).domain.nullable:
            raise refused_at(
                node.place,
                "NOT IN compares with values that may be NULL",
                why="a single NULL in the subquery makes NOT IN true of no row, whoever it is of",
                fix="NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id), or say IS NOT NULL on both"
                " sides",
            )


def _require_same_owners(node: Union, inputs: Sequence[Rows]) -> None:
    if len({rows.table.public for rows in inputs}) > 1:
        raise refused_at(
            node.place,
            "public and private rows cannot be stacked",
            why="a public row belongs to no unit",
            fix="ask one query for each side",
        )
    if len({rows.unit is None for rows in inputs}) > 1:
        raise refused_at(
            node.place,
            "the tables have different kinds of units",
            why="in one each row is a unit, in the other rows share one",
            fix='register both with unit=dp.Unit("person_id", max_rows=...)',
        )
    if inputs[0].unit is None and not inputs[0].table.public:
        _require_different_tables(node, inputs)
    _require_same_type(node.place, inputs)
    _require_same_relation(node.place, inputs)


def _require_different_tables(node: Union, inputs: Sequence[Rows]) -> None:
    """Where each row is a unit, it must not be there twice."""
    read = [t.name for rows in inputs for t in stored_tables(rows.source) if not t.public]
    if len(set(read)) < len(read):
        raise refused_at(
            node.place,
            "the same rows are stacked twice",
            why="each row is one protected unit, and would count once on either side",
            fix="ask one query for each side, or select from the table once, with OR in its WHERE",
        )


def _require_same_type(place: Origin | None, inputs: Sequence[Rows]) -> None:
    """Compared across types, two units on one side may equal the same one on the other."""
    kinds = {r.table.domains[r.table.unit_column].type for r in inputs if r.table.unit_column}
    if len(kinds) > 1:
        names = " and ".join(sorted(kind.value for kind in kinds))
        raise refused_at(
            place,
            f"the units are of different types, {names}",
            why="they cannot be the same units",
            fix="cast one of them before registering",
        )


def _require_same_relation(place: Origin | None, inputs: Sequence[Rows]) -> None:
    relations = {(r.table.neighbors, r.table.size) for r in inputs if not r.table.public}
    if len({neighbors for neighbors, _ in relations}) > 1:
        raise refused_at(
            place,
            "the tables are protected against different changes",
            why="one is declared with neighbors='replace', the other without",
            fix="register both alike",
        )
