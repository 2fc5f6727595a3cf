"""Selections of rows, and the tables that describe what comes out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpframe.bounds.analysis import Typed, condition, typed
from dpframe.bounds.guard import guarded
from dpframe.bounds.refine import refined
from dpframe.bounds.rows import ON, UNIT, Rows, Selected
from dpframe.declare import Row, Storage, Table, Unit
from dpframe.errors import QueryError
from dpframe.plan.domains import INT64, Domain, Type
from dpframe.plan.exprs import Column, Expr, Origin

_UNIT_TYPES = (Type.INT, Type.TEXT, Type.BOOL, Type.DATE)


def selected(rows: Rows, outputs: Mapping[str, Expr], on: Sequence[Typed] = ()) -> Selected:
    """The rows as a selection of these expressions over the source, and of what a join compares."""
    where, found = rows.where, {n: analysed(rows, e) for n, e in outputs.items()}
    found |= {f"{ON}{i}": key for i, key in enumerate(on)}
    checked = None if where is None else condition(where, rows.table.domains).expr
    columns = tuple((name, value.expr) for name, value in found.items())
    table, unit = rows.table, rows.table.unit_column
    domains = {name: value.domain for name, value in found.items()}
    storage = {name: _stored_as(domain) for name, domain in domains.items()}
    if unit is not None:
        _require_plain_unit(table.storage[unit])
        domains[UNIT] = table.domains[unit]
        storage[UNIT] = _stored_as(table.domains[unit])
    result = replace(
        table, name="", storage=storage, domains=domains, unit=_unit_of(table), size=table.size
    )
    return Selected(rows.source, table, checked, columns, result)


def analysed(rows: Rows, expr: Expr) -> Typed:
    """An expression over the source's columns, in the rows that are kept."""
    domains, where = rows.table.domains, rows.where
    return typed(guarded(expr, domains, where), refined(domains, where))


def visible_table(rows: Rows) -> Table:
    """What is known of the columns by the names above, the unit's among them."""
    domains = {name: analysed(rows, expr).domain for name, expr in rows.columns.items()}
    unit: Row | Unit = Row()
    if rows.unit is not None:
        names = [name for name, expr in rows.columns.items() if expr == rows.unit]
        unit = Unit(names[0] if names else UNIT, rows.table.max_rows)
    storage = {name: _stored_as(domain) for name, domain in domains.items()}
    return replace(rows.table, storage=storage, domains=domains, unit=unit)


def derived(domains: Mapping[str, Domain], private: Sequence[Table], like: Table) -> Table:
    """The table of a source: these columns, and the unit of `like`, weighing what any table says."""
    domains = dict(domains)
    if UNIT in like.domains:
        domains[UNIT] = like.domains[UNIT]
    most = max((t.max_rows for t in private), default=1)
    unit = Unit(UNIT, most) if UNIT in like.domains else Row()
    storage = {name: _stored_as(domain) for name, domain in domains.items()}
    public = not private
    return replace(like, name="", storage=storage, domains=domains, unit=unit, public=public)


def _stored_as(domain: Domain) -> Storage:
    """How engines keep a derived column: in the plan's own type."""
    low, high = INT64 if domain.type is Type.INT else (None, None)
    return Storage(domain.type, domain.type.value, low, high)


def _unit_of(table: Table) -> Row | Unit:
    return Row() if table.unit_column is None else Unit(UNIT, table.max_rows)


def renamed(outputs: Mapping[str, Expr], names: Mapping[str, str]) -> dict[str, Expr]:
    """Expressions by the names that a selection gives them."""
    return {names[n]: e for n, e in outputs.items()}


def named_columns(
    outputs: Mapping[str, Expr], names: Mapping[str, str], owner: Rows | None
) -> dict[str, Expr]:
    """What a selection's columns are called above; the unit's column stays the unit's column."""
    unit = None if owner is None else owner.unit
    return {
        n: Column(UNIT if unit is not None and e == unit else names[n]) for n, e in outputs.items()
    }


def refused_at(place: Origin | None, what: str, *, why: str, fix: str) -> QueryError:
    """The error for an operation, with the place where it was written."""
    text = f"{place.text()}: {what}{place.pointer()}" if place is not None else what
    return QueryError(text, why=why, fix=fix)


def _require_plain_unit(storage: Storage) -> None:
    if storage.type in _UNIT_TYPES and not storage.is_wide:
        return
    raise QueryError(
        f"units stored as {storage.name} cannot be joined, stacked or grouped by",
        why="engines do not compare such values alike",
        fix="register the unit as an integer of 64 bits with a sign, as text or as a date",
    )
