"""What the columns of a public table hold, learned from the table: it is public, so it may tell."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dpframe.bounds.derive import selected
from dpframe.bounds.rows import Rows, Selected, Stored, canonical_selected
from dpframe.declare import Row, Table
from dpframe.engines.base import Engine, withhold_rows
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Column

MOST_LISTED = 1_000
"""A column with more different values than this has a range only."""

_WIDEST = 1e200
"""As for declared ranges: products of larger floats overflow."""


class PublicFacts:
    """What was learned from public tables, once per version of their data."""

    def __init__(self) -> None:
        self._domains: dict[tuple[str, str], Mapping[str, Domain]] = {}
        self._unique: dict[tuple[str, str], bool] = {}

    def domains(self, table: Table, engine: Engine, version: str | None) -> Mapping[str, Domain]:
        """The domains of a public table's columns."""
        if version is None:  # it may have changed
            return learned_domains(table, engine)
        known = (table.name, version)
        if known not in self._domains:
            self._domains[known] = learned_domains(table, engine)
        return self._domains[known]

    def is_unique(self, selected: Selected, engine: Engine, version: str | None) -> bool:
        """Whether no two rows of a public selection agree on what a join compares."""
        if version is None:
            return engine.is_unique(selected)
        known = (canonical_selected(selected), version)
        if known not in self._unique:
            self._unique[known] = engine.is_unique(selected)
        return self._unique[known]


def learned_domains(table: Table, engine: Engine) -> Mapping[str, Domain]:
    """The domains of a public table's columns; those that were declared stay as they are.

    They are enforced on reading like declared ones, so a table that changes later breaks no bound.
    """
    unknown = [c for c, domain in table.domains.items() if domain == Domain(domain.type)]
    if not unknown:
        return table.domains
    table = Table(table.name, table.storage, table.domains, Row(), public=True)
    rows = Rows(table, Stored(table), (), {})
    chosen = selected(rows, {f"c{i}": Column(c) for i, c in enumerate(unknown)})
    found = withhold_rows(engine.name, lambda: engine.public_rows(chosen))
    known = {c: _domain(found[f"c{i}"], table.domains[c]) for i, c in enumerate(unknown)}
    return {**table.domains, **known}


def _domain(cells: pl.Series, unknown: Domain) -> Domain:
    values = cells.drop_nulls()
    kind, has_nulls = unknown.type, cells.null_count() > 0
    if values.is_empty():
        return unknown
    if kind is Type.FLOAT:
        low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
        narrow = low >= -_WIDEST and high <= _WIDEST  # else some may be infinite
        return Domain(kind, low, high, has_nulls, None, has_nulls) if narrow else unknown
    listed = values.unique()
    if listed.len() <= MOST_LISTED:
        keys = tuple(sorted(listed.to_list()))
        if kind is Type.TEXT:
            return Domain(kind, None, None, has_nulls, keys, has_nulls)
        return Domain(kind, keys[0], keys[-1], has_nulls, keys, has_nulls)
    if kind is Type.TEXT:
        return unknown
    return Domain(kind, values.min(), values.max(), has_nulls, None, has_nulls)
