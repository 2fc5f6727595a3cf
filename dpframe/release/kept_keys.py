"""Released keys, kept on the ledger: later questions over the same keys need not choose again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import polars as pl

from dpframe.aggregates.compile import Compiled
from dpframe.bounds.analysis import Typed
from dpframe.bounds.keys import ChosenKeys
from dpframe.bounds.rows import canonical_source
from dpframe.engines.base import where_candidates_count
from dpframe.plan.domains import Type
from dpframe.plan.fingerprint import canonical, canonical_where, fingerprint
from dpframe.plan.functions.casts import POLARS_TYPES

MOST_KEPT = 100_000
"""Answers with more groups than this are not kept: the ledger is no data warehouse."""

Find = Callable[[str], list[bytes]]
"""Finds what was stored under a fingerprint, oldest first."""

_READ: dict[Type, Callable[[Any], Any]] = {
    Type.DATE: date.fromisoformat,
    Type.TIMESTAMP: datetime.fromisoformat,
}


def table_words(compiled: Compiled, version: str) -> list[str]:
    """What every measurement of some rows depends on, for its fingerprint."""
    table = compiled.table
    unit = f"{table.unit!r} {table.neighbors} {table.size}"
    return [canonical_source(compiled.source), version, unit]


def canonical_names(keys: Sequence[tuple[str, Typed]]) -> list[str]:
    """The names of keys in an order that does not depend on how the query lists them."""
    return [name for name, _ in sorted(keys, key=lambda key: canonical(key[1].expr))]


def canonical_order(frame: pl.DataFrame, names: list[str]) -> list[int]:
    """The numbers of the rows of groups, in the order of these keys."""
    rows = frame.select(names).with_row_index("__dpframe_row")
    return rows.sort(names, nulls_last=True)["__dpframe_row"].to_list()


def kept_keys(compiled: Compiled, version: str) -> dict[str, bytes]:
    """What to store after keys were chosen."""
    chosen = compiled.chosen
    if chosen is None or chosen.frame.height > MOST_KEPT:
        return {}
    body = {
        "half": chosen.half,
        "sure": chosen.sure,
        "left_out": chosen.left_out,
        "keys": _rows(compiled, chosen),
    }
    return {_place(compiled, version): json.dumps(body).encode()}


def with_known_keys(compiled: Compiled, find: Find, version: str) -> Compiled:
    """The query over keys that were released before, the latest ones; else as it is."""
    found = find(_place(compiled, version)) if compiled.awaits_keys else []
    if not found:
        return compiled
    body = json.loads(found[-1])
    private = _private(compiled)
    names = canonical_names(private)
    kinds = {name: key.domain.type for name, key in private}
    columns = {
        name: pl.Series(
            [_value(row[i], kinds[name]) for row in body["keys"]], dtype=POLARS_TYPES[kinds[name]]
        )
        for i, name in enumerate(names)
    }
    frame = pl.DataFrame(columns).select(compiled.private)
    left_out = int(body.get("left_out", 0))  # not there in ledgers of old
    return compiled.with_keys(ChosenKeys(frame, int(body["half"]), int(body["sure"]), left_out))


def chosen_words(compiled: Compiled, keys: Sequence[tuple[str, Typed]]) -> list[str]:
    """Which groups a measurement is about, if not all public ones, for its fingerprint."""
    if compiled.only:
        return [f"only {json.dumps(_listed(compiled.frame, canonical_names(compiled.keys)))}"]
    if compiled.chosen is None or not any(name in compiled.private for name, _ in keys):
        return []
    return [f"chosen {json.dumps(_rows(compiled, compiled.chosen))}"]


def _place(compiled: Compiled, version: str) -> str:
    words = [canonical(key.expr) for _, key in _private(compiled)]
    where = canonical_where(where_candidates_count(compiled))
    return fingerprint(["keys", *table_words(compiled, version), where, *sorted(words)])


def _private(compiled: Compiled) -> list[tuple[str, Typed]]:
    return [(name, key) for name, key in compiled.keys if name in compiled.private]


def _rows(compiled: Compiled, chosen: ChosenKeys) -> list[list[Any]]:
    """The keys as JSON values, in an order of columns and rows that is always the same."""
    return _listed(chosen.frame, canonical_names(_private(compiled)))


def _listed(frame: pl.DataFrame, names: list[str]) -> list[list[Any]]:
    ordered = frame.select(names).sort(names, nulls_last=True)
    return [[v.isoformat() if isinstance(v, date) else v for v in row] for row in ordered.rows()]


def _value(stored: Any, kind: Type) -> Any:
    return stored if stored is None else _READ.get(kind, lambda v: v)(stored)
